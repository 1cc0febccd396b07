"""FlashAttention-4 with our block-sparse tensors against dense attention with the mask, forward and backward.

    python flash4_masks.py [--case NAME]

Also compares the ranks of dQ's additions with those that flash-attn computes itself.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Callable

import natten_sim

plan = natten_sim.flex.plan
CASES: dict[str, Callable[[], natten_sim.flex.Plan]] = {
    "window": lambda: plan(mask="window:700,0", seqlen_q=4096),
    "documents": lambda: plan(mask="document:1000,500,1572,1024", seqlen_q=4096),
    "3-D": lambda: plan(input=(8, 24, 24), window=(4, 8, 12), stride=(2, 4, 4), q_tile=(2, 8, 8), kv_tile=(2, 8, 8)),
}


def same_ranks(found: natten_sim.flex.Plan) -> bool:
    from flash_attn.cute.block_sparsity import compute_dq_write_order

    same = True
    for order, spt in (("ascending", False), ("descending", True)):
        forward = natten_sim.flash4.forward(found, q_stage=1)
        backward = natten_sim.flash4.backward(found, dq_order=order)  # type: ignore[arg-type]
        theirs = compute_dq_write_order(*forward[:4], *backward[:4], spt=spt)
        ours = (backward.dq_write_order, backward.dq_write_order_full)
        for counts, mine, other in zip((backward.mask_block_cnt, backward.full_block_cnt), ours, theirs, strict=True):
            for row, count in enumerate(counts[0, 0].tolist()):
                same &= mine[0, 0, row, :count].tolist() == other[0, 0, row, :count].tolist()
    return same


def check(name: str) -> None:
    import torch
    from flash_attn.cute.interface import flash_attn_func

    torch.manual_seed(1)
    found = CASES[name]()
    tokens, heads, dim = len(found.q_tokens), 4, 128
    tensors = [torch.randn(1, tokens, heads, dim, device="cuda", dtype=torch.bfloat16, requires_grad=True) for _ in range(3)]
    gradient = torch.randn_like(tensors[0])
    rule, arrays = natten_sim.flash4.mask_mod(found)
    output = flash_attn_func(*tensors, mask_mod=rule, aux_tensors=arrays,
                             block_sparse_tensors=natten_sim.flash4.forward(found, q_stage=1),
                             block_sparse_tensors_bwd=natten_sim.flash4.backward(found))
    output = output[0] if isinstance(output, tuple) else output
    places = torch.arange(tokens, device="cuda")
    dense = found.mask_mod("cuda")(0, 0, places[:, None], places[None])
    query, key, value = (tensor.transpose(1, 2).float() for tensor in tensors)
    expected = ((query @ key.mT / dim**0.5).masked_fill(~dense, float("-inf")).softmax(-1) @ value).transpose(1, 2)

    def error(mine: torch.Tensor, other: torch.Tensor) -> float:
        return float((mine.float() - other.float()).norm() / other.float().norm())

    print(f"{name:10} {found.visited} blocks, {found.full} full; dQ ranks are flash-attn's: {same_ranks(found)}; "
          f"output {error(output, expected):.1e}", flush=True)
    ours, theirs = (torch.autograd.grad(result, tensors, gradient.to(result.dtype)) for result in (output, expected))
    errors = [error(mine, other) for mine, other in zip(ours, theirs, strict=True)]
    print(f"{name:10} gradients {' '.join(f'{one:.1e}' for one in errors)}", flush=True)
    assert error(output, expected) < 1e-2 and max(errors) < 2e-2 and same_ranks(found)


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--case", choices=CASES)
    arguments = parser.parse_args()
    if arguments.case:
        check(arguments.case)
        return 0
    running = {name: subprocess.Popen([sys.executable, __file__, "--case", name]) for name in CASES}
    failed = [name for name, process in running.items() if process.wait() != 0]
    print(f"{len(CASES) - len(failed)} of {len(CASES)} masks", *failed)
    return len(failed)


if __name__ == "__main__":
    sys.exit(main())
