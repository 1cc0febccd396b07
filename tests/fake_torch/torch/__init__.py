"""As much of PyTorch as scripts/time_pytorch_sdpa.py uses, without a GPU: calls take made-up times, some are refused.

A call's time in ms is tokens / 1000, times a factor a backend; cuDNN refuses head dims above 128; the math path runs out
of memory above 16384 tokens.
"""

import warnings

__version__ = "0.0-fake"
bfloat16, float16, uint8 = "bf16", "fp16", "uint8"


class OutOfMemoryError(RuntimeError):
    pass


class Tensor:
    def __init__(self, shape):
        self.shape = shape

    def fill_(self, _):
        return self

    def all(self):
        return True


def empty(size, dtype=None, device=None):
    assert device == "cuda"
    return Tensor([size])


def randn(shape, dtype=None, device=None, generator=None):
    assert device == "cuda" and dtype in (bfloat16, float16)
    return Tensor(shape)


def isfinite(tensor):
    return tensor


class Generator:
    def __init__(self, device):
        assert device == "cuda"

    def manual_seed(self, _):
        return self


class inference_mode:
    def __enter__(self):
        return self

    def __exit__(self, *_):
        return False


class clock:
    """What the made-up GPU has spent, in ms, and the backend that is chosen."""

    now = 0.0
    backend = None


class cuda:
    class Event:
        def __init__(self, enable_timing):
            assert enable_timing
            self.at = None

        def record(self):
            self.at = clock.now

        def synchronize(self):
            pass

        def elapsed_time(self, end):
            return end.at - self.at

    @staticmethod
    def is_available():
        return True

    @staticmethod
    def get_device_properties(_):
        class Properties:
            name = "NVIDIA H200"
            multi_processor_count = 132
            L2_cache_size = 62914560
            total_memory = 150109880320
            major, minor = 9, 0

        return Properties

    @staticmethod
    def _sleep(cycles):
        clock.now += cycles / 1e6

    @staticmethod
    def synchronize():
        pass

    @staticmethod
    def empty_cache():
        pass


class backends:
    class cudnn:
        @staticmethod
        def version():
            return 90000


def attention(q, k, v, is_causal):
    tokens, head_dim = q.shape[2], q.shape[3]
    if clock.backend == "CUDNN_ATTENTION" and head_dim > 128:
        warnings.warn("Flash attention kernel not used because:")
        warnings.warn("Flash attention has been runtime disabled.")
        warnings.warn("cuDNN attention kernel not used because:")
        warnings.warn("head_dim should be no more than 128")
        raise RuntimeError("No available kernel. Aborting execution.")
    if clock.backend == "MATH" and tokens > 16384:
        raise OutOfMemoryError("CUDA out of memory.")
    factor = {"CUDNN_ATTENTION": 1, None: 1, "FLASH_ATTENTION": 2, "EFFICIENT_ATTENTION": 3, "MATH": 10}
    clock.now += tokens / 1000 * factor[clock.backend] * (0.5 if is_causal else 1)
    return q
