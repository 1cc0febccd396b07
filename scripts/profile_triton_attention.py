#!/usr/bin/env python3
"""Launches a Triton attention kernel of a shape of its own, for Nsight Compute, once for each problem.

    ncu --clock-control none --section LaunchStats --section Occupancy --csv -k regex:descending_attention \
        --metrics dram__bytes_read.sum,l1tex__m_xbar2l1tex_read_sectors.sum,gpu__time_duration.sum \
        python3 scripts/profile_triton_attention.py > triton.csv
    natten-sim explain triton.csv --kernel data/kernel-files/triton-descending.json --device h200

The kernel walks the keys from the last one down and launches all heads of a Q tile before the next Q tile;
data/kernel-files/triton-descending.json says so. Every problem is checked against PyTorch on 16 queries.
"""

import argparse
import random

import torch
import triton
import triton.language as tl

HEAD_DIM, ROWS, KEYS = 128, 128, 64
# tokens, heads, causal
PROBLEMS = [(16384, 4, False), (16384, 4, True), (65536, 2, False), (65536, 2, True), (131072, 1, False), (131072, 1, True),
            (163840, 2, False), (163840, 2, True)]


@triton.jit
def descending_attention(q, k, v, out, tokens, scale, D: tl.constexpr, ROWS: tl.constexpr, KEYS: tl.constexpr,
                         CAUSAL: tl.constexpr):
    head, tile = tl.program_id(0), tl.program_id(1)
    base = head.to(tl.int64) * tokens * D
    row, column, dim = tile * ROWS + tl.arange(0, ROWS), tl.arange(0, KEYS), tl.arange(0, D)
    queries = tl.load(q + base + row[:, None] * D + dim[None, :])
    top = tl.full((ROWS,), float("-inf"), tl.float32)
    mass = tl.zeros((ROWS,), tl.float32)
    sums = tl.zeros((ROWS, D), tl.float32)
    blocks = tl.cdiv((tile + 1) * ROWS, KEYS) if CAUSAL else tl.cdiv(tokens, KEYS)
    for step in range(0, blocks):
        key = (blocks - 1 - step) * KEYS + column
        keys = tl.load(k + base + key[None, :] * D + dim[:, None])
        score = tl.dot(queries, keys) * scale
        if CAUSAL:
            score = tl.where(row[:, None] >= key[None, :], score, -1.0e30)
        higher = tl.maximum(top, tl.max(score, 1))
        weight = tl.exp2(score - higher[:, None])
        fade = tl.exp2(top - higher)
        mass = mass * fade + tl.sum(weight, 1)
        values = tl.load(v + base + key[:, None] * D + dim[None, :])
        sums = tl.dot(weight.to(tl.bfloat16), values, sums * fade[:, None])
        top = higher
    tl.store(out + base + row[:, None] * D + dim[None, :], (sums / mass[:, None]).to(tl.bfloat16))


def attend(q, k, v, causal):
    heads, tokens, _ = q.shape
    out = torch.empty_like(q)
    scale = HEAD_DIM ** -0.5 * 1.4426950408889634
    descending_attention[(heads, tokens // ROWS)](q, k, v, out, tokens, scale, D=HEAD_DIM, ROWS=ROWS, KEYS=KEYS, CAUSAL=causal,
                                                  num_warps=8, num_stages=3)
    return out


def check(q, k, v, out, causal):
    heads, tokens, _ = q.shape
    for query in random.Random(1).sample(range(tokens), 16):
        head = query % heads
        end = query + 1 if causal else tokens
        weight = (k[head, :end].float() @ q[head, query].float() * HEAD_DIM ** -0.5).softmax(0)
        expected, found = weight @ v[head, :end].float(), out[head, query].float()
        error = ((found - expected).norm() / expected.norm()).item()
        assert error < 2e-2, f"query {query} of {tokens} tokens is off by {error}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--check", action="store_true", help="hold the outputs against PyTorch's")
    arguments = parser.parse_args()
    torch.manual_seed(0)
    for tokens, heads, causal in PROBLEMS:
        q, k, v = (torch.randn(heads, tokens, HEAD_DIM, device="cuda", dtype=torch.bfloat16) for _ in range(3))
        out = attend(q, k, v, causal)
        torch.cuda.synchronize()
        if arguments.check:
            check(q, k, v, out, causal)


if __name__ == "__main__":
    main()
