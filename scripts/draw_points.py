#!/usr/bin/env python3
"""Draws the points of a suite at random: what `natten-sim` predicts for them is committed before anybody measures them.

    python3 scripts/draw_points.py flex-draw --seed 39 > data/suites/flex-draw.json
    python3 scripts/freeze_suite.py flex-draw --program natten-sim > data/predictions/h200_flex_draw.json
    python3 scripts/draw_points.py dense-draw --seed 39 > data/suites/dense-draw.json

flex-draw and flex-draw-again: neighborhoods of one to three axes, some causal, for FlexAttention. dense-draw and
dense-draw-again: dense attention of libraries, full and causal, some with fewer KV heads than heads, after rests and in a
row. One launch in three has one to four heads. No draw is looked at before it is frozen, and none is drawn again.
"""

import argparse
import json
import random

TILES = {1: ["128"], 2: ["8x16", "16x8"], 3: ["4x4x8", "2x8x8"]}
PLACES = {"flex-draw": 73, "dense-draw": 74, "flex-draw-again": 75, "dense-draw-again": 76}
TITLES = {"flex-draw": "FlexAttention on neighborhoods drawn at random: head dims 64 and 128, one head to many",
          "dense-draw": "FlashAttention-2 and cuDNN on sizes drawn at random: full and causal, one head to many",
          "flex-draw-again": "FlexAttention on other neighborhoods drawn at random",
          "dense-draw-again": "FlashAttention-2 and cuDNN on other sizes drawn at random"}


def text(sizes):
    return "x".join(str(size) for size in sizes)


def heads_of(rng):
    return rng.randint(1, 4) if rng.random() < 1 / 3 else rng.choice([6, 8, 10, 12, 16, 20, 24])


def layout_of(rng, axes):
    if axes == 1:
        return [128 * rng.randint(24, 320)]
    if axes == 2:
        return [rng.randint(40, 220), rng.randint(40, 220)]
    return [rng.randint(8, 24), rng.randint(16, 48), rng.randint(16, 48)]


def flex_points(rng):
    for axes in (1, 1, 1, 2, 2, 2, 3, 3, 3):
        for head_dim in (64, 128):
            layout, tile, heads = layout_of(rng, axes), rng.choice(TILES[axes]), heads_of(rng)
            for _ in range(2):  # of one shape, which is compiled once
                window = [max(2, int(length * rng.uniform(0.1, 0.7))) for length in layout]
                stride = [rng.choice([1, 1, rng.randint(1, each)]) for each in window]
                causal = [int(rng.random() < 0.25) for _ in layout]
                yield {"kernel": "flex", "heads": heads, "head_dim": head_dim, "input": text(layout), "window": text(window),
                       "stride": text(stride), "causal": text(causal), "q_tile": tile, "kv_tile": tile,
                       "pass": ["forward", "backward"]}


def dense_points(rng):
    for _ in range(24):
        tokens = rng.choice([rng.randint(256, 4096), 128 * rng.randint(8, 128), 1024 * rng.randint(8, 32)])
        heads, batch = heads_of(rng), rng.choice([1, 1, 2, 4]) if tokens <= 8192 else 1
        fewer = [each for each in (1, 2, 4, 8) if heads % each == 0 and each < heads]
        point = {"kernel": "natten", "runs": ["fa2", "cudnn"], "heads": heads, "batch": batch, "head_dim": rng.choice([64, 128]),
                 "dtype": rng.choice(["bf16", "bf16", "fp16"]), "input": str(tokens), "window": str(tokens),
                 "causal": str(int(rng.random() < 0.5)), "q_tile": "128", "kv_tile": "128", "pass": ["forward", "backward"]}
        if fewer and rng.random() < 0.3:
            point["heads_kv"] = rng.choice(fewer)
        yield point
        yield {**point, "rest_us": 0}  # one launch right behind the other


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("suite", choices=TITLES)
    parser.add_argument("--seed", type=int, required=True)
    arguments = parser.parse_args()
    rng = random.Random(f"{arguments.suite} {arguments.seed}")
    points = flex_points(rng) if arguments.suite.startswith("flex") else dense_points(rng)
    head = {"schema": "natten-sim.suite/1", "name": arguments.suite, "place": PLACES[arguments.suite],
            "title": TITLES[arguments.suite], "counters": []}
    sweeps = ",\n    ".join(json.dumps(point) for point in points)
    print(json.dumps(head, indent=2)[:-2] + ',\n  "sweeps": [\n    ' + sweeps + "\n  ],\n"
          '  "tolerances": [\n    {"counter": "launch_time_ns", "relative": 0.12}\n  ]\n}')


if __name__ == "__main__":
    main()
