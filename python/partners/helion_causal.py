"""A causal attention kernel in Helion, autotuned with our seeds and our filter.

    python helion_causal.py [--tokens 8192] [--seconds 25]

Without a GPU only the hooks run, on Helion's own configurations and settings. With JAX beside it, Helion's Pallas
backend runs and tunes the kernel on a CPU:

    HELION_BACKEND=pallas HELION_PALLAS_INTERPRET=1 python helion_causal.py --tokens 512 --seconds 60
"""

from __future__ import annotations

import argparse
import math
import os
import time
from typing import Any

import helion
import helion.language as hl
import natten_sim
import torch
from helion.autotuner.base_search import normalize_autotune_seed_configs
from helion.runtime.settings import Settings

DIM = 64


def attention(q: Any, k: Any, v: Any) -> Any:
    """(tokens, head dim), causal."""
    tokens, dim = q.size()
    dim = hl.specialize(dim)
    out = torch.empty_like(q)
    scale = 1.44269504 / math.sqrt(dim)
    for tile_m in hl.tile(tokens):
        most = hl.full([tile_m], float("-inf"), dtype=torch.float32)
        total = hl.full([tile_m], 0.0, dtype=torch.float32)
        acc = hl.zeros([tile_m, dim], dtype=torch.float32)
        query = q[tile_m, :]
        for tile_n in hl.tile(0, tile_m.end):
            scores = hl.dot(query, k[tile_n, :].T, out_dtype=torch.float32) * scale
            scores = torch.where(tile_m.index[:, None] >= tile_n.index[None, :], scores, float("-inf"))
            new = torch.maximum(most, torch.amax(scores, -1))
            p = torch.exp2(scores - new[:, None])
            alpha = torch.exp2(most - new)
            total = total * alpha + torch.sum(p, -1)
            acc = hl.dot(p.to(v.dtype), v[tile_n, :], acc=acc * alpha[:, None])
            most = new
        out[tile_m, :] = (acc / total[:, None]).to(out.dtype)
    return out


def question(tokens: int) -> Any:
    """What a configuration asks of count()."""

    def ask(config: helion.Config) -> dict[str, Any]:
        q_tile, kv_tile = config["block_sizes"]
        return {"input": tokens, "causal": True, "q_tile": q_tile, "kv_tile": kv_tile, "head_dim": DIM}

    return ask


def hooks(tokens: int) -> tuple[list[helion.Config], Any]:
    """Seeds, and a filter that leaves out what cannot be near them."""
    sizes = (16, 32, 64, 128, 256)
    more: list[dict[str, Any]] = [{"num_warps": 4}, {"num_warps": 8}] if torch.cuda.is_available() else [{}]
    candidates = [helion.Config(block_sizes=[m, n], **one) for m in sizes for n in sizes for one in more]
    seeds = natten_sim.helion.autotune_seed_configs(candidates, question(tokens), top=4)
    keep = natten_sim.helion.autotune_config_filter(question(tokens), best=seeds[0], within=1.5)
    kept = sum(keep(config) is not None for config in candidates)
    print(f"Helion's Config: {len(candidates)} candidates, {kept} within 1.5 of the best floor")
    for seed in seeds:
        print(f"seed: {seed}")
    settings = Settings(autotune_seed_configs=seeds, autotune_config_filter=keep)
    assert list(normalize_autotune_seed_configs(settings)) == seeds, "Helion's settings take the seeds as they are"
    return seeds, keep


def tuned(tokens: int, seconds: int) -> None:
    """Autotunes for real, and compares the result with PyTorch."""
    seeds, keep = hooks(tokens)
    asked: list[bool] = []

    def counted(config: helion.Config) -> helion.Config | None:
        kept = keep(config)
        asked.append(kept is not None)
        return kept

    kernel = helion.kernel(attention, static_shapes=True, autotune_effort="quick", autotune_budget_seconds=seconds,
                           autotune_seed_configs=seeds, autotune_config_filter=counted)
    torch.manual_seed(1)
    gpu = torch.cuda.is_available()
    q, k, v = (torch.randn(tokens, DIM, dtype=torch.bfloat16 if gpu else torch.float32, device="cuda" if gpu else "cpu") for _ in range(3))
    begin = time.perf_counter()
    best = kernel.autotune((q, k, v))
    took = time.perf_counter() - begin
    expected = torch.nn.functional.scaled_dot_product_attention(q[None, None], k[None, None], v[None, None], is_causal=True)[0, 0]
    error = float((kernel(q, k, v) - expected).abs().max() / expected.abs().max())
    print(f"filter: asked about {len(asked)} configurations, kept {sum(asked)}")
    print(f"autotuned in {took:.0f} s: block_sizes {best['block_sizes']}, relative error {error:.1e}")
    if not gpu:
        return
    start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    start.record()
    for _ in range(20):
        kernel(q, k, v)
    end.record()
    torch.cuda.synchronize()
    print(f"{start.elapsed_time(end) / 20:.3f} ms a call")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--tokens", type=int, default=8192)
    parser.add_argument("--seconds", type=int, default=25)
    asked = parser.parse_args()
    print(f"PyTorch {torch.__version__}")
    if torch.cuda.is_available() or os.environ.get("HELION_PALLAS_INTERPRET"):
        tuned(asked.tokens, asked.seconds)
    else:
        hooks(asked.tokens)


if __name__ == "__main__":
    main()
