"""As much of PyTorch as NATTEN's Python checks use: tensors are shapes, kernels are not run.

`device.capability` is the compute capability of the only CUDA device; none: there is no device, which is how NATTEN's
setup script is run for its metadata.
"""

import math

__version__ = "2.9.0"


class dtype:
    def __init__(self, name):
        self.name = name

    def __repr__(self):
        return "torch." + self.name


float32, float16, bfloat16 = dtype("float32"), dtype("float16"), dtype("bfloat16")
float8_e4m3fn, float8_e5m2 = dtype("float8_e4m3fn"), dtype("float8_e5m2")
int32, int64 = dtype("int32"), dtype("int64")


class Size(tuple):
    def __getitem__(self, index):
        item = super().__getitem__(index)
        return Size(item) if isinstance(index, slice) else item


class device:
    capability = None

    def __init__(self, type="cuda"):
        self.type = type

    def __eq__(self, other):
        return self.type == other.type

    def __repr__(self):
        return f"device(type='{self.type}')"


class Tensor:
    is_sparse = is_nested = False

    def __init__(self, shape, dtype=float16, requires_grad=False):
        self.shape = Size(shape)
        self.dtype = dtype
        self.requires_grad = requires_grad
        self.device = device()

    def dim(self):
        return len(self.shape)

    def numel(self):
        return math.prod(self.shape)

    def _like(self, shape):
        return Tensor(shape, self.dtype, self.requires_grad)

    def flatten(self, first, last):
        return self._like([*self.shape[:first], math.prod(self.shape[first : last + 1]), *self.shape[last + 1 :]])

    def reshape(self, *shape):
        out = self._like(shape[0] if len(shape) == 1 and isinstance(shape[0], tuple) else shape)
        assert out.numel() == self.numel(), (self.shape, shape)
        return out

    def transpose(self, a, b):
        shape = list(self.shape)
        shape[a], shape[b] = shape[b], shape[a]
        return self._like(shape)

    def unsqueeze(self, _):
        return self._like([*self.shape, 1])

    def squeeze(self, _):
        return self._like(self.shape[:-1])

    def to(self, dtype):
        return Tensor(self.shape, dtype, self.requires_grad)

    def __sub__(self, other):
        return self._like(map(max, self.shape, other.shape))

    __mul__ = __sub__

    def contiguous(self):
        return self

    def is_contiguous(self):
        return True

    def clone(self):
        return self._like(self.shape)

    def backward(self, _):
        pass


BoolTensor = IntTensor = Tensor


def cat(tensors, dim):
    shape = list(tensors[0].shape)
    shape[dim] = sum(tensor.shape[dim] for tensor in tensors)
    return tensors[0]._like(shape)


def repeat_interleave(tensor, repeats, dim, output_size):
    shape = list(tensor.shape)
    shape[dim] *= repeats
    assert shape[dim] == output_size
    return tensor._like(shape)


def compile(function=None, **_):
    return function if function is not None else lambda inner: inner


class deterministic:
    enabled = False


def are_deterministic_algorithms_enabled():
    return deterministic.enabled


def randn(shape, device, dtype, requires_grad):
    return Tensor(shape, dtype, requires_grad)


def set_grad_enabled(_):
    pass


class no_grad:
    def __enter__(self):
        pass

    def __exit__(self, *_):
        pass


class cuda:
    @staticmethod
    def synchronize():
        pass

    @staticmethod
    def is_available():
        return device.capability is not None

    @staticmethod
    def get_device_capability(_=None):
        return divmod(device.capability, 10)


class version:
    cuda = "13.0"
    hip = None


class compiler:
    @staticmethod
    def is_compiling():
        return False


class _C:
    _GLIBCXX_USE_CXX11_ABI = True



# For the FlexAttention script: integers in place of index tensors.
def minimum(a, b):
    return min(a, b)


def clamp(value, min):
    return max(value, min)


from . import amp, autograd, nn, profiler, utils  # noqa: E402,F401
