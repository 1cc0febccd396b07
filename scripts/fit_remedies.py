#!/usr/bin/env python3
"""Fits what remedies cost on the H200 (data/contention.json, "remedies" of its sweep) to the recording `remedies`.

    python3 scripts/fit_remedies.py --program natten-sim

Least squares on relative errors. Sorting: its launches, a time for each update, for each 32 elements that are summed or
written, and for each 64 updates of the hottest row. Copies: what zeroing and adding up take is the time of private copies
(of the fp32 accumulator) less that of the scalar path (of fp32 reductions) on the same uniform rows; launches and a rate
for 16 bits and one for fp32 are left. Loops: times of the scalar path over those of PyTorch's scatter_add on the same
contended rows in one run (`scatter-beside`), from which the rows in flight follow by the exponent of the retries.
Prints the constants and how far each part is off.
"""

import argparse
import json
import os
import statistics
import subprocess

import numpy as np

DATA = os.path.join(os.path.dirname(__file__), "../data")
WARP, BLOCK = 32, 64
NAMES = ("dtype", "width", "updates", "rows", "distribution")


def collisions(program, point, kept={}):
    words = tuple(str(point[name]) for name in NAMES)
    if words not in kept:
        command = [program, "atomics", "--json", "--quiet", "--no-conclusion"]
        command += [word for pair in zip(("--" + name for name in NAMES), words) for word in pair]
        run = subprocess.run(command, check=True, capture_output=True, text=True)
        kept[words] = json.loads(run.stdout)["result"]
    return kept[words]


def relative_fit(columns, times):
    """Coefficients of the columns, and how far they are off."""
    scaled = np.array(columns) / np.array(times)[:, None]
    constants = np.linalg.lstsq(scaled, np.ones(len(times)), rcond=None)[0]
    off = scaled @ constants
    return constants, np.maximum(off, 1 / off)


def sorting(program, times):
    columns, measured = [], []
    for (path, *words), ns in times.items():
        if path != "sorted":
            continue
        point = dict(zip(NAMES, words))
        known = collisions(program, point)
        warps = point["width"] / WARP
        columns.append([1, point["updates"], point["updates"] * warps, known["rows_touched"] * warps,
                        max(known["max_multiplicity"] / BLOCK - 1, 0)])
        measured.append(ns)
    return relative_fit(columns, measured)


def copying(times):
    """Bytes that are zeroed and added up, and their time."""
    columns, measured = [], []
    for (path, *words), ns in times.items():
        point = dict(zip(NAMES, words))
        elements = point["rows"] * point["width"]
        if point["distribution"] != "uniform" or path not in ("private", "fp32-accumulator"):
            continue
        if path == "private":
            without = times.get(("scalar", *words))
            nbytes = elements * 18 * (4 if point["dtype"] == "fp32" else 2)
        else:
            without = times.get(("red-16", "fp32", *words[1:]))
            nbytes = elements * 12
        if without is None:
            continue
        half = point["dtype"] != "fp32"
        columns.append([2, nbytes if half else 0, 0 if half else nbytes])
        measured.append(ns - without)
    return relative_fit(columns, measured)


def waiting():
    """Rows in flight of our loop over those of PyTorch's operator, and how far single ratios are off the median."""
    with open(f"{DATA}/contention.json") as file:
        sweep = next(d for d in json.load(file)["devices"] if d["device"] == "h200")["sweep"]["constants"]
    times = recorded("scatter-beside", "operator")
    ratios = [ns / times[("scatter_add", *words)] for (operator, *words), ns in times.items()
              if operator == "scalar" and words[0] != "fp32" and words[-1] != "uniform"]
    middle = statistics.median(ratios)
    return middle ** (1 / sweep["retry_exponent"]), [max(ratio / middle, middle / ratio) for ratio in ratios]


def recorded(suite, kind):
    with open(f"{DATA}/recordings/nvidia-h200-{suite}.json") as file:
        rows = json.load(file)["rows"]
    return {(row["point"][kind], *(row["point"][name] for name in NAMES)): row["time_ms"]["median"] * 1e6
            for row in rows if "time_ms" in row}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--program", required=True)
    arguments = parser.parse_args()
    times = recorded("remedies", "path")
    sort, sort_off = sorting(arguments.program, times)
    copy, copy_off = copying(times)
    constants = dict(zip(("sort_ns", "sort_update_ns", "sum_ns", "write_ns", "join_ns"), sort))
    rows, rows_off = waiting()
    constants.update(loop_rows=rows, launch_ns=copy[0], half_bytes_per_ns=1 / copy[1], fp32_bytes_per_ns=1 / copy[2])
    print(json.dumps({name: float(f"{value:.5g}") for name, value in constants.items()}))
    for name, off in (("sorting", sort_off), ("copying", copy_off), ("loops", rows_off)):
        print(f"{name}: {len(off)} points, median {statistics.median(off):.2f}x, worst {max(off):.2f}x")


if __name__ == "__main__":
    main()
