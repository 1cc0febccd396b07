"""NATTEN's own output for our keyword arguments against dense attention with our mask, on random problems.

    python natten_calls.py [--problems 40] [--seed 1]

Runs NATTEN's flex-fna backend on the CPU, which needs its Python code and PyTorch alone.
"""

from __future__ import annotations

import argparse
import math
import random
import warnings
from typing import Any

import natten
import natten_sim
import torch


def question(rank: int) -> dict[str, Any]:
    """A problem that NATTEN takes: kernel sizes are 2 or more."""
    layout = [random.randint(4, (64, 16, 9)[rank - 1]) for _ in range(rank)]
    dilation = [random.randint(1, max(1, length // 4)) for length in layout]
    window = [random.randint(2, length // step) for length, step in zip(layout, dilation, strict=True)]
    stride = [random.randint(1, size) for size in window]
    return {"input": layout, "window": window, "stride": stride, "dilation": dilation,
            "causal": [random.random() < 0.3 for _ in layout], "head_dim": 32, "heads": 2, "backend": "flex-fna"}


def error(asked: dict[str, Any]) -> float:
    answer = natten_sim.count(**asked)
    layout = tuple(answer.input.input)
    tensors = [torch.randn(1, *layout, 2, 32) for _ in range(3)]
    output = getattr(natten, natten_sim.natten.function(answer))(*tensors, **natten_sim.natten.kwargs(answer))
    tiles: dict[str, Any] = {"q_tile": answer.input.q_tile, "kv_tile": answer.input.kv_tile, "kv_tiling": "static"}
    names = ("input", "window", "stride", "dilation", "causal")
    mask = natten_sim.flex.plan(**{name: asked[name] for name in names}, **tiles).dense_mask()
    flat = [tensor.reshape(1, math.prod(layout), 2, 32).transpose(1, 2) for tensor in tensors]
    expected = torch.nn.functional.scaled_dot_product_attention(*flat, attn_mask=torch.from_numpy(mask))
    return float((output.reshape(1, -1, 2, 32).transpose(1, 2) - expected).abs().max())


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--problems", type=int, default=40)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    random.seed(arguments.seed)
    torch.manual_seed(arguments.seed)
    warnings.simplefilter("ignore")
    worst = 0.0
    for number in range(arguments.problems):
        asked = question(1 + number % 3)
        off = error(asked)
        assert off < 1e-5, (asked, off)
        worst = max(worst, off)
    print(f"NATTEN {natten.__version__}: {arguments.problems} problems of 1 to 3 axes (seed {arguments.seed}), "
          f"at most {worst:.0e} from dense attention with our mask")


if __name__ == "__main__":
    main()
