"""The fastest window for a model as keyword arguments of NATTEN, checked by NATTEN's own rules.

Runs the call where NATTEN and a GPU are there; prints it everywhere.
"""

from __future__ import annotations

import importlib
import importlib.util
from typing import Any

import natten_sim


def run(function: str, answer: natten_sim.Count, arguments: dict[str, Any]) -> None:
    import natten
    import torch

    shape = (1, *answer.input.input, answer.input.heads, answer.input.head_dim)
    tensors = [torch.randn(shape, device="cuda", dtype=torch.bfloat16) for _ in range(3)]
    print("output", tuple(getattr(natten, function)(*tensors, **arguments).shape))


def main() -> None:
    found = natten_sim.search(preset="hunyuan-video", sparsity=(0.90, 0.92), device="h100", top=1)
    best = found.candidates[0]
    answer = natten_sim.count(
        preset="hunyuan-video", window=best.window, stride=best.stride, q_tile=best.q_tile, kv_tile=best.kv_tile,
        device="h100", dtype="bf16",
    )
    function, arguments = natten_sim.natten.function(answer), natten_sim.natten.kwargs(answer)
    print(f"{answer.sparsity:.1%} sparse, {answer.speedup_mean:.1f}x fewer tiles than dense")
    print(f"natten.{function}(query, key, value, **{arguments})")
    if not importlib.util.find_spec("natten"):
        print("not run: NATTEN is not installed")
    elif not importlib.import_module("torch").cuda.is_available():
        print("not run: this backend needs a GPU")
    else:
        run(function, answer, arguments)


if __name__ == "__main__":
    main()
