#!/usr/bin/env python3
"""Draws scatter-adds that no remedy was timed on, and writes what `natten-sim atomics` predicts for each remedy.

    python3 scripts/freeze_remedies.py --program natten-sim --seed 20261124 --suite remedies-fresh --cells cells.txt

Writes a suite (data/suites) and its predictions (data/predictions), to be committed before `scatter_add_bench steady`
measures the cells. Widths, updates, rows and distributions are others than those of the suite `remedies`. Scalar and
private paths that are predicted to take more than 30 ms are left out: each cell runs 23 times.
"""

import argparse
import json
import math
import os
import random
import subprocess

DATA = os.path.join(os.path.dirname(__file__), "../data")
LOADS, MOST_VALUES, MOST_DESTINATION, MOST_NS = 40, 1e8, 1e8, 3e7
CONSTRUCTS = {"fp32": "cuda-atomicadd-float", "fp16": "cuda-atomicadd-half", "bf16": "cuda-atomicadd-bfloat16"}
REMEDIES = {"scalar": "as-is", "red-4": "packed-x2", "red-16": "vector", "fp32-accumulator": "fp32-accumulator",
            "private": "private-copies-8", "sorted": "sort-pre-reduction"}
RUNS_BEFORE = 13  # three to warm up, and half of twenty
NAMES = ("dtype", "width", "updates", "rows", "distribution")


def log_uniform(dice, low, high):
    return int(round(math.exp(dice.uniform(math.log(low), math.log(high))), -1))


def draw(dice):
    while True:
        kind = dice.choice(["uniform", "zipf", "hot"])
        load = {"dtype": dice.choice(list(CONSTRUCTS)), "width": 8 * max(log_uniform(dice, 20, 2400) // 10, 2),
                "updates": log_uniform(dice, 2000, 500000), "rows": log_uniform(dice, 300, 60000)}
        load["distribution"] = {"uniform": "uniform", "zipf": f"zipf:{dice.uniform(0.3, 1.9):.2f}",
                                "hot": f"hot:{max(log_uniform(dice, 10, 10000) // 10, 1)}"}[kind]
        if (load["width"] not in (64, 256, 1024) and load["width"] * load["updates"] < MOST_VALUES
                and load["width"] * load["rows"] < MOST_DESTINATION
                and load["distribution"] not in ("hot:64", "zipf:0.80", "zipf:1.00", "zipf:1.50")
                and (kind != "hot" or int(load["distribution"][4:]) <= load["rows"])):
            return load


def predicted(program, load):
    command = [program, "atomics", "--json", "--quiet", "--no-conclusion", "--device", "h200", "--construct",
               CONSTRUCTS[load["dtype"]], "--prior-runs", str(RUNS_BEFORE)]
    for name in NAMES:
        command += ["--" + name, str(load[name])]
    result = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)["result"]
    return {each["name"]: round(each["time_ns"] - result["host_launch_ns"], 1) for each in result["remedies"]}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--program", required=True)
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--suite", required=True, help="name of the suite that is drawn")
    parser.add_argument("--cells", required=True, help="where to write the cells for scatter_add_bench")
    arguments = parser.parse_args()
    dice = random.Random(arguments.seed)
    points, rows, cells = [], [], []
    for _ in range(LOADS):
        load = draw(dice)
        times = predicted(arguments.program, load)
        for path, remedy in REMEDIES.items():
            if remedy not in times or (path in ("scalar", "private") and times[remedy] > MOST_NS):
                continue
            points.append({"kernel": "remedy", "path": path, **load})
            rows.append([path, *load.values(), times[remedy]])
            cells.append(" ".join([path, "row", *map(str, load.values())]))
    lines = ",\n    ".join(json.dumps(point) for point in points)
    with open(os.path.join(DATA, f"suites/{arguments.suite}.json"), "w") as out:
        out.write(f'{{\n  "schema": "natten-sim.suite/1",\n  "name": "{arguments.suite}",\n  "place": 48,\n  "title": '
                  '"Remedies on loads of their own, predicted before they were measured",\n'
                  f'  "counters": [],\n  "sweeps": [\n    {lines}\n  ],\n  "tolerances": []\n}}\n')
    lines = ",\n  ".join(json.dumps(row) for row in rows)
    with open(os.path.join(DATA, f"predictions/h200_{arguments.suite.replace('-', '_')}.json"), "w") as out:
        out.write('{"what": "Times of this project\'s scatter-adds on an H200, by path, predicted before they were measured", '
                  '"models": "the sweep of data/contention.json and its remedies", "columns": ["path", "dtype", "width", '
                  f'"updates", "rows", "distribution", "time_ns"], "rows": [\n  {lines}]}}\n')
    with open(arguments.cells, "w") as out:
        out.write("\n".join(cells) + "\n")


if __name__ == "__main__":
    main()
