"""Attention, and a module's function that calls it where no mode is active."""

from __future__ import annotations

from typing import Any

import numpy as np
from torch import Tensor, from_numpy
from torch.overrides import dispatch


class _Builtin:
    __name__ = "scaled_dot_product_attention"

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return dispatch(self, args, kwargs)

    def plain(self, query: Tensor, key: Tensor, value: Tensor, attn_mask: Any = None, dropout_p: float = 0.0,
              is_causal: bool = False, scale: float | None = None, enable_gqa: bool = False) -> Tensor:
        factor = query.shape[-1] ** -0.5 if scale is None else scale
        repeated = np.repeat(np.asarray(key), query.shape[1] // key.shape[1], axis=1)
        logits = from_numpy(np.asarray(query) @ np.swapaxes(repeated, -1, -2) * factor)
        if is_causal:
            logits[..., ~np.tri(query.shape[-2], key.shape[-2], dtype=bool)] = -np.inf
        if attn_mask is not None:
            mask = np.broadcast_to(np.asarray(attn_mask), logits.shape)
            logits = from_numpy(np.where(mask, logits, -np.inf) if mask.dtype == bool else logits + mask)
        return from_numpy(np.asarray(logits.softmax(-1)) @ np.repeat(np.asarray(value), query.shape[1] // key.shape[1], axis=1))


scaled_dot_product_attention: Any = _Builtin()


class _Composite:
    """As multi_head_attention_forward: dispatches itself, and calls the other one by its name in this module."""

    __name__ = "multi_head_attention_forward"

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return dispatch(self, args, kwargs)

    def plain(self, query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        return scaled_dot_product_attention(query, key, value)  # type: ignore[no-any-return]


multi_head_attention_forward: Any = _Composite()
