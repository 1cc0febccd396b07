#!/usr/bin/env python3
"""Makes a recording of the suite `scatter`, or of --suite, from what time_torch_scatter.py wrote.

    python3 scripts/record_torch_scatter.py times.jsonl counts.jsonl --out recordings/nvidia-h200-scatter.json

Several files of each kind may be given. Of the suite `scatter-beside` the lines are those of all operators, and of
`scatter_add_bench time`; of a suite of remedies they are those of `scatter_add_bench steady`. Times are the median of the second to fourth run since the destination was
zeroed; counters are those of the first. Points that the suite lacks are left out.
"""

import argparse
import itertools
import json
import os

LABELS = {
    "l2_reduction_sectors": "lts__t_sectors_op_red.sum",
    "l2_atomic_sectors": "lts__t_sectors_op_atom.sum",
    "l1_reduction_sectors": "l1tex__t_sectors_pipe_lsu_mem_global_op_red.sum",
    "l1_atomic_sectors": "l1tex__t_sectors_pipe_lsu_mem_global_op_atom.sum",
    "busiest_slice_cycles": "lts__d_atomic_input_cycles_active.max",
    "l2_cycles": "lts__cycles_elapsed.max",
    "dram_read_bytes": "dram__bytes_read.sum",
    "dram_write_bytes": "dram__bytes_write.sum",
}
DEVICES = {  # what PyTorch calls them
    "NVIDIA H200": {"name": "NVIDIA H200", "profile": "h200", "sms": 132, "l2_bytes": 62914560,
                    "memory_bytes": 150109880320, "compute_capability": "9.0"},
    "NVIDIA H100 80GB HBM3": {"name": "NVIDIA H100 80GB HBM3", "profile": "h100", "sms": 132, "l2_bytes": 52428800,
                              "memory_bytes": 85017493504, "compute_capability": "9.0"},
}
ACCUMULATING = 4  # runs from zero, of which the first is left out; `scatter_add_bench steady` has had its warm-ups
NAMES = ("dtype", "width", "updates", "rows", "distribution", "seed")


def points_of(suite):
    """Every combination of a sweep's lists."""
    for sweep in suite["sweeps"]:
        lists = [value if isinstance(value, list) else [value] for value in sweep.values()]
        for values in itertools.product(*lists):
            yield dict(zip(sweep, values))


def spread(values, digits):
    values = sorted(values)
    middle = len(values) // 2
    median = values[middle] if len(values) % 2 else (values[middle - 1] + values[middle]) / 2
    return {"median": round(median, digits), "p95": round(values[-1], digits), "smallest": round(values[0], digits),
            "largest": round(values[-1], digits), "repetitions": len(values)}


def key_of(row):
    """What tells points apart. A point without an operator is a scatter_add's."""
    return row.get("operator", row.get("path", "scatter_add")), *(row.get(name, 0) for name in NAMES)


def lines_of(files):
    for file in files:
        for line in open(file):
            row = json.loads(line)
            if "operator" in row or "path" in row:
                yield key_of(row), row


def device_of(files):
    """Of the first line of what time_torch_scatter.py wrote; scatter_add_bench names none."""
    names = {row["device"] for file in files for row in map(json.loads, open(file)) if "torch" in row}
    if len(names) > 1:
        raise SystemExit(f"files of several devices: {sorted(names)}")
    return DEVICES[names.pop() if names else "NVIDIA H200"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("files", nargs="+", help="times and counts, in any order")
    parser.add_argument("--suite", default=os.path.join(os.path.dirname(__file__), "../data/suites/scatter.json"))
    parser.add_argument("--out", required=True)
    parser.add_argument("--driver", default="unknown")
    parser.add_argument("--toolkit", default="unknown")
    parser.add_argument("--commit", default="unknown")
    parser.add_argument("--runs", help="what ran before a run that is timed or counted", default="none: four accumulating "
                        "runs since the destination was zeroed; counters of the first")
    arguments = parser.parse_args()
    times, counts = {}, {}
    for key, row in lines_of(arguments.files):
        if "ms" in row:
            times[key] = row["ms"][1:] if len(row["ms"]) <= ACCUMULATING else row["ms"]
        if LABELS["l1_atomic_sectors"] in row:
            counts[key] = row
    rows = []
    suite = json.load(open(arguments.suite))
    for point in points_of(suite):
        key = key_of(point)
        if key not in times:
            continue
        counters = {label: spread([int(counts[key][metric])], 0) for label, metric in LABELS.items()
                    if metric in counts[key]} if key in counts else {}
        rows.append({"point": point, "status": "measured", "counters": counters,
                     "time_ms": {**spread(times[key], 5), "inputs": 1, "l2": "warm"}})
    head = {"schema": "natten-sim.recording/1", "suite": suite["name"],
            "device": device_of(arguments.files),
            "driver": arguments.driver, "toolkit": arguments.toolkit,
            "profiler": "CUPTI 13.0 range profiler, one pass, GH100" if any(row["counters"] for row in rows)
            else "none: this suite reads no counters", "clocks_policy": "untouched",
            "cache_control": arguments.runs, "commit": arguments.commit,
            "metrics": {label: metric for label, metric in LABELS.items()
                        if any(label in row["counters"] for row in rows)}}
    text = json.dumps(head, indent=2)[:-2] + ',\n  "rows": [\n    '
    text += ",\n    ".join(json.dumps(row, separators=(",", ":")) for row in rows) + "\n  ]\n}\n"
    with open(arguments.out, "w") as out:
        out.write(text)


if __name__ == "__main__":
    main()
