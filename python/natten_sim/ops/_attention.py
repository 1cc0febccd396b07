"""Attention over sequences and neighborhoods."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from torch import Tensor

from natten_sim.ops import _schedules
from natten_sim.ops._layout import refuse
from natten_sim.ops._operators import attend

PerAxis = int | Sequence[int]


def attention(
    q: Tensor, k: Tensor, v: Tensor, *, causal: bool = False, window: tuple[int | None, int | None] | None = None,
    documents: Sequence[int] | None = None, scale: float | None = None, schedule: Any = "auto",
    return_lse: bool = False,
) -> Any:
    """Attention over a sequence, with a deterministic gradient.

    Args:
        q: (batch, heads, tokens, head_dim); head_dim of 64, 96, 128, 160, 192 or 256, with a gradient up to 128.
        k, v: (batch, heads_kv, kv_tokens, head_dim); heads_kv divides heads.
        causal: A query sees no key behind its diagonal. Both ends are aligned: query i is at key
            i + kv_tokens - tokens.
        window: Keys before and after the diagonal that a query sees; None: all [(None, None)].
        documents: Lengths of the documents that the sequence consists of; nobody sees another document. Head
            dimensions up to 160, as many keys as queries [one document].
        scale: Of the scores [1 / sqrt(head_dim)].
        schedule: Order of the gradient's additions: an algorithm of natten_sim.schedule(), what it answers, or a
            table; "auto" takes one that suits the mask. Decides the time and the last bits, never the gradient.
        return_lse: Return the log-sum-exp of each row too.

    Returns:
        O like q; with return_lse also LSE (batch, heads, tokens), fp32, which has no gradient.

    Raises:
        HardwareAbsent: No sm_90 GPU, or no library.
        Error: The kernels do not take such tensors or such a mask.

    Source:
        docs/ops.md; docs/kernels.md and docs/backward-kernel.md describe the kernels.
    """
    left, right = (-1 if end is None else int(end) for end in (window or (None, None)))
    if causal:
        right = 0
    lengths = [int(length) for length in documents or ()]
    if lengths and (sum(lengths) != q.shape[2] or q.shape[2] != k.shape[2] or min(lengths) < 1):
        raise refuse("documents", f"{sum(lengths)} tokens", f"lengths that add up to {q.shape[2]}, the tokens of q and k")
    o, lse = attend(q, k, v, None, None, [], lengths, left, right, scale or 0.0, _schedules.name_of(schedule))
    return (o, lse) if return_lse else o


def _per_axis(name: str, value: Any, rank: int) -> list[int]:
    values = [int(value)] * rank if isinstance(value, (int, bool)) else [int(each) for each in value]
    if len(values) != rank:
        raise refuse(name, f"{len(values)} axes", f"{rank}, the axes between batch and heads")
    return values


def neighborhood_attention(
    q: Tensor, k: Tensor, v: Tensor, window: PerAxis, *, stride: PerAxis = 1, dilation: PerAxis = 1,
    causal: bool | Sequence[bool] = False, scale: float | None = None, extra_keys: Tensor | None = None,
    extra_values: Tensor | None = None, schedule: Any = "auto", return_lse: bool = False,
) -> Any:
    """Neighborhood attention over 1 to 3 axes, by NATTEN's rules, with a deterministic gradient.

    Args:
        q: (batch, axis, .., heads, head_dim), as NATTEN has it; head_dim of 64, 96, 128 or 160, with a gradient up to
            128.
        k, v: The same, with heads_kv heads.
        window: Tokens of the window, one number or one an axis.
        stride: Queries in a row that share a window.
        dilation: A token sees every such token.
        causal: Whether a query sees no later token, one for all axes or one an axis.
        scale: Of the scores [1 / sqrt(head_dim)].
        extra_keys, extra_values: (batch, tokens, heads_kv, head_dim): keys that every query sees besides [none].
        schedule: As in attention().
        return_lse: As in attention().

    Returns:
        O like q; with return_lse also LSE (batch, axis, .., heads), fp32, which has no gradient.

    Raises:
        HardwareAbsent: No sm_90 GPU, or no library.
        Error: The kernels do not take such tensors or such a window.

    Source:
        Hassani, Generalized Neighborhood Attention (arXiv 2504.16922); docs/ops.md.
    """
    rank = q.dim() - 3
    if not 1 <= rank <= 3:
        raise refuse("q", f"{q.dim()} dimensions", "batch, 1 to 3 axes, heads and head_dim")
    layout = q.shape[1 : 1 + rank]
    parts = {"window": window, "stride": stride, "dilation": dilation, "causal": causal}
    columns = [_per_axis(name, value, rank) for name, value in parts.items()]
    axes = [number for row in zip(layout, *columns, strict=True) for number in row]

    def sequence(tensor: Tensor) -> Tensor:
        return tensor.flatten(1, rank).transpose(1, 2)

    extra = [None if tensor is None else tensor.transpose(1, 2) for tensor in (extra_keys, extra_values)]
    o, lse = attend(sequence(q), sequence(k), sequence(v), extra[0], extra[1], axes, [], -1, -1, scale or 0.0,
                    _schedules.name_of(schedule))
    o = o.transpose(1, 2).unflatten(1, layout)
    return (o, lse.transpose(1, 2).unflatten(1, layout)) if return_lse else o
