"""A windowed attention kernel in Triton: natten-sim prunes its autotuner, and the GPU says what that cost.

Where Triton and a GPU are there, all 18 configurations are measured and then only those that the hook keeps.
Elsewhere the hook alone runs.
"""

from __future__ import annotations

import importlib.util
import time
from typing import Any

import natten_sim

TOKENS, WINDOW, HEADS, DIM = 16384, 1500, 16, 128

if importlib.util.find_spec("triton"):
    import triton
    import triton.language as tl

    @triton.jit  # type: ignore[untyped-decorator]
    def window_attention(  # type: ignore[no-untyped-def]
        Q, K, V, Out, tokens, window, scale, DIM: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr  # noqa: N803
    ):
        """Tensors (heads, tokens, DIM), tokens a multiple of the blocks; scale includes log2(e)."""
        block, base = tl.program_id(0), tl.program_id(1).to(tl.int64) * tokens * DIM
        rows, dims = block * BLOCK_M + tl.arange(0, BLOCK_M), tl.arange(0, DIM)
        q = tl.load(Q + base + rows[:, None] * DIM + dims[None, :])
        most = tl.full([BLOCK_M], -1e30, tl.float32)
        total = tl.zeros([BLOCK_M], tl.float32)
        out = tl.zeros([BLOCK_M, DIM], tl.float32)
        first = tl.maximum(0, block * BLOCK_M - window + 1) // BLOCK_N * BLOCK_N
        for start in range(first, (block + 1) * BLOCK_M, BLOCK_N):
            keys = start + tl.arange(0, BLOCK_N)
            k = tl.load(K + base + keys[None, :] * DIM + dims[:, None])
            v = tl.load(V + base + keys[:, None] * DIM + dims[None, :])
            inside = (keys[None, :] <= rows[:, None]) & (rows[:, None] - keys[None, :] < window)
            scores = tl.where(inside, tl.dot(q, k) * scale, -1e30)
            largest = tl.maximum(most, tl.max(scores, 1))
            weights = tl.where(inside, tl.exp2(scores - largest[:, None]), 0.0)
            shrink = tl.exp2(most - largest)
            total = total * shrink + tl.sum(weights, 1)
            out = tl.dot(weights.to(v.dtype), v, out * shrink[:, None])
            most = largest
        tl.store(Out + base + rows[:, None] * DIM + dims[None, :], (out / total[:, None]).to(Out.dtype.element_ty))


def question(config: Any, arguments: dict[str, Any]) -> dict[str, Any]:
    """What the kernel computes for these arguments, with the tiles of this configuration."""
    return {"input": arguments["tokens"], "window": arguments["window"], "causal": True, "heads": HEADS, "head_dim": DIM,
            "q_tile": config.kwargs["BLOCK_M"], "kv_tile": config.kwargs["BLOCK_N"]}


def tuned(kernel: Any, configs: list[Any], hooks: dict[str, Any], tensors: list[Any]) -> tuple[Any, float]:
    """The tuner behind its first launch, and how many seconds that took."""
    import torch

    tuner = triton.autotune(configs, key=["tokens"], prune_configs_by=hooks)(kernel)
    query, key, value, out = tensors
    begin = time.perf_counter()
    tuner[lambda meta: (TOKENS // meta["BLOCK_M"], HEADS)](query, key, value, out, tokens=TOKENS, window=WINDOW,
                                                           scale=DIM**-0.5 * 1.4426950408889634, DIM=DIM)
    torch.cuda.synchronize()
    return tuner, time.perf_counter() - begin


def measure(configs: list[Any], hooks: dict[str, Any]) -> None:
    import torch

    torch.manual_seed(0)
    tensors = [torch.randn(HEADS, TOKENS, DIM, device="cuda", dtype=torch.bfloat16) for _ in range(4)]
    pruned, took = tuned(window_attention, configs, hooks, tensors)
    distance = torch.arange(TOKENS, device="cuda")[:, None] - torch.arange(TOKENS, device="cuda")
    mask = (distance >= 0) & (distance < WINDOW)
    expected = torch.nn.functional.scaled_dot_product_attention(*tensors[:3], attn_mask=mask)
    error = (tensors[3] - expected).float().norm() / expected.float().norm()
    everything, all_took = tuned(window_attention, configs, {}, tensors)
    best, best_of_all = (min(map(min, tuner.configs_timings.values())) for tuner in (pruned, everything))
    print(f"relative error {error:.1e}")
    print(f"pruned      {len(pruned.configs_timings):2} configurations, {took:5.1f} s, best {best:.3f} ms, {pruned.best_config}")
    print(f"exhaustive  {len(everything.configs_timings):2} configurations, {all_took:5.1f} s, best {best_of_all:.3f} ms, "
          f"{everything.best_config}")
    assert error < 1e-2 and len(pruned.configs_timings) < len(everything.configs_timings)


def main() -> None:
    if importlib.util.find_spec("triton") is None:
        print("not run: Triton is not installed")
        return
    configs = [triton.Config({"BLOCK_M": m, "BLOCK_N": n}, num_warps=warps, num_stages=2)
               for m in (32, 64, 128) for n in (32, 64, 128) for warps in (4, 8)]
    prune = natten_sim.triton.early_config_prune(question, top=6, device="h200")
    kept = prune(configs, {"tokens": TOKENS, "window": WINDOW})
    print("kept:", ", ".join(f"{c.kwargs['BLOCK_M']}x{c.kwargs['BLOCK_N']}/{c.num_warps}" for c in kept))
    import torch

    if torch.cuda.is_available():
        measure(configs, {"early_config_prune": prune})


if __name__ == "__main__":
    main()
