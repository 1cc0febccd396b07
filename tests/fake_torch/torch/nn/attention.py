import contextlib

from torch import clock


class SDPBackend:
    FLASH_ATTENTION = "FLASH_ATTENTION"
    CUDNN_ATTENTION = "CUDNN_ATTENTION"
    EFFICIENT_ATTENTION = "EFFICIENT_ATTENTION"
    MATH = "MATH"


@contextlib.contextmanager
def sdpa_kernel(backend):
    clock.backend = backend
    try:
        yield
    finally:
        clock.backend = None
