"""FlexAttention with our block masks against dense attention with the mask: output and all three gradients.

    python flex_masks.py [--device cuda] [--case NAME]

Each case compiles kernels of its own, in a process of its own, all at a time. Float32, so that a wrong pair shows.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import natten_sim
import numpy as np

plan = natten_sim.flex.plan


def cells(queries: int, keys: int) -> Any:
    random = np.random.default_rng(3)
    coarse = random.random((6, 6)) < 0.4
    mask = coarse[np.arange(queries)[:, None] // 170, np.arange(keys)[None] // 170] ^ (random.random((queries, keys)) < 0.001)
    mask[:, 0] = True  # a query that attends to nothing has no dense answer
    return mask


CASES: dict[str, Callable[[], natten_sim.flex.Plan]] = {
    "1-D": lambda: plan(input=2000, window=300, stride=7, causal=True, q_tile=128, kv_tile=64),
    "2-D, padded": lambda: plan(input=(45, 50), window=(9, 13), stride=(1, 2), q_tile=(8, 8), kv_tile=(8, 8)),
    "2-D, dilated": lambda: plan(input=(40, 48), window=(7, 9), dilation=(2, 3), q_tile=(8, 8), kv_tile=(8, 8)),
    "3-D": lambda: plan(input=(8, 24, 24), window=(4, 8, 12), stride=(2, 4, 4), q_tile=(4, 8, 8), kv_tile=(2, 8, 8)),
    "3-D, dense": lambda: plan(input=(5, 18, 20), window=(5, 18, 20), q_tile=(2, 8, 8), kv_tile=(2, 8, 8)),
    "4-D": lambda: plan(input=(4, 6, 8, 12), window=(2, 3, 8, 5), q_tile=(2, 2, 4, 8), kv_tile=(2, 2, 4, 8)),
    "causal": lambda: plan(mask="causal", seqlen_q=1500),
    "window": lambda: plan(mask="window:200,50", seqlen_q=1000, seqlen_k=1300, q_tile=64, kv_tile=128),
    "documents": lambda: plan(mask="document:300,100,600,77", seqlen_q=1077),
    "full": lambda: plan(mask="full", seqlen_q=900, seqlen_k=1000),
    "tokens": lambda: plan(token_mask=cells(1000, 900), q_tile=64, kv_tile=64),
    "function": lambda: plan(mask=lambda b, h, q, k: (k <= q) & ((q - k) % 64 < 5), seqlen_q=1400),
}


def check(name: str, device: str) -> None:
    import torch
    from torch.nn.attention.flex_attention import flex_attention

    torch.set_float32_matmul_precision("highest")
    torch.manual_seed(1)
    found = CASES[name]()
    dense = torch.from_numpy(found.dense_mask()).to(device)
    shapes = [(1, 2, tokens, 64) for tokens in (dense.shape[0], dense.shape[1], dense.shape[1])]
    backward = device != "cpu"  # where FlexAttention has none
    tensors = [torch.randn(shape, device=device, requires_grad=backward) for shape in shapes]
    gradient = torch.randn(shapes[0], device=device)
    outputs = []
    for ours in (True, False):
        if ours:
            attention = torch.compile(flex_attention, dynamic=False)
            options = found.kernel_options() if min(found.q_block, found.kv_block) < 128 and backward else None
            output = found.unpermute(attention(*found.permute(*tensors), block_mask=found.block_mask(device),
                                               kernel_options=options))
        else:
            scores = (tensors[0].double() @ tensors[1].double().mT / 8).masked_fill(~dense, float("-inf"))
            output = scores.softmax(-1) @ tensors[2].double()
        gradients = torch.autograd.grad(output, tensors, gradient.to(output.dtype)) if backward else ()
        outputs.append([output, *gradients])
    errors = [((mine - other).norm() / other.norm()).item() for mine, other in zip(*outputs, strict=True)]
    print(f"{name:14} {found.visited:5} blocks, {found.full:5} full: output {errors[0]:.0e}, gradients "
          f"{' '.join(f'{error:.0e}' for error in errors[1:])}", flush=True)
    assert max(errors) < 3e-6, errors


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--case", choices=CASES)
    arguments = parser.parse_args()
    if arguments.case:
        check(arguments.case, arguments.device)
        return 0
    command = [sys.executable, __file__, "--device", arguments.device, "--case"]
    running = {name: subprocess.Popen([*command, name]) for name in CASES}
    failed = [name for name, process in running.items() if process.wait() != 0]
    print(f"{len(CASES) - len(failed)} of {len(CASES)} masks", *failed)
    return len(failed)


if __name__ == "__main__":
    sys.exit(main())
