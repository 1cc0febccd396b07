import contextlib


class ProfilerActivity:
    CPU = CUDA = None


@contextlib.contextmanager
def profile(**_):
    yield None
