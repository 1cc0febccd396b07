"""attend and attend_backward: the operators of PyTorch below attention() and neighborhood_attention().

Tensors are (batch, heads, tokens, head_dim), whatever their strides. `axes` has length, window, stride, dilation and
causal of each axis of a neighborhood; of a sequence it is empty.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from natten_sim.ops import _layout, _library, _plans
from natten_sim.ops._registry import LIBRARY, operator

_NUMBERS = "int[] axes, int[] documents, int left, int right, float scale, str schedule"
_BACKWARD_HEAD_DIMS = (64, 96, 128)
# Tiles of the backward kernels by axes; Q tiles have 64 tokens beyond head dimension 64.
_BOXES_OF_128 = {1: (128,), 2: (16, 8), 3: (4, 4, 8)}
_BOXES_OF_64 = {1: (64,), 2: (8, 8), 3: (4, 4, 4)}


def _problem(q: Tensor, k: Tensor, v: Tensor, o: Tensor, extra_k: Tensor | None, extra_v: Tensor | None,
             axes: Sequence[int], documents: Sequence[int], left: int, right: int, scale: float) -> _plans.Problem:
    if q.device.type != "cuda":
        raise _library.HardwareAbsent(f"q is on {q.device}: these kernels run on sm_90 GPUs alone")
    named = {"q": q, "k": k, "v": v, "o": o}
    for name, tensor in named.items():
        _layout.require_alike(name, tensor, q)
    shape = (q.shape[0], q.shape[1], k.shape[1], q.shape[2], k.shape[2], q.shape[3])
    extra: dict[str, object] = {}
    if extra_k is not None and extra_v is not None:
        extra = {"extra_tokens": extra_k.shape[2],
                 "extra_strides": (_layout.strides("extra_k", extra_k), _layout.strides("extra_v", extra_v))}
    strides = tuple(_layout.strides(name, tensor) for name, tensor in named.items())
    return _plans.Problem(q.get_device(), shape, q.dtype == torch.float16, scale, strides, left, right,
                          tuple(documents), tuple(axes), **extra)  # type: ignore[arg-type]


# Plans by the shapes and strides of their tensors: what _problem() makes of them takes longer than a launch.
_plan_of: dict[Any, _plans.Plan] = {}
_MOST_KEYS = 4096


def _forward_plan(tensors: Sequence[Tensor | None], o: Tensor, numbers: tuple[Any, ...]) -> _plans.Plan:
    key = (*((tensor.shape, tensor.stride(), tensor.dtype, tensor.data_ptr() % 16) if tensor is not None else None
             for tensor in tensors), o.get_device(), numbers)
    plan = _plan_of.get(key)
    if plan is None:
        q, k, v, extra_k, extra_v = tensors
        assert q is not None and k is not None and v is not None
        axes, documents, left, right, scale = numbers
        plan = _plans.forward(_problem(q, k, v, o, extra_k, extra_v, axes, documents, left, right, scale))
        if len(_plan_of) >= _MOST_KEYS:
            _plan_of.clear()
        _plan_of[key] = plan
    return plan


def _attend(q: Tensor, k: Tensor, v: Tensor, extra_k: Tensor | None, extra_v: Tensor | None, axes: Sequence[int],
            documents: Sequence[int], left: int, right: int, scale: float, schedule: str) -> tuple[Tensor, Tensor]:
    o = torch.empty_like(q)
    lse = torch.empty(q.shape[:3], dtype=torch.float32, device=q.device)
    plan = _forward_plan((q, k, v, extra_k, extra_v), o, (tuple(axes), tuple(documents), left, right, scale))
    at = _plans.address
    tensors = _library.ForwardTensors(at(q), at(k), at(v), at(extra_k), at(extra_v), at(o), at(lse))
    _plans.launch(plan, "forward", tensors, q)
    return o, lse


def _fake_attend(q: Tensor, k: Tensor, v: Tensor, extra_k: Tensor | None, extra_v: Tensor | None,
                 axes: Sequence[int], documents: Sequence[int], left: int, right: int, scale: float,
                 schedule: str) -> tuple[Tensor, Tensor]:
    return torch.empty_like(q), torch.empty(q.shape[:3], dtype=torch.float32, device=q.device)


def _like(tensor: Tensor) -> Tensor:
    """A tensor of the same strides, which the kernel writes through its maps."""
    return torch.empty_strided(tensor.shape, tensor.stride(), dtype=tensor.dtype, device=tensor.device)


def _tokens_outer(like: Tensor) -> Tensor:
    """Contiguous as (batch, tokens, heads, head_dim)."""
    batch, heads, tokens, dim = like.shape
    return like.new_empty((batch, tokens, heads, dim)).transpose(1, 2)


def _laid_out_as(tensor: Tensor, like: Tensor) -> Tensor:
    """Gradients come as PyTorch made them: copied unless they lie as the output does."""
    if tensor.stride() == like.stride() and tensor.data_ptr() % 16 == 0:
        return tensor
    return _like(like).copy_(tensor)


def _attend_backward(
    q: Tensor, k: Tensor, v: Tensor, extra_k: Tensor | None, extra_v: Tensor | None, o: Tensor, lse: Tensor,
    d_o: Tensor, axes: Sequence[int], documents: Sequence[int], left: int, right: int, scale: float, schedule: str
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
    if axes:
        return _neighborhood_backward(q, k, v, extra_k, extra_v, o, lse, d_o, axes, scale, schedule)
    d_o = _laid_out_as(d_o, o)
    plan = _plans.backward(_problem(q, k, v, o, None, None, (), documents, left, right, scale), schedule)
    dq, dk, dv = _like(q), _like(k), _like(v)
    at = _plans.address
    tensors = _library.BackwardTensors(at(q), at(k), at(v), at(o), at(d_o), at(lse), at(dq), at(dk), at(dv))
    _plans.launch(plan, "backward", tensors, q)
    return dq, dk, dv, q.new_empty(0), q.new_empty(0)


def _fake_backward(
    q: Tensor, k: Tensor, v: Tensor, extra_k: Tensor | None, extra_v: Tensor | None, o: Tensor, lse: Tensor,
    d_o: Tensor, axes: Sequence[int], documents: Sequence[int], left: int, right: int, scale: float, schedule: str
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
    if not axes:
        return _like(q), _like(k), _like(v), q.new_empty(0), q.new_empty(0)
    extra = [q.new_empty(0) if tensor is None else _tokens_outer(tensor) for tensor in (extra_k, extra_v)]
    return _tokens_outer(q), _tokens_outer(k), _tokens_outer(v), extra[0], extra[1]


def _neighborhood_backward(
    q: Tensor, k: Tensor, v: Tensor, extra_k: Tensor | None, extra_v: Tensor | None, o: Tensor, lse: Tensor,
    d_o: Tensor, axes: Sequence[int], scale: float, schedule: str
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
    """In the order of tiles: queries, keys and gradients are gathered there and back."""
    batch, heads, _, dim = q.shape
    heads_kv = k.shape[1]
    extra_tokens = 0 if extra_k is None else extra_k.shape[2]
    # The plan's strides are those of the gathered tensors, whose lengths it tells itself.
    problem = _plans.Problem(
        q.get_device(), (batch, heads, heads_kv, q.shape[2], k.shape[2], dim), q.dtype == torch.float16, scale,
        _gathered_strides(axes, extra_tokens, heads, heads_kv, dim), axes=tuple(axes), extra_tokens=extra_tokens)
    plan = _plans.backward(problem, schedule)
    places = plan.extra

    def gathered(tensor: Tensor, tokens: str, extra: Tensor | None = None) -> Tensor:
        taken = tensor.index_select(2, places[tokens])
        return (taken if extra is None else torch.cat([taken, extra], dim=2)).contiguous()

    q_t, o_t, d_o_t = (gathered(tensor, "q_tokens") for tensor in (q, o, d_o))
    k_t, v_t = gathered(k, "kv_tokens", extra_k), gathered(v, "kv_tokens", extra_v)
    lse_t = lse.index_select(2, places["q_tokens"]).masked_fill(places["empty"], float("-inf"))
    dq, dk, dv = torch.empty_like(q_t), torch.empty_like(k_t), torch.empty_like(v_t)
    at = _plans.address
    tensors = _library.BackwardTensors(at(q_t), at(k_t), at(v_t), at(o_t), at(d_o_t), at(lse_t), at(dq), at(dk),
                                       at(dv))
    _plans.launch(plan, "backward", tensors, q)

    def scattered(tensor: Tensor, tokens: str) -> Tensor:
        return tensor.transpose(1, 2).index_select(1, places[tokens]).transpose(1, 2)

    def last(tensor: Tensor) -> Tensor:
        if extra_tokens == 0:
            return q.new_empty(0)
        return tensor[:, :, -extra_tokens:].transpose(1, 2).contiguous().transpose(1, 2)

    return (scattered(dq, "q_places"), scattered(dk, "kv_places"), scattered(dv, "kv_places"), last(dk), last(dv))


def _gathered_strides(axes: Sequence[int], extra_tokens: int, heads: int, heads_kv: int,
                      dim: int) -> tuple[tuple[int, int, int], ...]:
    rank = len(axes) // 5
    if rank not in _BOXES_OF_128:
        raise _layout.refuse("input", f"{rank} axes", "1 to 3 for a gradient")
    q_tokens = _places_of(axes, (_BOXES_OF_128 if dim <= 64 else _BOXES_OF_64)[rank])
    kv_tokens = _places_of(axes, _BOXES_OF_128[rank]) + extra_tokens
    q = (heads * q_tokens * dim, q_tokens * dim, dim)
    kv = (heads_kv * kv_tokens * dim, kv_tokens * dim, dim)
    return q, kv, kv, q


def _places_of(axes: Sequence[int], box: Sequence[int]) -> int:
    """Tokens of all dilation groups, each filled up to whole tiles."""
    count = 1
    for (length, _, _, dilation, _), side in zip(_plans.pieces(axes, 5), box, strict=True):
        residues = [(length - residue + dilation - 1) // dilation for residue in range(dilation)]
        count *= sum((tokens + side - 1) // side * side for tokens in residues)
    return count


def _setup_context(ctx, inputs, output) -> None:  # type: ignore[no-untyped-def]
    q, k, v, extra_k, extra_v, *numbers = inputs
    if q.shape[3] not in _BACKWARD_HEAD_DIMS:
        raise _layout.refuse("head_dim", q.shape[3], "64, 96 or 128 for a gradient")
    o, lse = output
    ctx.save_for_backward(q, k, v, extra_k, extra_v, o, lse)
    ctx.mark_non_differentiable(lse)
    ctx.numbers = numbers


def _backward(ctx, d_o, d_lse):  # type: ignore[no-untyped-def]
    q, k, v, extra_k, extra_v, o, lse = ctx.saved_tensors
    dq, dk, dv, dextra_k, dextra_v = attend_backward(q, k, v, extra_k, extra_v, o, lse, d_o, *ctx.numbers)
    extra = (None, None) if extra_k is None else (dextra_k, dextra_v)
    return dq, dk, dv, *extra, *[None] * len(ctx.numbers)


attend = operator("attend(Tensor q, Tensor k, Tensor v, Tensor? extra_k, Tensor? extra_v, " + _NUMBERS
                  + ") -> (Tensor, Tensor)", _attend, _fake_attend)
attend_backward = operator(
    "attend_backward(Tensor q, Tensor k, Tensor v, Tensor? extra_k, Tensor? extra_v, Tensor o, Tensor lse, Tensor d_o, "
    + _NUMBERS + ") -> (Tensor, Tensor, Tensor, Tensor, Tensor)", _attend_backward, _fake_backward)
torch.library.register_autograd("natten_sim::attend", _backward, setup_context=_setup_context, lib=LIBRARY)
