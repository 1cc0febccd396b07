#!/usr/bin/env python3
"""Draws the points of a suite at random: what `natten-sim` predicts for them is committed before anybody measures them.

    python3 scripts/draw_points.py flex-draw --seed 39 > data/suites/flex-draw.json
    python3 scripts/freeze_suite.py flex-draw --program natten-sim > data/predictions/h200_flex_draw.json
    python3 scripts/draw_points.py dense-draw --seed 39 > data/suites/dense-draw.json
    python3 scripts/draw_points.py cutlass-draw --seed 41 > data/suites/cutlass-draw.json
    python3 scripts/draw_points.py cutlass-draw-again --seed 42 > data/suites/cutlass-draw-again.json
    python3 scripts/draw_points.py short-draw --seed 44 > data/suites/short-draw.json
    python3 scripts/freeze_times.py data/suites/short-draw.json --program natten-sim > data/predictions/h200_short_draw.json

flex-draw and flex-draw-again: neighborhoods of one to three axes, some causal, for FlexAttention. dense-draw and
dense-draw-again: dense attention of libraries, full and causal, some with fewer KV heads than heads, after rests and in a
row. cutlass-draw and cutlass-draw-again: neighborhoods with any tiles of cutlass-fna, some dilated or causal, and dense
attention by cutlass-fmha; again: any tiles under causal masks too, some fp16, and both passes of cutlass-fmha; third and
fourth: one launch in four is short. short-draw and short-draw-again: one to four heads of short sequences and small
layouts, for FlashAttention-2, cuDNN, FlexAttention and hopper-fna. reads-draw: what FlashAttention-2 and cuDNN read under
causal masks. schedules-draw: backward passes of FlashAttention-2 and cuDNN, deterministic and not.
In other draws one launch in three has one to four heads. No draw is looked at before it is frozen, none is drawn again.
"""

import argparse
import json
import os
import random

TILES = {1: ["128"], 2: ["8x16", "16x8"], 3: ["4x4x8", "2x8x8"]}
PLACES = {"flex-draw": 73, "dense-draw": 74, "flex-draw-again": 75, "dense-draw-again": 76,
          "cutlass-draw": 82, "cutlass-draw-again": 84, "cutlass-draw-third": 85, "short-draw": 86, "reads-draw": 87,
          "schedules-draw": 88, "cutlass-draw-fourth": 91, "short-draw-again": 92}
TITLES = {"flex-draw": "FlexAttention on neighborhoods drawn at random: head dims 64 and 128, one head to many",
          "dense-draw": "FlashAttention-2 and cuDNN on sizes drawn at random: full and causal, one head to many",
          "flex-draw-again": "FlexAttention on other neighborhoods drawn at random",
          "dense-draw-again": "FlashAttention-2 and cuDNN on other sizes drawn at random",
          "cutlass-draw": "cutlass-fna and cutlass-fmha: windows of models, and neighborhoods drawn at random",
          "cutlass-draw-again": "cutlass-fna and cutlass-fmha: other neighborhoods and sizes drawn at random",
          "cutlass-draw-third": "cutlass-fna and cutlass-fmha: a third draw of neighborhoods and sizes, some of them short",
          "short-draw": "Short launches drawn at random: one to four heads, by FlashAttention-2, cuDNN, FlexAttention and hopper-fna",
          "cutlass-draw-fourth": "cutlass-fna and cutlass-fmha: a fourth draw, as the third one",
          "short-draw-again": "Other short launches drawn at random, as short-draw",
          "reads-draw": "What FlashAttention-2 and cuDNN read under causal masks, lengths and heads drawn at random",
          "schedules-draw": "Backward passes of FlashAttention-2 and cuDNN drawn at random, deterministic and not"}
#: Of models: heads, layout, window, strides.
MODELS = [(24, "30x48x80", "18x24x24", ["1x1x1", "16x8x8"]), (24, "256x256", "80x80", ["1x1", "16x16"]),
          (12, "16x44x80", "16x24x16", ["1x1x1", "1x8x16"]), (16, "56x56", "7x7", ["1x1"]), (8, "32768", "2048", ["1", "256"])]


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


def cutlass_tiles(rng, axes, way, gemms):
    """A tile pair of one of the kernels: all kernels as often as each other, whatever number of shapes they have."""
    with open(os.path.join(os.path.dirname(__file__), "../data/backends.json"), encoding="utf-8") as file:
        tables = json.load(file)["backends"]["cutlass-fna"][way + "_by_gemm"]
    pair = rng.choice(tables[rng.choice(gemms)][f"{axes}d"])
    return {"q_tile": text(pair["q_tile"]), "kv_tile": text(pair["kv_tile"])}


def cutlass_neighborhood(rng, axes):
    layout = layout_of(rng, axes)
    window = [max(2, int(length * rng.uniform(0.1, 0.7))) for length in layout]
    point = {"input": text(layout), "window": text(window), "stride": text(rng.choice([1, 1, rng.randint(1, each)]) for each in window)}
    kind = rng.random()
    if kind < 0.2:  # kernels that are causal on the first axis, of 64x64 tokens
        point["causal"] = text([1] + [0] * (axes - 1))
    elif kind < 0.4:
        dilation = [rng.randint(1, min(4, length // each)) for length, each in zip(layout, window)]
        point["dilation"] = text(dilation)
    return point


def cutlass_points(rng):
    kernels = {"forward": ["64x64", "64x128", "32x128"], "backward": ["64x64", "128x128"]}
    for way, gemms in kernels.items():
        for head_dim in (32, 64, 128):
            head = {"kernel": "natten", "runs": "cutlass-fna", "head_dim": head_dim, "pass": way}
            for heads, layout, window, strides in MODELS:
                tiles = cutlass_tiles(rng, layout.count("x") + 1, way, gemms)
                yield {**head, "heads": heads if way == "forward" else heads // 2, "input": layout, "window": window, "stride": strides, **tiles}
            for axes in (1, 1, 2, 2, 2, 2, 3, 3, 3, 3):
                neighborhood = cutlass_neighborhood(rng, axes)
                tiles = cutlass_tiles(rng, axes, way, ["64x64"] if "causal" in neighborhood else gemms)
                row = {"rest_us": 400} if rng.random() < 0.1 else {}
                yield {**head, "heads": heads_of(rng), **neighborhood, **tiles, **row}
    for head_dim in (32, 64, 128):
        for _ in range(5):
            tokens = str(rng.choice([rng.randint(256, 4096), 128 * rng.randint(8, 128)]))
            yield {"kernel": "natten", "runs": "cutlass-fmha", "head_dim": head_dim, "heads": heads_of(rng), "input": tokens, "window": tokens,
                   "causal": str(int(rng.random() < 0.5)), "q_tile": "64", "kv_tile": "64", "pass": "forward"}


def cutlass_points_again(rng):
    kernels = {"forward": ["64x64", "64x128", "32x128"], "backward": ["64x64", "128x128"]}
    for way, gemms in kernels.items():
        for head_dim in (32, 64, 128):
            for axes in (1, 1, 1, 1, 2, 2, 2, 2, 2, 2, 2, 2, 3, 3, 3, 3, 3, 3):
                point = {"kernel": "natten", "runs": "cutlass-fna", "head_dim": head_dim, "pass": way, "heads": heads_of(rng),
                         **cutlass_neighborhood(rng, axes), **cutlass_tiles(rng, axes, way, gemms)}
                if axes == 2 and "causal" not in point and rng.random() < 0.3:
                    point["dtype"] = "fp16"
                if rng.random() < 0.1:
                    point["rest_us"] = 400
                yield point
            for _ in range(3):
                tokens = str(rng.choice([rng.randint(256, 4096), 128 * rng.randint(8, 128)]))
                yield {"kernel": "natten", "runs": "cutlass-fmha", "head_dim": head_dim, "pass": way, "heads": heads_of(rng), "input": tokens,
                       "window": tokens, "causal": str(int(rng.random() < 0.5)), "q_tile": "64", "kv_tile": "64"}


def small_layout(rng, axes):
    if axes == 1:
        return [rng.randint(256, 4096)]
    return [rng.randint(16, 80), rng.randint(16, 80)] if axes == 2 else [rng.randint(4, 12), rng.randint(8, 24), rng.randint(8, 24)]


def windows_of(rng, layout):
    window = [max(2, int(length * rng.uniform(0.1, 0.7))) for length in layout]
    return {"input": text(layout), "window": text(window), "stride": text(rng.choice([1, 1, rng.randint(1, each)]) for each in window)}


def cutlass_points_third(rng):
    kernels = {"forward": ["64x64", "64x128", "32x128"], "backward": ["64x64", "128x128"]}
    for way, gemms in kernels.items():
        for head_dim in (32, 64, 128):
            for axes in (1, 1, 1, 1, 2, 2, 2, 2, 2, 2, 2, 3, 3, 3, 3, 3, 3, 3):
                short = rng.random() < 0.25
                neighborhood = windows_of(rng, small_layout(rng, axes)) if short else cutlass_neighborhood(rng, axes)
                point = {"kernel": "natten", "runs": "cutlass-fna", "head_dim": head_dim, "pass": way,
                         "heads": rng.randint(1, 4) if short else heads_of(rng), **neighborhood, **cutlass_tiles(rng, axes, way, gemms)}
                yield {**point, "rest_us": 400} if rng.random() < 0.1 else point
            for _ in range(4):
                tokens = str(rng.choice([rng.randint(256, 4096), 128 * rng.randint(8, 128)]))
                yield {"kernel": "natten", "runs": "cutlass-fmha", "head_dim": head_dim, "pass": way, "heads": heads_of(rng), "input": tokens,
                       "window": tokens, "causal": str(int(rng.random() < 0.5)), "q_tile": "64", "kv_tile": "64"}


def short_points(rng):
    for _ in range(20):
        tokens = str(rng.randint(128, 4096))
        yield {"kernel": "natten", "runs": ["fa2", "cudnn"], "heads": rng.randint(1, 4), "head_dim": rng.choice([64, 128]),
               "dtype": rng.choice(["bf16", "bf16", "fp16"]), "input": tokens, "window": tokens, "causal": str(int(rng.random() < 0.5)),
               "q_tile": "128", "kv_tile": "128", "pass": ["forward", "backward"]}
    for axes in (1, 2, 3):
        for head_dim in (64, 128, 64, 128):
            tile = rng.choice(TILES[axes])
            yield {"kernel": "flex", "heads": rng.randint(1, 4), "head_dim": head_dim, **windows_of(rng, small_layout(rng, axes)),
                   "q_tile": tile, "kv_tile": tile, "pass": ["forward", "backward"]}
    tiles = {32: ["64", "8x8", "4x4x4"], 64: ["64", "8x8", "4x4x4"], 128: ["128", "16x8", "4x4x8"]}
    for head_dim in (32, 64, 128):
        for axes in (1, 1, 1, 2, 2, 2, 3, 3, 3):
            yield {"kernel": "natten", "runs": "hopper-fna", "heads": rng.randint(1, 4), "head_dim": head_dim,
                   **windows_of(rng, small_layout(rng, axes)), "q_tile": tiles[head_dim][axes - 1],
                   "kv_tile": ["128", "16x8", "4x4x8"][axes - 1], "pass": "forward"}


def read_points(rng):
    for head_dim in (64, 128):
        for _ in range(13):
            yield {"kernel": "sdpa", "implementation": ["fa2", "cudnn"], "heads": rng.choice([1, 1, 2, 3, 4]), "head_dim": head_dim,
                   "tokens": 128 * round(160 * 9.6 ** rng.random()), "causal": True}


def schedule_points(rng):
    for head_dim in (64, 128):
        for _ in range(14):
            tokens = rng.choice([rng.randint(256, 4096), 128 * rng.randint(8, 64), 1024 * rng.randint(8, 20)])
            yield {"kernel": "flash_attention_backward", "implementation": ["fa2", "cudnn"], "head_dim": head_dim,
                   "heads": rng.choice([4, 8, 12, 16, 24, 32]), "tokens": tokens, "batch": rng.choice([1, 2, 4]) if tokens <= 8192 else 1,
                   "mask": rng.choice(["full", "causal"]), "mode": ["unordered", "deterministic"]}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("suite", choices=TITLES)
    parser.add_argument("--seed", type=int, required=True)
    arguments = parser.parse_args()
    rng = random.Random(f"{arguments.suite} {arguments.seed}")
    draws = {"flex": flex_points, "dense": dense_points, "cutlass": cutlass_points, "cutlass-draw-again": cutlass_points_again,
             "cutlass-draw-third": cutlass_points_third, "cutlass-draw-fourth": cutlass_points_third,
             "short": short_points, "reads": read_points, "schedules": schedule_points}
    points = (draws.get(arguments.suite) or draws[arguments.suite.split("-")[0]])(rng)
    counters = ["dram_read_bytes", "l2_read_sectors"] if arguments.suite == "reads-draw" else []
    head = {"schema": "natten-sim.suite/1", "name": arguments.suite, "place": PLACES[arguments.suite],
            "title": TITLES[arguments.suite], "counters": counters}
    judged = '{"counter": "launch_time_ns", "relative": 0.12}'
    if counters:
        head["timed"] = False
        judged = ('{"counter": "l2_read_sectors", "relative": 0.01},\n    '
                  '{"counter": "dram_read_bytes", "model": "timed", "group": "fa2", "relative": 0.25},\n    '
                  '{"counter": "dram_read_bytes", "model": "timed", "group": "cudnn", "relative": 0.25}')
    sweeps = ",\n    ".join(json.dumps(point) for point in points)
    print(json.dumps(head, indent=2)[:-2] + ',\n  "sweeps": [\n    ' + sweeps + "\n  ],\n"
          '  "tolerances": [\n    ' + judged + "\n  ]\n}")


if __name__ == "__main__":
    main()
