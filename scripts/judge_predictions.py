#!/usr/bin/env python3
"""Says how far frozen predictions were off, and how many measurements lay in the intervals that were stated with them.

    python3 scripts/judge_predictions.py data/predictions/h200_short_draw.json data/recordings/nvidia-h200-short-draw.json

The predictions are those of scripts/freeze_times.py or of another draw in data/predictions, of points that the recording has.
"""

import argparse
import json
from collections import defaultdict

SCATTER = ("dtype", "width", "updates", "rows", "distribution", "seed")
COUNTER = "dram_read_bytes"


def group_of(point):
    if point["kernel"] == "scatter":
        return ("half, " if point["dtype"] != "fp32" else "fp32, ") + ("uniform" if point["distribution"] == "uniform" else "contended")
    if point["kernel"] == "sdpa":
        return point["implementation"] + (" causal" if point["causal"] else " full")
    return point.get("runs", "flexattention") + " " + point["pass"]


def key_of(point):
    if point["kernel"] == "scatter":
        return json.dumps([point[name] for name in SCATTER])
    return json.dumps(point, sort_keys=True)


def stated_of(row, columns):
    """The point's key, its prediction, and the ends of its interval."""
    if "time_ns" in columns:
        named = dict(zip(columns, row))
        return json.dumps([named[name] for name in SCATTER]), named["time_ns"], named["least_ns"], named["most_ns"]
    point, predicted, low, high = row
    return json.dumps(point, sort_keys=True), predicted, low, high


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("predictions")
    parser.add_argument("recording")
    arguments = parser.parse_args()
    with open(arguments.predictions, encoding="utf-8") as file:
        frozen = json.load(file)
    with open(arguments.recording, encoding="utf-8") as file:
        recording = json.load(file)
    unit = 1e6 if "time_ns" in frozen["columns"] else 1
    measured = {}
    for row in recording["rows"]:
        if row["status"] == "measured":
            value = row["counters"][COUNTER]["median"] if COUNTER in row["counters"] else row["time_ms"]["median"] * unit
            measured[key_of(row["point"])] = group_of(row["point"]), value
    groups = defaultdict(list)
    for row in frozen["rows"]:
        key, predicted, low, high = stated_of(row, frozen["columns"])
        group, value = measured[key]
        for each in (group, "all"):
            groups[each].append((abs(value / predicted - 1), low <= value <= high))
    print("| points | number | mean | median | worst | inside |\n|---|---|---|---|---|---|")
    for group in sorted(groups, key=lambda name: (name == "all", name)):
        errors, inside = sorted(error for error, _ in groups[group]), sum(within for _, within in groups[group])
        print(f"| {group} | {len(errors)} | {100 * sum(errors) / len(errors):.1f}% | {100 * errors[len(errors) // 2]:.1f}% | "
              f"{100 * errors[-1]:.0f}% | {inside} ({100 * inside / len(errors):.0f}%) |")


if __name__ == "__main__":
    main()
