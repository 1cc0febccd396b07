#!/usr/bin/env python3
"""Draws scatter-adds that no constant was fitted to, and writes what `natten-sim atomics` predicts for them.

    python3 scripts/freeze_scatter.py --program natten-sim --seed 20261123 --suite scatter-queued --devices h200

Writes a suite (data/suites) and its predictions for each device (data/predictions), to be committed before the cells are
measured by scripts/time_torch_scatter.py --queued. Widths, hot sets, exponents and seeds are others than those of the suites that are
there, but for widths up to 64; updates and rows are drawn anew for each cell. With --cells it writes the file that the
measuring scripts read.
"""

import argparse
import json
import math
import os
import random
import subprocess

DATA = os.path.join(os.path.dirname(__file__), "../data")
HALF = ["bf16", "fp16"]
GROUPS = [("fp32", "uniform", 20), ("half", "uniform", 25), ("fp32", "contended", 30), ("half", "contended", 100)]
MOST_ELEMENTS, MOST_DESTINATION, MOST_NS = 1.5e8, 1e9, 1.5e8
NARROW = 64  # widths up to here are few; they are drawn again
SEEN = ["scatter", "scatter-blind", "scatter-causes", "scatter-queued", "scatter-again", "scatter-third", "scatter-fourth",
        "scatter-fifth"]


def round_number(value):
    digits = 10 ** max(int(math.log10(value)) - 1, 0)
    return max(int(value / digits) * digits, 1)


def log_uniform(dice, low, high):
    return round_number(math.exp(dice.uniform(math.log(low), math.log(high))))


def draw(dice, kind, spread, used):
    """A point of widths and distributions that were not used."""
    while True:
        point = {"kernel": "scatter", "dtype": "fp32" if kind == "fp32" else dice.choice(HALF),
                 "width": 2 * round(math.exp(dice.uniform(math.log(4), math.log(2048)))), "updates": log_uniform(dice, 1000, 2e6),
                 "rows": log_uniform(dice, 300, 1e6), "distribution": "uniform", "seed": dice.randrange(1, 10000),
                 "queued": True, "fitted": False}
        if spread == "contended":
            point["distribution"] = (f"zipf:{dice.uniform(0, 2):.2f}" if dice.random() < 0.5 else
                                     f"hot:{log_uniform(dice, 1, 4096)}")
        hot = point["distribution"].startswith("hot:") and int(point["distribution"][4:])
        elements = point["width"] * point["updates"]
        if (point["width"] > NARROW and point["width"] in used["width"] or point["width"] > 4096 or elements > MOST_ELEMENTS
                or point["width"] * point["rows"] > MOST_DESTINATION or hot * math.ceil(32 / (point["width"] * (4 if kind == "fp32" else 2))) > point["rows"]
                or (hot not in (False, 1) and point["distribution"] in used["distribution"])
                or (not hot and spread == "contended" and point["distribution"] in used["distribution"])):
            continue
        return point


def predicted(program, device, point):
    command = [program, "atomics", "--json", "--quiet", "--device", device]
    for name in ("dtype", "width", "updates", "rows", "distribution", "seed"):
        command += ["--" + name, str(point[name])]
    runs = [json.loads(subprocess.run(command + ["--prior-runs", prior], check=True, capture_output=True, text=True).stdout)
            for prior in ("2", "0")]
    timed, counted = (run["result"] for run in runs)
    interval = timed["calibration"]["interval_ns"]
    return [round(timed["time_ns"] - timed["host_launch_ns"], 1), timed["bound"], counted["sectors"]["red"], counted["sectors"]["atom"],
            timed["path"], timed["calibration"]["kind"], *(round(interval[end] - timed["host_launch_ns"], 1) for end in ("low", "high"))]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--program", required=True)
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--suite", required=True, help="name of the suite that is drawn")
    parser.add_argument("--devices", nargs="+", required=True, help="device profiles to predict for")
    parser.add_argument("--place", type=int, default=48, help="where the suite stands among the others")
    parser.add_argument("--kinds", nargs="+", choices=["fp32", "half"], default=["fp32", "half"], help="groups of cells that are drawn")
    parser.add_argument("--cells", help="where to write the cells for the measuring scripts")
    arguments = parser.parse_args()
    dice = random.Random(arguments.seed)
    sweeps = []
    for name in SEEN:
        with open(os.path.join(DATA, f"suites/{name}.json")) as file:
            sweeps += json.load(file)["sweeps"]
    used = {name: {point[name] for point in sweeps} for name in ("width", "distribution")}
    points, rows = [], {device: [] for device in arguments.devices}
    for kind, spread, count in (group for group in GROUPS if group[0] in arguments.kinds):
        kept = 0
        while kept < count:
            point = draw(dice, kind, spread, used)
            answers = {device: predicted(arguments.program, device, point) for device in arguments.devices}
            if any(answer[0] > MOST_NS for answer in answers.values()):  # minutes of GPU time
                continue
            points.append(point)
            for device, answer in answers.items():
                rows[device].append([*(point[name] for name in ("dtype", "width", "updates", "rows", "distribution", "seed")), *answer])
            kept += 1
    lines = ",\n    ".join(json.dumps(point) for point in points)
    with open(os.path.join(DATA, f"suites/{arguments.suite}.json"), "w") as out:
        out.write(f'{{\n  "schema": "natten-sim.suite/1",\n  "name": "{arguments.suite}",\n  "place": {arguments.place},\n  "title": '
                  '"Scatter-adds at widths, hot sets, exponents and seeds of their own, predicted before they were '
                  f'measured",\n  "counters": [],\n  "sweeps": [\n    {lines}\n  ],\n  "tolerances": []\n}}\n')
    for device, answers in rows.items():
        lines = ",\n  ".join(json.dumps(row) for row in answers)
        with open(os.path.join(DATA, f"predictions/{device}_{arguments.suite.replace('-', '_')}.json"), "w") as out:
            out.write('{"what": "Times of the third of four queued runs, and sectors of the first, of PyTorch\'s scatter_add on '
                      f'an {device.upper()}, predicted before they were measured", "models": "the sweep of data/contention.json", '
                      '"columns": ["dtype", "width", "updates", "rows", "distribution", "seed", "time_ns", "bound", "red_sectors", '
                      f'"atom_sectors", "path", "kind", "least_ns", "most_ns"], "rows": [\n  {lines}]}}\n')
    if arguments.cells:
        with open(arguments.cells, "w") as out:
            for point in points:
                words = [point[name] for name in ("dtype", "width", "updates", "rows", "distribution", "seed")]
                out.write(" ".join(["OPERATOR", *map(str, words)]) + "\n")


if __name__ == "__main__":
    main()
