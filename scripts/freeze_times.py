#!/usr/bin/env python3
"""Writes the time and the interval that `natten-sim` answers for every point of a suite, to be committed before it is measured.

    python3 scripts/freeze_times.py data/suites/short-draw.json --program natten-sim > data/predictions/h200_short_draw.json

Points of kernels `natten` and `flex` are asked of `count`, as kernels alone; backward passes of libraries in both modes
(`flash_attention_backward`) of `schedule`; reads (`sdpa`) of `reuse --fidelity timed`. What the program refuses stands as
null. Where `schedule` states no interval there is none.
"""

import argparse
import concurrent.futures
import itertools
import json
import re
import subprocess
import sys

DEFAULTS = {"dtype": "bf16"}
UNITS = {"KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40}


def points_of(suite):
    for sweep in suite["sweeps"]:
        values = [value if isinstance(value, list) else [value] for value in sweep.values()]
        for chosen in itertools.product(*values):
            point = {**DEFAULTS, **dict(zip(sweep.keys(), chosen))}
            if point["kernel"] in ("natten", "flex"):
                axes = point["input"].count("x") + 1
                for name, one in (("stride", "1"), ("dilation", "1"), ("causal", "0")):
                    point.setdefault(name, "x".join([one] * axes))
            yield point


def count_command(point):
    kernel = point.get("runs", "flexattention")
    command = ["count", "-i", point["input"], "-w", point["window"], "-s", point["stride"], "--dilation", point["dilation"],
               "-n", point["heads"], "-d", point["head_dim"], "--dtype", point["dtype"], "--kernel", kernel]
    if "1" in point["causal"].split("x"):
        command += ["--causal", *("true" if each == "1" else "false" for each in point["causal"].split("x"))]
    backward = point["pass"] == "backward"
    tiles = {"--q-tile": point["q_tile"], "--kv-tile": point["kv_tile"]}
    if kernel == "flexattention":
        command += [word for pair in tiles.items() for word in pair] + ["--mask-function", "tables"]
    elif kernel.endswith("-fna"):
        command += [word for flag, tile in tiles.items() for word in (("--backward" + flag[1:] if backward else flag), tile)]
    command += ["--backprop"] if backward else []
    command += ["--rest-ms", point["rest_us"] / 1000] if "rest_us" in point else []
    return command


def counted(program, point):
    """Milliseconds of the kernel alone, without copies: predicted, low, high."""
    result = answer_of(program, count_command(point))
    result = result["backward"] if point["pass"] == "backward" else result
    time, costs = result["time_ms"]["kernel"], result["time"]["costs"]
    width = costs["interval"]
    return [time, time * (1 - width) if costs["evidence"] == "measured" else time / (1 + width), time * (1 + width)]


def scheduled(program, point):
    result = answer_of(program, ["schedule", "--kernel", point["implementation"], "-i", point["tokens"], "-d", point["head_dim"],
                                 "-n", point["heads"], "-b", point["batch"], "--dtype", point["dtype"], "--mask", point["mask"]])
    run = result["kernel"][point["mode"]]
    interval = run.get("interval_ms") or {"low": None, "high": None}
    return [run["time_ms"], interval["low"], interval["high"]]


def read(program, point):
    """Bytes that DRAM reads."""
    command = ["reuse", "--kernel", point["implementation"], "--fidelity", "timed", "-n", point["heads"], "-i", point["tokens"],
               "-d", point["head_dim"], "--dtype", point["dtype"], *(["--causal"] if point["causal"] else [])]
    result = answer_of(program, command)
    likely = re.search(r"nine of ten such launches read ([\d.]+) (\w+) to ([\d.]+) (\w+)", result["conclusion"]["sentence"])
    ends = [float(likely[1]) * UNITS[likely[2]], float(likely[3]) * UNITS[likely[4]]] if likely else [None, None]
    return [result["dram_read_bytes"], *ends]


def answer_of(program, command):
    made = subprocess.run([program, *map(str, command), "--device", ARGUMENTS.device, "--json", "--quiet"], capture_output=True, text=True, check=False)
    if made.returncode != 0:
        raise ValueError(made.stderr.strip())
    return json.loads(made.stdout)["result"]


def row_of(point):
    ask = {"natten": counted, "flex": counted, "flash_attention_backward": scheduled, "sdpa": read}[point["kernel"]]
    try:
        numbers = ask(ARGUMENTS.program, point)
    except ValueError as refusal:
        print(f"{point}: {refusal}", file=sys.stderr)
        numbers = [None] * 3
    return [point, *(None if number is None else float(f"{number:.6g}") for number in numbers)]


def main():
    with open(ARGUMENTS.suite, encoding="utf-8") as file:
        suite = json.load(file)
    points = [point for point in points_of(suite) if not ARGUMENTS.only or point.get("implementation") in ARGUMENTS.only]
    with concurrent.futures.ThreadPoolExecutor(ARGUMENTS.jobs) as pool:
        rows = list(pool.map(row_of, points))
    unit = "bytes" if points[0]["kernel"] == "sdpa" else "ms"
    head = {"what": f"Predictions for the suite {suite['name']} on {ARGUMENTS.device}, with the intervals that answers state, made before it "
                    "was measured" + ("." + " " + ARGUMENTS.what if ARGUMENTS.what else ""),
            "columns": ["point", f"predicted_{unit}", f"low_{unit}", f"high_{unit}"]}
    print(json.dumps(head)[:-1] + ', "rows": [\n  ' + ",\n  ".join(json.dumps(row) for row in rows) + "\n]}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("suite", help="a suite's file")
    parser.add_argument("--program", required=True)
    parser.add_argument("--device", default="h200")
    parser.add_argument("--only", nargs="+", help="implementations that are asked")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--what", help="a sentence that follows in the file's first line")
    ARGUMENTS = parser.parse_args()
    main()
