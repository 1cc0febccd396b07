"""A window for each head of a video model, by how far the head looks.

Attention is made up here: it fades with the distance, in each head at its own rate. Tables of a real model come from
`natten_sim.recall.record(query, key, layout)`, called where its attention is.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import natten_sim
import numpy as np

LAYOUT = (30, 48, 80)  # Hunyuan Video
HEADS = 24


def made_up(layers: int) -> np.ndarray:
    """Factors of the axes. Attention has faded to 1/e at distances of 1 to 12 tokens."""
    reach = np.geomspace(1, 12, layers * HEADS).reshape(layers, HEADS, 1)
    return np.concatenate([np.exp(-np.abs(np.arange(1 - length, length)) / reach) for length in LAYOUT], axis=-1)


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        table = str(Path(folder) / "attention.npy")
        np.save(table, made_up(layers=2))
        print("budget    per layer  per head")
        for budget_ms in (40, 80, 120):
            layer, head = (natten_sim.search(preset="hunyuan-video", device="h200", recall=table, budget_ms=budget_ms,
                                             recall_per=per).to_dict()["result"]["recall"] for per in ("layer", "head"))
            print(f"{budget_ms:3} ms {layer['recall']:13.1%} {head['recall']:9.1%}")


if __name__ == "__main__":
    main()
