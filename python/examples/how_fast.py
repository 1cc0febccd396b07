"""How long answers take here: processor time of one core, so that other programs disturb little.

    python how_fast.py [--repeat 5]
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any, Literal

import natten_sim
import numpy as np


def seconds(function: Callable[[], object], times: int, repeat: int) -> float:
    """Least processor time of a call."""
    best = float("inf")
    for _ in range(repeat):
        begin = time.process_time()
        for _ in range(times):
            function()
        best = min(best, (time.process_time() - begin) / times)
    return best


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--repeat", type=int, default=5)
    repeat = parser.parse_args().repeat

    def count() -> natten_sim.Count:
        return natten_sim.count(input=(30, 48, 80), window=(18, 24, 24), q_tile=(4, 8, 8), kv_tile=(2, 8, 8))

    count()  # the catalog is read once
    print(f"count                 {1e6 * seconds(count, 2000, repeat):6.2f} us")
    random = np.random.default_rng(2)
    sizes = random.integers(2, 30, (2000, 3)).tolist()
    for name, layouts in (("windows", [[30, 48, 80]] * 2000), ("layouts", random.integers(100, 400, (2000, 3)).tolist())):
        asked: list[dict[str, Any]] = [{"input": tuple(layout), "window": tuple(window), "q_tile": (4, 8, 8), "kv_tile": (2, 8, 8)}
                                       for layout, window in zip(layouts, sizes, strict=True)]

        def count_all() -> None:
            for keywords in asked:  # noqa: B023
                natten_sim.count(**keywords)

        print(f"count, 2,000 {name}  {1e6 * seconds(count_all, 1, repeat) / 2000:6.2f} us")
    print(f"count, one member     {1e6 * seconds(lambda: count().speedup_mean, 1000, repeat):6.2f} us")

    grid = np.stack(np.meshgrid(*map(np.arange, (29, 47, 79)), indexing="ij"), -1).reshape(-1, 3) + 2
    many = seconds(lambda: natten_sim.count_many(input=(30, 48, 80), window=grid, q_tile=(4, 8, 8), kv_tile=(2, 8, 8),
                                                 threads=1), 1, repeat)
    print(f"count_many, a grid    {1e-6 * len(grid) / many:6.2f} million/s, {len(grid):,} windows")

    random = np.random.default_rng(1)
    inputs = random.integers(20, 400, (50_000, 3))
    windows = np.minimum(inputs, random.integers(2, 100, inputs.shape))
    strides = np.minimum(random.integers(1, 9, inputs.shape), windows)
    many = seconds(lambda: natten_sim.count_many(input=inputs, window=windows, stride=strides, q_tile=(4, 8, 8),
                                                 kv_tile=(2, 8, 8), threads=1), 1, repeat)
    print(f"count_many, at random {1e-6 * len(inputs) / many:6.2f} million/s, {len(inputs):,} problems")

    random = np.random.default_rng(3)
    windows = np.stack([random.integers(2, length + 1, 200_000) for length in (30, 48, 80)], axis=1)
    strides = random.integers(1, windows + 1)
    problem: dict[str, Any] = {"device": "h200", "input": (30, 48, 80), "heads": 24, "head_dim": 128}
    for kernel, tiles in (("hopper-fna", ((4, 4, 8), (4, 4, 8))), ("flexattention", ((4, 4, 8), (4, 4, 8))),
                          ("cutlass-fna", ((4, 4, 4), (4, 4, 8)))):
        counts: list[tuple[Literal["bounded", "simulated"], int]] = [("bounded", 200_000), ("simulated", 1000)]
        for waves, rows in counts:
            if (kernel, waves) == ("cutlass-fna", "simulated"):  # has the same closed form
                continue
            many = seconds(lambda: natten_sim.time_many(kernel=kernel, window=windows[:rows], stride=strides[:rows],  # noqa: B023
                                                        q_tile=tiles[0], kv_tile=tiles[1], waves=waves, threads=1,  # noqa: B023
                                                        **problem), 1, repeat)
            print(f"time_many, {kernel:13} {waves:9} {rows / many:9,.0f} /s")

    for name, layout, window in (("8,192 tokens", (8, 32, 32), (4, 16, 16)), ("32,768 tokens", (16, 32, 64), (8, 16, 32)),
                                 ("115,200 tokens", (30, 48, 80), (18, 24, 24))):
        took = seconds(lambda: natten_sim.flex.plan(input=layout, window=window, q_tile=(2, 8, 8), kv_tile=(2, 8, 8)),  # noqa: B023
                       1, repeat)
        print(f"flex.plan, {name:14} {1e3 * took:6.2f} ms")


if __name__ == "__main__":
    main()
