"""How far frozen predictions were off, and how many measurements lay in the intervals that were stated with them.

Reads what `natten-sim validate SUITE --freeze --json` printed, and the draws of data/predictions.
"""

from __future__ import annotations

import argparse
import json
from collections import defaultdict
from pathlib import Path
from typing import Any

SCATTER = ("dtype", "width", "updates", "rows", "distribution", "seed")
TIME, READS = "launch_time_ns", "dram_read_bytes"
#: Of old draws: an interval's lower end, upper end, and prediction; and their unit over that of measurements.
COLUMNS = {("predicted_ms", "low_ms", "high_ms"): 1e6, ("predicted_bytes", "low_bytes", "high_bytes"): 1,
           ("time_ns", "least_ns", "most_ns"): 1}
Interval = tuple[float, float | None, float | None]


def group_of(point: dict[str, Any]) -> str:
    if point["kernel"] == "scatter":
        kind = "uniform" if point["distribution"] == "uniform" else "contended"
        return ("half, " if point["dtype"] != "fp32" else "fp32, ") + kind
    if point["kernel"] == "sdpa":
        return f"{point['implementation']} {'causal' if point['causal'] else 'full'}"
    return f"{point.get('runs') or point.get('implementation', 'flexattention')} {point.get('pass', 'backward')}"


def key_of(point: dict[str, Any]) -> str:
    if point["kernel"] == "scatter":
        return json.dumps([point[name] for name in SCATTER])
    return json.dumps(point, sort_keys=True)


def frozen_of(document: dict[str, Any]) -> dict[str, Interval]:
    """By the point's key: prediction, and the ends of its interval."""
    if "result" in document:
        return {key_of(row["parameters"]): (row["predicted"], row["low"], row["high"])
                for row in document["result"]["predictions"]
                if row["counter"] in (TIME, READS) and not row["fitted"]}
    columns = document["columns"]
    names, unit = next((names, unit) for names, unit in COLUMNS.items() if set(names) <= set(columns))
    found = {}
    for row in document["rows"]:
        named = dict(zip(columns, row, strict=True))
        key = key_of(named["point"] if isinstance(named.get("point"), dict) else {"kernel": "scatter", **named})
        predicted, low, high = (None if named[name] is None else unit * named[name] for name in names)
        if predicted is not None:
            found[key] = (predicted, low, high)
    return found


def judge(arguments: argparse.Namespace) -> None:
    """Prints a table, a line for each kernel and pass."""
    frozen = frozen_of(json.loads(Path(arguments.predictions).read_text(encoding="utf-8")))
    groups: dict[str, list[tuple[float, bool]]] = defaultdict(list)
    for row in json.loads(Path(arguments.recording).read_text(encoding="utf-8"))["rows"]:
        stated = frozen.get(key_of(row["point"]))
        if row["status"] != "measured" or stated is None:
            continue
        value = row["counters"][READS]["median"] if READS in row["counters"] else 1e6 * row["time_ms"]["median"]
        predicted, low, high = stated
        for group in (group_of(row["point"]), "all"):
            inside = low is not None and high is not None and low <= value <= high
            groups[group].append((abs(value / predicted - 1), inside))
    print("| points | number | mean | median | worst | inside |\n|---|---|---|---|---|---|")
    for group in sorted(groups, key=lambda name: (name == "all", name)):
        errors, held = sorted(error for error, _ in groups[group]), sum(inside for _, inside in groups[group])
        mean, median = sum(errors) / len(errors), errors[len(errors) // 2]
        print(f"| {group} | {len(errors)} | {100 * mean:.1f}% | {100 * median:.1f}% | {100 * errors[-1]:.0f}% | "
              f"{held} ({100 * held / len(errors):.0f}%) |")
