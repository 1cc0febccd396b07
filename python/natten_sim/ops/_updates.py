"""Scatter-add and multi-scale deformable attention."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from natten_sim.ops import _library
from natten_sim.ops._layout import refuse
from natten_sim.ops._registry import LIBRARY, operator

_TYPES = {torch.float32: 0, torch.float16: 1, torch.bfloat16: 2}


def _type_of(name: str, tensor: Tensor) -> int:
    if tensor.device.type != "cuda":
        raise _library.HardwareAbsent(f"{name} is on {tensor.device}: these kernels run on sm_90 GPUs alone")
    if tensor.dtype not in _TYPES:
        raise refuse(name, tensor.dtype, "torch.float32, torch.float16 or torch.bfloat16")
    return _TYPES[tensor.dtype]


def _scatter_on_gpu(destination: Tensor, index: Tensor, values: Tensor, path: str) -> None:
    device = destination.get_device()
    _library.sms(device)
    problem = _library.Scatter(values.shape[0], destination.shape[0], destination.shape[1],
                               _type_of("destination", destination), 0, path.encode())
    size = _library.library()["scatter_workspace"](ctypes.byref(problem))
    if size < 0:
        raise _library.failed()
    memory = _library.workspace(size, destination)
    _library.call("scatter", device, ctypes.byref(problem), values.data_ptr(), index.data_ptr(),
                  destination.data_ptr(), memory.data_ptr(), _library.stream_of(destination))


_scatter_add = operator("scatter_add_(Tensor(a!) destination, Tensor index, Tensor values, str path) -> ()",
                        _scatter_on_gpu, lambda destination, index, values, path: None)


def _path(values: Tensor, deterministic: bool) -> str:
    if deterministic:
        return "sorted"
    bytes_of_row = values.shape[1] * values.element_size()
    widths = {16: "red-16", 8: "red-8", 4: "red-4"}
    return next((path for width, path in widths.items() if bytes_of_row % width == 0), "scalar")


def scatter_add_(destination: Tensor, index: Tensor, values: Tensor, *, deterministic: bool = False,
                 path: str | None = None) -> Tensor:
    """destination[index[i]] += values[i], in place and without a gradient.

    Args:
        destination: (rows, width), contiguous; fp32, fp16 or bf16.
        index: (updates,) of int64, each a row of the destination; not checked.
        values: (updates, width), contiguous, of the destination's type.
        deterministic: Sort the updates by row first: the same bits every time, sums in fp32.
        path: How the hardware adds, by name, as in natten_sim.scatter() [the widest that fits; sorted].

    Returns:
        The destination.

    Raises:
        HardwareAbsent: No sm_90 GPU, or no library.
        Error: The path does not take such rows.

    Source:
        docs/ops.md; natten_sim.scatter() predicts the time of each path.
    """
    for name, tensor, dtype in (("index", index, torch.int64), ("values", values, destination.dtype)):
        if tensor.dtype != dtype or not tensor.is_contiguous():
            raise refuse(name, f"{tensor.dtype}, strides {tuple(tensor.stride())}", f"{dtype}, contiguous")
    if not destination.is_contiguous() or destination.dim() != 2 or values.shape != (index.numel(), destination.shape[1]):
        raise refuse("values", tuple(values.shape), "(updates, width) for a contiguous destination (rows, width)")
    _scatter_add(destination, index, values, path or _path(values, deterministic))
    return destination


class _ScatterAdd(torch.autograd.Function):  # type: ignore[misc]
    @staticmethod
    def forward(ctx, destination, index, values, deterministic, path):  # type: ignore[no-untyped-def]
        ctx.save_for_backward(index)
        return scatter_add_(destination.clone(), index, values.detach(), deterministic=deterministic, path=path)

    @staticmethod
    def backward(ctx, gradient):  # type: ignore[no-untyped-def]
        (index,) = ctx.saved_tensors
        return gradient, None, gradient.index_select(0, index), None, None


def scatter_add(destination: Tensor, index: Tensor, values: Tensor, *, deterministic: bool = False,
                path: str | None = None) -> Tensor:
    """The same into a copy of the destination, with gradients of destination and values.

    Args:
        destination, index, values, deterministic, path: As in scatter_add_().

    Returns:
        The sums, like the destination.

    Raises:
        HardwareAbsent: No sm_90 GPU, or no library.
        Error: The path does not take such rows.

    Source:
        docs/ops.md.
    """
    sums: Tensor = _ScatterAdd.apply(destination, index, values, deterministic, path)
    return sums


def _msda_struct(values: Tensor, locations: Tensor, sizes: Sequence[int], path: str) -> tuple[_library.Msda, object]:
    batch, queries, heads, levels, points, _ = locations.shape
    numbers = np.asarray(sizes, dtype=np.int64)
    made = _library.Msda(batch, queries, heads, values.shape[3], points, levels, numbers.ctypes.data,
                         _type_of("values", values), _type_of("locations", locations), path.encode())
    return made, numbers


def _launch_msda(struct: _library.Msda, tensors: _library.MsdaTensors, like: Tensor, backward: bool) -> None:
    _library.sms(like.get_device())
    size = _library.library()["msda_workspace"](ctypes.byref(struct), int(backward))
    if size < 0:
        raise _library.failed()
    memory = _library.workspace(size, like)
    _library.call("msda", like.get_device(), ctypes.byref(struct), ctypes.byref(tensors), memory.data_ptr(),
                  _library.stream_of(like))


def _msda_on_gpu(values: Tensor, locations: Tensor, weights: Tensor, sizes: Sequence[int], path: str) -> Tensor:
    struct, _alive = _msda_struct(values, locations, sizes, path)
    output = values.new_empty((locations.shape[0], locations.shape[1], locations.shape[2], values.shape[3]))
    tensors = _library.MsdaTensors(values.data_ptr(), locations.data_ptr(), weights.data_ptr(), output.data_ptr())
    _launch_msda(struct, tensors, values, backward=False)
    return output


def _fake_msda(values: Tensor, locations: Tensor, weights: Tensor, sizes: Sequence[int], path: str) -> Tensor:
    return values.new_empty((locations.shape[0], locations.shape[1], locations.shape[2], values.shape[3]))


def _gradients_on_gpu(values: Tensor, locations: Tensor, weights: Tensor, gradient: Tensor, sizes: Sequence[int],
                      path: str) -> tuple[Tensor, Tensor, Tensor]:
    struct, _alive = _msda_struct(values, locations, sizes, path)
    gradient = gradient.contiguous()
    made = torch.empty_like(values), torch.empty_like(locations), torch.empty_like(weights)
    tensors = _library.MsdaTensors(values.data_ptr(), locations.data_ptr(), weights.data_ptr(), None,
                                   gradient.data_ptr(), *(tensor.data_ptr() for tensor in made))
    _launch_msda(struct, tensors, values, backward=True)
    return made


def _fake_gradients(values: Tensor, locations: Tensor, weights: Tensor, gradient: Tensor, sizes: Sequence[int],
                    path: str) -> tuple[Tensor, Tensor, Tensor]:
    return torch.empty_like(values), torch.empty_like(locations), torch.empty_like(weights)


def _save_msda(ctx, inputs, output) -> None:  # type: ignore[no-untyped-def]
    ctx.save_for_backward(*inputs[:3])
    ctx.sizes, ctx.path = inputs[3:]


def _msda_gradients(ctx, gradient):  # type: ignore[no-untyped-def]
    return *_msda_backward(*ctx.saved_tensors, gradient, ctx.sizes, ctx.path), None, None


_msda = operator("msda(Tensor values, Tensor locations, Tensor weights, int[] sizes, str path) -> Tensor", _msda_on_gpu,
                 _fake_msda)
_msda_backward = operator("msda_backward(Tensor values, Tensor locations, Tensor weights, Tensor gradient, int[] sizes, "
                          "str path) -> (Tensor, Tensor, Tensor)", _gradients_on_gpu, _fake_gradients)
torch.library.register_autograd("natten_sim::msda", _msda_gradients, setup_context=_save_msda, lib=LIBRARY)


def msda(values: Tensor, sizes: Sequence[tuple[int, int]], locations: Tensor, weights: Tensor, *,
         path: str = "fp32-accumulator") -> Tensor:
    """Multi-scale deformable attention with gradients of values, locations and weights.

    Args:
        values: (batch, pixels of all levels, heads, channels of a head), contiguous; rows of 16 to 512 bytes.
        sizes: Height and width of each level.
        locations: (batch, queries, heads, levels, points, 2): x, y as fractions of the image; fp32, or the values'
            type.
        weights: (batch, queries, heads, levels, points), of the locations' type.
        path: How gradients of values are added: fp32-accumulator keeps sums in fp32; red-16 is the fastest.

    Returns:
        (batch, queries, heads, channels of a head), of the values' type.

    Raises:
        HardwareAbsent: No sm_90 GPU, or no library.
        Error: The kernels do not take such tensors.

    Source:
        Zhu et al., Deformable DETR (arXiv 2010.04159); docs/ops.md, docs/msda.md.
    """
    flat = [int(edge) for size in sizes for edge in size]
    pixels = sum(height * width for height, width in sizes)
    if values.dim() != 4 or values.shape[1] != pixels:
        raise refuse("values", tuple(values.shape), f"(batch, {pixels}, heads, channels), the pixels of all levels")
    if locations.dim() != 6 or locations.shape[3] != len(sizes) or weights.shape != locations.shape[:5]:
        raise refuse("locations", tuple(locations.shape), "(batch, queries, heads, levels, points, 2), as weights")
    if weights.dtype != locations.dtype:
        raise refuse("weights", weights.dtype, f"{locations.dtype}, as locations")
    for name, tensor in (("values", values), ("locations", locations), ("weights", weights)):
        if not tensor.is_contiguous():
            raise refuse(name, f"strides {tuple(tensor.stride())}", "contiguous tensors")
    out: Tensor = _msda(values, locations, weights, flat, path)
    return out
