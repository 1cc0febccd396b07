"""A BlockMask that keeps what it was given."""

from __future__ import annotations

from typing import Any


class BlockMask:
    def __init__(
        self, seq_lengths: Any, kv_num_blocks: Any, kv_indices: Any, full_kv_num_blocks: Any, full_kv_indices: Any,
        q_num_blocks: Any, q_indices: Any, full_q_num_blocks: Any, full_q_indices: Any, BLOCK_SIZE: Any,  # noqa: N803
        mask_mod: Any, *, dq_write_order: Any = None, dq_write_order_full: Any = None, dq_kv_order: Any = None,
        dq_kv_order_spt: bool | None = None,
    ) -> None:
        self.__dict__.update({name: value for name, value in locals().items() if name != "self"})
