#!/usr/bin/env python3
"""Draws deformable-attention workloads that no constant was fitted to, as the suite `msda-blind`.

    python3 scripts/draw_msda.py --seed 20261122
    python3 scripts/freeze_suite.py msda-blind --program natten-sim > data/predictions/h200_msda_blind.json

Images, queries, channels, heads, levels and points are drawn for each point, and so are pass, tiling, type, accumulator,
dispatch order and distribution of the samples. Commit both files before the suite is measured.
"""

import argparse
import json
import math
import os
import random

DATA = os.path.join(os.path.dirname(__file__), "../data")
PATHS = ["red-16"] * 4 + ["fp32-accumulator"] * 2 + ["red-4", "atom", "cas", "scalar", "private"]
ORDERS = ["linear"] * 3 + ["morton", "hilbert", "scanline", "random", "centroid", "kmeans"]
OFFSETS = ["learned"] * 3 + ["image", "gaussian"]
MOST_SAMPLES, LEAST_SAMPLES, MOST_BYTES = 3e6, 3e3, 4e8


def draw(dice):
    while True:
        batch, heads, levels = dice.randint(1, 6), dice.choice([2, 3, 4, 6, 8, 12, 16]), dice.randint(1, 5)
        height, width, points = 64 * dice.randint(4, 20), 64 * dice.randint(4, 20), dice.randint(1, 10)
        dtype = dice.choice(["fp32", "bf16", "fp16"])
        channels = dice.choice([8, 16, 32, 64, 128])
        queries = round(math.exp(dice.uniform(math.log(50), math.log(40000))))
        encoder = dice.random() < 0.2
        strides = [(4 if levels > 4 else 8) << level for level in range(levels)]
        pixels = sum((height // stride) * (width // stride) for stride in strides)
        samples = batch * heads * levels * points * (pixels if encoder else queries)
        size = batch * pixels * heads * channels * 4
        if not LEAST_SAMPLES <= samples <= MOST_SAMPLES or size > MOST_BYTES:
            continue
        end = "enc" if encoder else f"q{queries}"
        return {"kernel": "msda",
                "config": f"B{batch}_{height}x{width}_d{heads * channels}_L{levels}_h{heads}_p{points}_{end}",
                "dtype": dtype, "tiling": dice.choice(["block", "block", "point"]), "order": dice.choice(ORDERS),
                "offsets": dice.choice(OFFSETS)}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--forward", type=int, default=60)
    parser.add_argument("--backward", type=int, default=100)
    arguments = parser.parse_args()
    dice = random.Random(arguments.seed)
    points = []
    for phase, count in (("forward", arguments.forward), ("backward", arguments.backward)):
        for _ in range(count):
            point = draw(dice)
            point["phase"] = phase
            if phase == "backward":
                point["path"] = dice.choice(PATHS)
            points.append(point)
    lines = ",\n    ".join(json.dumps(point) for point in points)
    with open(os.path.join(DATA, "suites/msda-blind.json"), "w") as out:
        out.write('{\n  "schema": "natten-sim.suite/1",\n  "name": "msda-blind",\n  "place": 47,\n  "title": '
                  '"Deformable attention: workloads of their own, predicted before they were measured",\n'
                  '  "counters": ["l1_reduction_sectors", "l1_atomic_sectors", "dram_read_bytes"],\n'
                  f'  "sweeps": [\n    {lines}\n  ],\n  "tolerances": []\n}}\n')


if __name__ == "__main__":
    main()
