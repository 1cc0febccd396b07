"""A window for each head of a video model, by how far the head looks.

Attention is made up here: it fades with the distance, in each head at its own rate. Tables of a real model come from
`natten_sim.recall.record(query, key, layout)`, called where its attention is.
"""

from __future__ import annotations

import natten_sim
import numpy as np
from natten_sim import recall

LAYOUT = (30, 48, 80)  # Hunyuan Video
HEADS = 24


def made_up(layers: int) -> recall.Separable:
    """Distances at which attention has faded to 1/e: 1 to 12 tokens."""
    reach = np.geomspace(1, 12, layers * HEADS).reshape(layers, HEADS, 1)
    return recall.Separable(tuple(np.exp(-np.abs(np.arange(1 - length, length)) / reach) for length in LAYOUT))


def fast_windows() -> list[recall.Candidate]:
    """The five fastest windows for every amount of context."""
    found = []
    for sparsity in (0.98, 0.96, 0.93, 0.9, 0.86, 0.8, 0.7, 0.6, 0.5):
        answer = natten_sim.search(preset="hunyuan-video", device="h200", sparsity=(0, sparsity), top=5)
        found += recall.candidates(answer)
    return found


def main() -> None:
    table, windows = made_up(layers=2), fast_windows()
    print("budget    per layer  per head")
    for budget_ms in (40, 80, 120, 200):
        layer, head = (recall.choose(table, LAYOUT, windows, budget_ms=budget_ms, per=per) for per in ("layer", "head"))
        print(f"{budget_ms:3} ms {layer.recall:13.1%} {head.recall:9.1%}")
    choice = recall.choose(table, LAYOUT, windows, least_recall=0.9)
    print(f"\n{choice.recall:.1%} of the attention in {choice.ms:.0f} ms:")
    for launch in choice.launches:
        one = launch.candidate
        print(f"layer {launch.layer}, {len(launch.heads):2} of {HEADS} heads: window {one.window}, stride {one.stride}, "
              f"keeps {launch.recall:.1%}")


if __name__ == "__main__":
    main()
