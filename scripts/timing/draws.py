"""A suite of points drawn at random, for `natten-sim validate NAME --freeze` before anybody measures them.

No draw is looked at before it is frozen, and none is drawn again.
"""

from __future__ import annotations

import argparse
import json
import math
import random
from collections.abc import Iterator
from typing import Any

from suite_points import DATA

TILES = {1: ["128"], 2: ["8x16", "16x8"], 3: ["4x4x8", "2x8x8"]}
#: The range of tokens, or of each axis.
USUAL = {1: (3072, 40960), 2: (40, 220), 3: (8, 48)}
SHORT = {1: (256, 4096), 2: (16, 80), 3: (4, 24)}
LONG = {1: (24576, 131072), 2: (128, 384), 3: (24, 72)}


def text(numbers: Any) -> str:
    return "x".join(map(str, numbers))


#: What launches of --long take at 500 TFLOP/s.
LONG_SECONDS = (0.02, 0.1)


def seconds_of(point: dict[str, Any]) -> float:
    """What a launch's windows take at 500 TFLOP/s, as if no axis were causal."""
    pairs = math.prod(int(length) for name in ("input", "window") for length in point[name].split("x"))
    return float((4 if point["pass"] == "forward" else 10) * point["heads"] * point["head_dim"] * pairs / 5e14)


def heads_of(rng: random.Random) -> int:
    return rng.randint(1, 4) if rng.random() < 1 / 3 else rng.choice([6, 8, 10, 12, 16, 20, 24])


def neighborhood(rng: random.Random, axes: int, ranges: dict[int, tuple[int, int]]) -> dict[str, str]:
    layout = [rng.randint(*ranges[axes]) for _ in range(axes)]
    window = [max(2, int(length * rng.uniform(0.1, 0.7))) for length in layout]
    stride = [rng.choice([1, 1, rng.randint(1, each)]) for each in window]
    return {"input": text(layout), "window": text(window), "stride": text(stride),
            "causal": text([int(rng.random() < 0.25)] + [0] * (axes - 1))}


def tiles_of(rng: random.Random, kernel: str, axes: int, way: str, causal: bool, head_dim: int) -> dict[str, str]:
    """One of the kernel's, where it has tables of its tiles; every size of tiles as often as another. Of tables by head
    dim one as large as the first, which is the default."""
    tables = json.loads((DATA / "backends.json").read_text(encoding="utf-8"))["backends"].get(kernel, {})
    if way + "_by_gemm" in tables:
        by_size = tables[way + "_by_gemm"]
        pair = rng.choice(by_size["64x64" if causal else rng.choice(list(by_size))][f"{axes}d"])
    elif way in tables:
        pairs = tables[way][f"{axes}d"][f"head_dim_{head_dim}"]
        pair = rng.choice([each for each in pairs if math.prod(each["q_tile"]) == math.prod(pairs[0]["q_tile"])])
    else:
        tile = rng.choice(TILES[axes])
        return {"q_tile": tile, "kv_tile": tile}
    return {"q_tile": text(pair["q_tile"]), "kv_tile": text(pair["kv_tile"])}


def points(rng: random.Random, arguments: argparse.Namespace) -> Iterator[dict[str, Any]]:
    for kernel in arguments.kernels:
        for _ in range(arguments.points):
            way, head_dim = rng.choice(["forward", "backward"]), rng.choice(arguments.head_dims)
            heads = rng.randint(1, 4) if arguments.short else heads_of(rng)
            tokens = rng.randint(128, 4096) if arguments.short else 128 * rng.randint(8, 256)
            head = {"heads": heads, "head_dim": head_dim}
            if arguments.what == "reads":
                yield {"kernel": "sdpa", "implementation": kernel, **head,
                       "tokens": 128 * round(160 * 9.6 ** rng.random()), "causal": True}
            elif arguments.what == "schedules":
                yield {"kernel": "flash_attention_backward", "implementation": kernel, **head, "tokens": tokens,
                       "batch": rng.choice([1, 2, 4]) if tokens <= 8192 else 1, "mask": rng.choice(["full", "causal"]),
                       "mode": ["unordered", "deterministic"]}
            elif arguments.what == "dense":
                q_tile = "64" if kernel == "hopper-fmha" and (way == "backward" or head_dim < 128) else "128"
                yield {"kernel": "natten", "runs": kernel, **head, "dtype": rng.choice(["bf16", "bf16", "fp16"]),
                       "input": str(tokens), "window": str(tokens), "causal": str(rng.randint(0, 1)),
                       "q_tile": q_tile, "kv_tile": "128", "pass": way, **({"rest_us": 0} if arguments.back_to_back else {})}
            else:
                axes = rng.choice([1, 2, 2, 3, 3])
                drawn = neighborhood(rng, axes, SHORT if arguments.short else USUAL)
                while arguments.long and not LONG_SECONDS[0] < seconds_of({**head, **drawn, "pass": way}) < LONG_SECONDS[1]:
                    drawn, head["heads"] = neighborhood(rng, axes, LONG), rng.choice([4, 8, 16, 24, 32])
                runs = {"kernel": "flex"} if kernel == "flexattention" else {"kernel": "natten", "runs": kernel}
                tiles = tiles_of(rng, kernel, axes, way, drawn["causal"].startswith("1"), head_dim)
                yield {**runs, **head, **drawn, **tiles, "pass": way}


def suite_text(arguments: argparse.Namespace) -> str:
    rng = random.Random(f"{arguments.name} {arguments.seed}")
    reads = arguments.what == "reads"
    head = {"schema": "natten-sim.suite/1", "name": arguments.name, "place": arguments.place,
            "title": arguments.title or f"{', '.join(arguments.kernels)}: {arguments.what} drawn at random",
            "counters": ["dram_read_bytes", "l2_read_sectors"] if reads else [], **({"timed": False} if reads else {})}
    judged: dict[str, Any] = {"counter": "launch_time_ns", "relative": 0.12}
    if reads:
        judged = {"counter": "dram_read_bytes", "model": "timed", "relative": 0.25}
    sweeps = ",\n    ".join(json.dumps(point) for point in points(rng, arguments))
    return (json.dumps(head, indent=2)[:-2] + ',\n  "sweeps": [\n    ' + sweeps + '\n  ],\n  "tolerances": [\n    '
            + json.dumps(judged) + "\n  ]\n}")


def draw(arguments: argparse.Namespace) -> None:
    print(suite_text(arguments))
