"""FlexAttention runs neighborhood attention on a video's tokens, with a block mask made from tile tables.

    python flex_attention.py [--device cuda]

Compares the output with dense attention under the same mask, and the mask with PyTorch's create_block_mask. Needs
PyTorch 2.6 or later; on a CPU torch.compile needs a C++ compiler.
"""

from __future__ import annotations

import argparse
import math
import time

import natten_sim
import torch
from torch.nn.attention.flex_attention import create_block_mask, flex_attention


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--device", default="cpu")
    device = parser.parse_args().device
    layout, window, stride, tile = (8, 32, 32), (4, 16, 20), (2, 8, 4), (2, 8, 8)

    plan = natten_sim.flex.plan(input=layout, window=window, stride=stride, q_tile=tile, kv_tile=tile)
    print(f"{plan.q_blocks} x {plan.kv_blocks} blocks, {plan.visited} visited, {plan.full} of them full")

    torch.manual_seed(0)
    tensors = [torch.randn(1, 2, math.prod(layout), 64, device=device) for _ in range(3)]
    mask = plan.block_mask(device)
    attention = torch.compile(flex_attention)
    output = plan.unpermute(attention(*plan.permute(*tensors), block_mask=mask))

    dense = torch.from_numpy(plan.dense_mask()).to(device)
    expected = torch.nn.functional.scaled_dot_product_attention(*tensors, attn_mask=dense)
    print(f"largest difference from dense attention: {(output - expected).abs().max().item():.1e}")
    assert torch.allclose(output, expected, atol=2e-5 if device == "cpu" else 2e-2)

    # The same mask by PyTorch, which evaluates it for every pair of places.
    begin = time.perf_counter()
    theirs = create_block_mask(mask.mask_mod, None, None, *mask.seq_lengths, device=device, BLOCK_SIZE=mask.BLOCK_SIZE)
    middle = time.perf_counter()
    natten_sim.flex.plan(input=layout, window=window, stride=stride, q_tile=tile, kv_tile=tile).block_mask(device)
    end = time.perf_counter()
    for name in ("kv_num_blocks", "full_kv_num_blocks", "q_num_blocks", "full_q_num_blocks"):
        assert torch.equal(getattr(mask, name), getattr(theirs, name)), name
    print("create_block_mask finds the same blocks: yes")
    print(f"create_block_mask {1e3 * (middle - begin):.1f} ms, plan and block_mask {1e3 * (end - middle):.1f} ms")


if __name__ == "__main__":
    main()
