"""The tuple of FlashAttention-4's block-sparse tensors, with the fields of its interface."""

from __future__ import annotations

from typing import Any, NamedTuple


class BlockSparseTensorsTorch(NamedTuple):
    mask_block_cnt: Any
    mask_block_idx: Any
    full_block_cnt: Any = None
    full_block_idx: Any = None
    cu_total_m_blocks: Any = None
    cu_block_idx_offsets: Any = None
    block_size: Any = None
    dq_write_order: Any = None
    dq_write_order_full: Any = None
    spt: Any = None
