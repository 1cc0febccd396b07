"""FlashAttention-4's block-sparse tensors, forward and backward, with the rules that its kernels check.

>>> import natten_sim
>>> plan = natten_sim.flex.plan(mask="causal", seqlen_q=1024, q_tile=256)
>>> natten_sim.flash4.require_blocks(plan, tile_m=128, tile_n=128, q_stage=2)
"""

from __future__ import annotations

from typing import Any

from natten_sim._error import Error
from natten_sim.flex import DqOrder, Plan


def require_blocks(
    plan: Plan, *, tile_m: int = 128, tile_n: int = 128, q_stage: int = 2, kv_subtiles: bool | None = None
) -> None:
    """Checks that a Q block is whole Q tiles of the kernel and a KV block its KV tile, or on Blackwell whole KV tiles.

    Args:
        plan: Of natten_sim.flex.plan().
        tile_m, tile_n: Tokens of the kernel's Q and KV tiles.
        q_stage: Q tiles that a workgroup holds: 2 on Blackwell, 1 on Hopper.
        kv_subtiles: Whether a KV block may be several tiles, as on Blackwell since release 4.0.0b36. An even number
            lets two CTAs share the backward pass's tiles at head dim 128 [where q_stage is 2].

    Raises:
        Error: It is not so; `hint` is the nearest block that is.

    Source:
        flash_attn/cute/block_sparsity.py of FlashAttention-4.
    """
    if plan.q_block % (q_stage * tile_m):
        accepted = f"a multiple of {q_stage * tile_m} tokens: {q_stage} Q tiles of {tile_m}"
        raise Error(f"q_tile: {plan.q_block} tokens is not valid; accepted: {accepted}", "q_tile", str(plan.q_block),
                    accepted, str(max(1, round(plan.q_block / (q_stage * tile_m))) * q_stage * tile_m))
    several = q_stage == 2 if kv_subtiles is None else kv_subtiles
    if plan.kv_block % tile_n or (plan.kv_block != tile_n and not several):
        accepted = f"{'a multiple of ' if several else ''}{tile_n}, the kernel's KV tile"
        nearest = max(1, round(plan.kv_block / tile_n)) * tile_n if several else tile_n
        raise Error(f"kv_tile: {plan.kv_block} tokens is not valid; accepted: {accepted}", "kv_tile", str(plan.kv_block),
                    accepted, str(nearest))


def _tensors(plan: Plan, of: Any, device: Any) -> dict[str, Any]:
    import torch

    tensors: dict[str, Any] = {}
    for name, full in (("mask", False), ("full", True)):
        blocks = plan.blocks(of, full=full, compact=True)
        tensors[f"{name}_block_cnt"] = torch.from_numpy(blocks.counts)[None, None].to(device)
        tensors[f"{name}_block_idx"] = torch.from_numpy(blocks.columns)[None, None].to(device)
    return tensors


def mask_mod(plan: Plan, device: Any = "cuda") -> tuple[Any, list[Any]]:
    """FlashAttention-4's mask function of the plan's partial blocks, and the `aux_tensors` that it reads.

    Args:
        plan: Of natten_sim.flex.plan(), of neighborhood attention or of a mask over sequences by name.
        device: Of the tensors.

    Returns:
        A cute.jit function, and for each axis of the mask three tensors (places,) of int32.

    Raises:
        Error: The plan is of blocks alone, or of a mask that is only known pair by pair.
        ImportError: PyTorch, flash-attn or its cutlass is not installed.

    Source:
        flash_attn/cute/flash_fwd.py of FlashAttention-4 calls it.
    """
    import cutlass
    import cutlass.cute as cute
    import torch
    from flash_attn.cute.utils import scalar_to_ssa

    if not plan.axes:
        accepted = "neighborhood attention, or a mask over sequences by name"
        raise Error(f"plan: its mask has no rule for a kernel; accepted: {accepted}", "plan", "blocks or pairs", accepted)
    if plan.turns:
        accepted = "axes that are not cyclic: FlexAttention has those"
        raise Error(f"plan: its axes go round; accepted: {accepted}", "plan", "cyclic axes", accepted)
    axes = len(plan.axes)
    arrays = [torch.from_numpy(values.astype("int32")).to(device) for axis in plan.axes for values in axis]

    @cute.jit
    def attends(batch, head, query, key, seqlen_info, aux_tensors):  # type: ignore[no-untyped-def]
        place = scalar_to_ssa(aux_tensors[2][key[0]], cutlass.Int32)
        inside = (scalar_to_ssa(aux_tensors[0][query[0]], cutlass.Int32) <= place) & (
            place < scalar_to_ssa(aux_tensors[1][query[0]], cutlass.Int32))
        for axis in cutlass.range_constexpr(1, axes):
            place = scalar_to_ssa(aux_tensors[3 * axis + 2][key[0]], cutlass.Int32)
            inside = inside & (scalar_to_ssa(aux_tensors[3 * axis][query[0]], cutlass.Int32) <= place) & (
                place < scalar_to_ssa(aux_tensors[3 * axis + 1][query[0]], cutlass.Int32))
        return inside

    return attends, arrays


def forward(plan: Plan, device: Any = "cuda", *, tile_m: int = 128, tile_n: int = 128, q_stage: int = 2) -> Any:
    """The KV blocks of each Q block.

    Args:
        plan: Of natten_sim.flex.plan().
        device: Where the tensors live.
        tile_m, tile_n: Tokens of the kernel's Q and KV tiles.
        q_stage: Q tiles that a workgroup holds: 2 on Blackwell, 1 on Hopper.

    Returns:
        BlockSparseTensorsTorch: counts (1, 1, Q blocks) and indices (1, 1, Q blocks, width) of int32, compact,
        which the kernel broadcasts over batch and heads.

    Raises:
        Error: The plan's blocks are not the kernel's (require_blocks).
        ImportError: PyTorch or flash-attn is not installed.

    Source:
        flash_attn/cute/block_sparsity.py of FlashAttention-4.
    """
    from flash_attn.cute.block_sparsity import BlockSparseTensorsTorch

    require_blocks(plan, tile_m=tile_m, tile_n=tile_n, q_stage=q_stage)
    return BlockSparseTensorsTorch(**_tensors(plan, "q", device), block_size=(plan.q_block, plan.kv_block))


def backward(
    plan: Plan,
    device: Any = "cuda",
    *,
    dq_order: DqOrder | None = None,
    workers: int | None = None,
    tile_m: int = 128,
    tile_n: int = 128,
    q_stage: int = 1,
    kv_subtiles: bool = False,
) -> Any:
    """The Q blocks of each KV block, and the order of their additions to dQ for a deterministic pass.

    Args:
        plan: Of natten_sim.flex.plan().
        device: Where the tensors live.
        dq_order: ascending, or descending, which the kernel calls spt. Other orders need a kernel that takes
            `dq_kv_order` [the kernel's own].
        workers: Workgroups that run at a time, for dq_order="best" [one a KV block].
        tile_m, tile_n: Tokens of the kernel's Q and KV tiles.
        q_stage: Q tiles that a workgroup holds.
        kv_subtiles: Whether a KV block may be several tiles: on Blackwell.

    Returns:
        BlockSparseTensorsTorch: counts (1, 1, KV blocks), indices and dQ ranks (1, 1, KV blocks, width) of int32.

    Raises:
        Error: The plan's blocks are not the kernel's, or this flash-attn does not take the order.
        ImportError: PyTorch or flash-attn is not installed.

    Source:
        flash_attn/cute/block_sparsity.py of FlashAttention-4; docs/schedule-model.md for the orders.
    """
    import torch
    from flash_attn.cute.block_sparsity import BlockSparseTensorsTorch

    require_blocks(plan, tile_m=tile_m, tile_n=tile_n, q_stage=q_stage, kv_subtiles=kv_subtiles)
    order: dict[str, Any] = {}
    if dq_order is not None:
        found = plan.dq_write_order(dq_order, workers=workers, compact=True)
        order["dq_write_order"] = torch.from_numpy(found.partial)[None, None].to(device)
        order["dq_write_order_full"] = torch.from_numpy(found.full)[None, None].to(device)
        fields = BlockSparseTensorsTorch._fields
        plain = found.kv_order.tolist()
        ascending = sorted(plain)
        if "dq_kv_order" in fields:
            order["dq_kv_order"] = torch.from_numpy(found.kv_order)[None, None].to(device)
        elif plain in (ascending, ascending[::-1]):
            order["spt"] = plain != ascending
        else:
            raise Error("dq_order: this flash-attn takes none but plain orders; accepted: ascending, descending",
                        "dq_order", str(dq_order), "ascending, descending", "descending")
    return BlockSparseTensorsTorch(**_tensors(plan, "kv", device), block_size=(plan.q_block, plan.kv_block), **order)
