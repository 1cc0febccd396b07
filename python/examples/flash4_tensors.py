"""FlashAttention-4's block-sparse tensors for a sliding window, and the dQ order of its deterministic backward pass."""

from __future__ import annotations

import sys

import natten_sim


def main(device: str = "cuda") -> None:
    plan = natten_sim.flex.plan(mask="window:1000,0", seqlen_q=8192, q_tile=256, kv_tile=128)
    forward = natten_sim.flash4.forward(plan, device, tile_m=128, tile_n=128, q_stage=2)
    print("forward: at most", forward.mask_block_idx.shape[-1], "partial and", forward.full_block_idx.shape[-1],
          "full blocks a row of", plan.kv_blocks)

    backward = natten_sim.flash4.backward(plan, device, dq_order="descending")
    print("backward: write order", tuple(backward.dq_write_order.shape), "spt", backward.spt)

    for order in ("ascending", "descending", "best"):
        found = plan.dq_write_order(order, workers=32, compute=7, reduce=2)
        print(f"{order}: the backward pass takes {found.makespan:g}")


if __name__ == "__main__":
    main(*sys.argv[1:])
