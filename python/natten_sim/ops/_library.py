"""The kernels' library, loaded when it is first needed: structs and functions of kernels/operators/operators.h."""

from __future__ import annotations

import ctypes
import functools
import os
import pathlib
from typing import Any

import torch

from natten_sim._error import Error

_NAME = "libnatten_sim_ops.so"
INT64 = ctypes.c_int64
INT32 = ctypes.c_int32
POINTER = ctypes.c_void_p


class HardwareAbsent(RuntimeError):
    """No GPU that these kernels run on, or no library that was built for them."""


class Strides(ctypes.Structure):
    _fields_ = [(name, INT64) for name in ("batch", "head", "token")]


class Attention(ctypes.Structure):
    _fields_ = [
        *((name, INT64) for name in ("batch", "heads", "heads_kv", "q_tokens", "kv_tokens", "head_dim")),
        ("fp16", INT32), ("rank", INT32), ("scale", ctypes.c_double),
        *((name, Strides) for name in ("q", "k", "v", "o")),
        ("left", INT64), ("right", INT64), ("intervals", POINTER), ("axes", POINTER), ("extra_tokens", INT64),
        ("extra_k", Strides), ("extra_v", Strides)]


class ForwardTensors(ctypes.Structure):
    _fields_ = [(name, POINTER) for name in ("q", "k", "v", "extra_k", "extra_v", "o", "lse")]


class BackwardTiles(ctypes.Structure):
    _fields_ = [*((name, INT32) for name in ("q_tile", "kv_tile", "q_tiles", "kv_tiles", "grouped")),
                ("q_places", INT64), ("kv_places", INT64)]


class Schedule(ctypes.Structure):
    _fields_ = [("workers", INT32), ("chains", INT32),
                *((name, POINTER) for name in ("head", "kv_tile", "worker", "q_offsets", "q_order", "dq_offsets",
                                               "kv_order"))]


class BackwardTensors(ctypes.Structure):
    _fields_ = [(name, POINTER) for name in ("q", "k", "v", "o", "d_o", "lse", "dq", "dk", "dv")]


class Scatter(ctypes.Structure):
    _fields_ = [("updates", INT64), ("rows", INT64), ("width", INT64), ("type", INT32), ("reserved", INT32),
                ("path", ctypes.c_char_p)]


class Msda(ctypes.Structure):
    _fields_ = [*((name, INT64) for name in ("batch", "queries", "heads", "head_channels", "points", "levels")),
                ("sizes", POINTER), ("type", INT32), ("parameters", INT32), ("path", ctypes.c_char_p)]


class MsdaTensors(ctypes.Structure):
    _fields_ = [(name, POINTER) for name in ("values", "locations", "weights", "output", "output_gradient",
                                             "value_gradient", "location_gradient", "weight_gradient")]


_RETURNS = {
    "error": (ctypes.c_char_p, []),
    "error_is_hardware": (ctypes.c_int, []),
    "open": (ctypes.c_int, [ctypes.c_int, POINTER]),
    "forward_plan": (POINTER, [ctypes.c_int, POINTER]),
    "forward_workspace": (INT64, [POINTER]),
    "forward_tiles": (None, [POINTER, POINTER, POINTER, POINTER]),
    "forward": (ctypes.c_int, [POINTER, POINTER, POINTER, POINTER]),
    "forward_free": (None, [POINTER]),
    "backward_problem": (POINTER, [ctypes.c_int, POINTER]),
    "backward_tiles": (ctypes.c_int, [POINTER, POINTER]),
    "backward_mask": (ctypes.c_int, [POINTER, POINTER]),
    "backward_q_order": (POINTER, [POINTER]),
    "backward_kv_order": (POINTER, [POINTER]),
    "backward_problem_free": (None, [POINTER]),
    "backward_plan": (POINTER, [POINTER, POINTER]),
    "backward_workspace": (INT64, [POINTER]),
    "backward": (ctypes.c_int, [POINTER, POINTER, POINTER, POINTER]),
    "backward_free": (None, [POINTER]),
    "scatter_workspace": (INT64, [POINTER]),
    "scatter": (ctypes.c_int, [ctypes.c_int, *[POINTER] * 6]),
    "msda_workspace": (INT64, [POINTER, ctypes.c_int]),
    "msda": (ctypes.c_int, [ctypes.c_int, *[POINTER] * 4]),
}


def _path() -> pathlib.Path:
    """NATTEN_SIM_OPS names the library; else it lies in the package, where natten-sim-ops installs it."""
    return pathlib.Path(os.environ.get("NATTEN_SIM_OPS") or pathlib.Path(__file__).parents[1] / "lib" / _NAME)


@functools.cache
def library() -> dict[str, Any]:
    """The library's functions by their names without `natten_sim_ops_`.

    Raises:
        HardwareAbsent: It is not installed, or cannot be loaded.
    """
    path = _path()
    if not path.exists():
        raise HardwareAbsent(f"{_NAME} is not installed: natten_sim.ops needs the extra natten-sim[ops], built for "
                             f"sm_90a (looked for {path})")
    try:
        loaded = ctypes.CDLL(str(path))
    except OSError as error:
        raise HardwareAbsent(f"{path} cannot be loaded: {error}") from None
    functions = {}
    for name, (result, arguments) in _RETURNS.items():
        function = getattr(loaded, f"natten_sim_ops_{name}")
        function.restype, function.argtypes = result, arguments
        functions[name] = function
    return functions


def failed() -> Exception:
    """The last error of the library."""
    functions = library()
    sentence = functions["error"]().decode()
    return HardwareAbsent(sentence) if functions["error_is_hardware"]() else Error(sentence)


def call(name: str, *arguments: Any) -> None:
    """Calls a function that returns 0 unless it fails."""
    if library()[name](*arguments) != 0:
        raise failed()


def made(name: str, *arguments: Any) -> int:
    """Calls a function that returns an address unless it fails."""
    address = library()[name](*arguments)
    if not address:
        raise failed()
    return int(address)


@functools.cache
def sms(device: int) -> int:
    """SMs of an sm_90 GPU.

    Raises:
        HardwareAbsent: It is another one, or absent.
    """
    count = INT32()
    call("open", device, ctypes.byref(count))
    return count.value


def stream_of(tensor: torch.Tensor) -> int:
    """The stream that PyTorch launches on now."""
    return int(torch.cuda.current_stream(tensor.device).cuda_stream)


def workspace(size: int, like: torch.Tensor) -> torch.Tensor:
    """Bytes of PyTorch's own allocator, which reuses them in the order of the stream."""
    return torch.empty(max(size, 1), dtype=torch.uint8, device=like.device)
