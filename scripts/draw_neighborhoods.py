#!/usr/bin/env python3
"""Writes the suite `second-gpu-gna`: published windows and strides, and random neighborhoods that no other suite has.

    python3 scripts/draw_neighborhoods.py --seed 20261126 > data/suites/second-gpu-gna.json

The scores of its tolerances were added once it was measured (scripts/store_scores.py). Layouts of one to three axes; windows of .1 to .9 of an axis; strides of 1, of any size up to the window, or of whole KV
tiles; some dilated, causal, with fewer KV heads, or dispatched statically. A problem is kept if its products alone take
0.3 to 30 ms at 1.35 us a pair of tiles and SM.
"""

import argparse
import json
import math
import random

from freeze_beside import TABLES, text

TILES = {1: [[128]], 2: [[16, 8], [8, 16]], 3: [[4, 4, 8], [2, 8, 8], [8, 4, 4]]}
LENGTHS = {1: [(8192, 65536)], 2: [(48, 300)] * 2, 3: [(8, 40), (16, 80), (16, 96)]}
TILE_US, SMS = 1.35, 132


def draw(generator):
    while True:
        rank = generator.choices([1, 2, 3], [15, 40, 45])[0]
        length = [generator.randint(*bounds) for bounds in LENGTHS[rank]]
        window = [max(2, round(size * generator.uniform(.1, .9))) for size in length]
        tile = generator.choice(TILES[rank])
        kind = generator.random()
        if kind < .45:
            stride = [1] * rank
        elif kind < .75:
            stride = [generator.randint(1, size) for size in window]
        else:
            stride = [min(side * generator.randint(1, 3), size) for side, size in zip(tile, window)]
        dilation = [1] * rank
        if generator.random() < .12:
            dilation = [generator.randint(1, min(4, length[axis] // window[axis])) for axis in range(rank)]
        causal = [0] * rank
        if generator.random() < .2:
            causal[generator.randrange(rank)] = 1
        heads = generator.choice([4, 8, 12, 16, 24])
        heads_kv = heads // 4 if generator.random() < .15 else heads
        static = generator.random() < .1
        pairs = math.prod(length) * math.prod(window) / 128 ** 2 * heads
        if not .3 <= pairs * TILE_US / SMS / 1000 <= 30:
            continue
        point = {"kernel": "gna", "heads": heads, "input": text(length), "window": text(window), "stride": text(stride),
                 "q_tile": text(tile), "kv_tile": text(tile)}
        if heads_kv != heads:
            point["heads_kv"] = heads_kv
        if max(dilation) > 1:
            point["dilation"] = text(dilation)
        if max(causal):
            point["causal"] = text(causal)
        if static:
            point["dispatch"] = "static"
        return point


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--count", type=int, default=60)
    arguments = parser.parse_args()
    generator = random.Random(arguments.seed)
    published = [{"kernel": "gna", **table, "kv_tile": table["q_tile"]} for table in TABLES]
    sweeps = published + [draw(generator) for _ in range(arguments.count)]
    print('{\n  "schema": "natten-sim.suite/1",\n  "name": "second-gpu-gna",\n  "place": 34,\n'
          '  "title": "Neighborhood attention forward on an H100: published windows, and random problems measured nowhere before",\n'
          '  "counters": ["dram_read_bytes", "l2_tex_sectors", "l2_read_sectors", "l2_fabric_sectors"],\n  "sweeps": [')
    print(",\n".join("    " + json.dumps(sweep) for sweep in sweeps))
    print('  ],\n  "tolerances": [\n    {"counter": "l2_read_sectors", "relative": 0.01},\n'
          '    {"counter": "launch_time_ns", "relative": 0.1},\n'
          '    {"counter": "dram_read_bytes", "model": "timed", "relative": 0.25},\n'
          '    {"counter": "dram_read_bytes", "model": "every operand", "relative": 0.1}\n  ]\n}')


if __name__ == "__main__":
    main()
