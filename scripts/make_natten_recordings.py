#!/usr/bin/env python3
"""Writes the suite natten and its recordings from the runs in data/kernel-runs.

    python3 scripts/make_natten_recordings.py

The runs were measured by others, and their number of repetitions is not stated: 3 stands where the smallest, the median
and the largest differ, 2 where the median lies half way, 1 where there is one time.
"""

import csv
import json
import os

DATA = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../data")
DEVICES = {"h200": ("NVIDIA H200", 62914560, 150109880320, "9.0"), "h100": ("NVIDIA H100", 52428800, 85520809984, "9.0"),
           "b200": ("NVIDIA B200", 132644864, 192265846784, "10.0")}
SMS = {"h200": 132, "h100": 132, "b200": 148}
FILES = {"natten-h200.csv": "an H200, by runs of the kernels themselves (data/kernel-runs/natten-h200.csv)",
         "natten-published.csv": "sample outputs of NATTEN's profiler (data/kernel-runs/natten-published.csv)"}
POINT = ["heads", "head_dim", "dtype", "input", "window", "stride", "dilation", "causal", "q_tile", "kv_tile", "pass",
         "schedule"]


def rows_of(name):
    with open(os.path.join(DATA, "kernel-runs", name), encoding="utf-8") as file:
        lines = [line for line in file if not line.startswith("#")]
    for row in csv.DictReader(lines):
        yield {key: value for key, value in row.items() if value and value != "-"}


def point_of(row):
    point = {"kernel": "natten", "runs": row["kernel"]}
    ones = "x".join("1" for _ in row["input"].split("x"))
    defaults = {"head_dim": "128", "dtype": "bf16", "stride": ones, "dilation": ones, "causal": ones.replace("1", "0"),
                "pass": "forward", "schedule": "cooperative"}
    if int(row.get("batch", "1")) != 1:
        point["batch"] = int(row["batch"])
    for key in POINT:
        value = row.get(key, defaults.get(key))
        point[key] = int(value) if key in ("heads", "head_dim") else value
    if point["schedule"] == "cooperative":
        del point["schedule"]
    return point


def time_of(row):
    median = float(row["ms"])
    smallest, largest = float(row.get("min_ms", median)), float(row.get("max_ms", median))
    half_way = abs((smallest + largest) / 2 - median) < 1e-3
    repetitions = 1 if smallest == largest else 2 if half_way else 3
    if repetitions == 2:
        smallest, largest = median - (largest - smallest) / 2, median + (largest - smallest) / 2
        median = (smallest + largest) / 2
    return {"median": median, "p95": largest, "smallest": smallest, "largest": largest, "repetitions": repetitions,
            "inputs": 1, "l2": "warm"}


def head_of(device, source):
    name, l2, memory, capability = DEVICES[device]
    return {"schema": "natten-sim.recording/1", "suite": "natten",
            "device": {"name": name, "profile": device, "sms": SMS[device], "l2_bytes": l2, "memory_bytes": memory,
                       "compute_capability": capability},
            "driver": "not stated", "toolkit": "NATTEN 0.21.6", "profiler": "none: times", "clocks_policy": "not stated",
            "cache_control": "not stated", "commit": source, "metrics": {}}


def main():
    points, recordings = [], {}
    for name, source in FILES.items():
        for row in rows_of(name):
            point = point_of(row)
            if point not in points:
                points.append(point)
            recording = recordings.setdefault(row["device"], (head_of(row["device"], source), []))
            recording[1].append({"point": point, "status": "measured", "counters": {}, "time_ms": time_of(row)})
    for device, (head, rows) in recordings.items():
        lines = ",\n    ".join(json.dumps(row, separators=(",", ":")) for row in rows)
        with open(os.path.join(DATA, "recordings", f"nvidia-{device}-natten.json"), "w", encoding="utf-8") as file:
            file.write(json.dumps(head, indent=2)[:-2] + ',\n  "rows": [\n    ' + lines + "\n  ]\n}\n")
    suite = {"schema": "natten-sim.suite/1", "name": "natten", "place": 30,
             "title": "NATTEN's kernels and dense ones beside them: runs that others measured and published",
             "counters": []}
    sweeps = ",\n    ".join(json.dumps(point) for point in points)
    tail = {"tolerances": [{"counter": "launch_time_ns", "relative": 0.12}]}
    with open(os.path.join(DATA, "suites/natten.json"), "w", encoding="utf-8") as file:
        file.write(json.dumps(suite, indent=2)[:-2] + ',\n  "sweeps": [\n    ' + sweeps + "\n  ],\n"
                   + json.dumps(tail, indent=2)[2:] + "\n")


if __name__ == "__main__":
    main()
