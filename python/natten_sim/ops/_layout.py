"""Tensors as the kernels take them: (batch, heads, tokens, head_dim) with strides of their own."""

from __future__ import annotations

import torch

from natten_sim._error import Error
from natten_sim.ops._library import Strides

DTYPES = {torch.float16: 1, torch.bfloat16: 0}


def refuse(parameter: str, value: object, accepted: str) -> Error:
    """An Error as the rest of the package words it."""
    return Error(f"{parameter}: {value} is not valid; accepted: {accepted}", parameter, str(value), accepted)


def require_alike(name: str, tensor: torch.Tensor, like: torch.Tensor) -> None:
    """Four dimensions, the type and the device of another tensor."""
    if tensor.dim() != 4:
        raise refuse(name, f"{tensor.dim()} dimensions", "4")
    if tensor.dtype not in DTYPES:
        raise refuse(name, tensor.dtype, "torch.float16 or torch.bfloat16")
    if tensor.dtype != like.dtype or tensor.device != like.device:
        raise refuse(name, f"{tensor.dtype} on {tensor.device}", f"{like.dtype} on {like.device}, as q")


def strides(name: str, tensor: torch.Tensor) -> tuple[int, int, int]:
    """Elements from a batch element, a head and a token to the next; of an axis with one element whatever fits.

    Raises:
        Error: The kernels cannot read the tensor where it lies; `hint` says what helps.
    """
    batch, heads, tokens, dim = tensor.shape
    steps = [step if size > 1 else -1 for size, step in zip(tensor.shape, tensor.stride(), strict=True)]
    fitting = steps[3] in (1, -1) and all(step == -1 or (step > 0 and step % 8 == 0) for step in steps[:3])
    if not fitting or tensor.data_ptr() % 16:
        raise Error(f"{name}: strides {tuple(tensor.stride())} are not valid; accepted: elements of a head side by "
                    f"side, other strides multiples of 8, an address that is a multiple of 16 bytes", name,
                    str(tuple(tensor.stride())), "strides of multiples of 8", f"{name}.contiguous()")
    token = steps[2] if steps[2] > 0 else (heads * dim if steps[1] == dim else dim)
    head = steps[1] if steps[1] > 0 else (dim if token == dim * heads else token * tokens)
    whole = max(token * tokens, head * heads)
    return (steps[0] if steps[0] > 0 else whole), head, token


def struct(numbers: tuple[int, int, int]) -> Strides:
    """The same for the library."""
    return Strides(*numbers)
