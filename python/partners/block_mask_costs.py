"""Time and GPU memory that a block mask takes to build: PyTorch's create_block_mask beside tile tables.

    python block_mask_costs.py [--csv FILE] [--tokens 8192,32768,115200]

Each way is a process of its own. The mask is that of neighborhood attention on a video, 128 x 128 blocks; both get the
same mask function, and have to find the same blocks.
"""

from __future__ import annotations

import argparse
import json
import pathlib
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import natten_sim

PROBLEMS: dict[int, dict[str, Any]] = {
    8192: {"input": (8, 32, 32), "window": (4, 16, 16)},
    32768: {"input": (16, 32, 64), "window": (8, 16, 32)},
    115200: {"input": (30, 48, 80), "window": (18, 24, 24)},
}
WAYS = ("create_block_mask", "create_block_mask, compiled", "natten_sim")


def build(problem: dict[str, Any], way: str, device: str) -> Callable[[], Any]:
    from torch.nn.attention.flex_attention import create_block_mask

    def plan() -> natten_sim.flex.Plan:
        return natten_sim.flex.plan(**problem, q_tile=(2, 8, 8), kv_tile=(2, 8, 8))

    if way == "natten_sim":
        return lambda: plan().block_mask(device)
    made = plan()
    rule, lengths, size = made.mask_mod(device), (len(made.q_tokens), len(made.kv_tokens)), (made.q_block, made.kv_block)
    return lambda: create_block_mask(rule, None, None, *lengths, device=device, BLOCK_SIZE=size, _compile="," in way)


def measure(tokens: int, way: str, device: str) -> dict[str, Any]:
    """First call, median of five more, and the most memory that was in use."""
    import torch

    make = build(PROBLEMS[tokens], way, device)
    on_gpu = device != "cpu"
    seconds, peaks, mask = [], [], None
    for _ in range(6):
        mask = None
        if on_gpu:
            torch.cuda.synchronize()
            torch.cuda.empty_cache()
            torch.cuda.reset_peak_memory_stats()
            before = torch.cuda.memory_allocated()
        begin = time.perf_counter()
        mask = make()
        if on_gpu:
            torch.cuda.synchronize()
            peaks.append(torch.cuda.max_memory_allocated() - before)
        seconds.append(time.perf_counter() - begin)
    assert mask is not None
    blocks = [(int(counts.sum()), int((counts * torch.arange(counts.shape[-1], device=counts.device)).sum()))
              for counts in (mask.kv_num_blocks, mask.full_kv_num_blocks, mask.q_num_blocks, mask.full_q_num_blocks)]
    return {"tokens": tokens, "way": way, "first_ms": 1e3 * seconds[0], "ms": 1e3 * statistics.median(seconds[1:]),
            "peak_bytes": max(peaks, default=0), "blocks": blocks}


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--tokens", default="8192,32768,115200")
    parser.add_argument("--csv", type=pathlib.Path)
    parser.add_argument("--way", choices=WAYS)
    arguments = parser.parse_args()
    sizes = [int(tokens) for tokens in arguments.tokens.split(",")]
    if arguments.way:
        for tokens in sizes:
            print(json.dumps(measure(tokens, arguments.way, arguments.device)), flush=True)
        return 0
    rows = []
    for way in WAYS:
        command = [sys.executable, __file__, "--device", arguments.device, "--tokens", arguments.tokens, "--way", way]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            print(f"{way}: failed: {done.stderr.strip().splitlines()[-1][:200]}", flush=True)
        rows += [json.loads(line) for line in done.stdout.splitlines()]
    for row in sorted(rows, key=lambda row: int(row["tokens"])):
        print(f"{row['tokens']:7}  {row['way']:28} {row['ms']:9.2f} ms (first {row['first_ms']:9.1f})  "
              f"{row['peak_bytes'] / 1e6:12.3f} MB", flush=True)
    for tokens in sizes:
        found = {json.dumps(row["blocks"]) for row in rows if row["tokens"] == tokens}
        print(f"{tokens:7}  the same blocks: {'yes' if len(found) == 1 else 'NO'}", flush=True)
    if arguments.csv:
        lines = [f"{row['tokens']},\"{row['way']}\",{row['first_ms']:.2f},{row['ms']:.3f},{row['peak_bytes']}" for row in rows]
        arguments.csv.write_text("\n".join(["tokens,way,first_ms,ms,peak_bytes", *lines]) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
