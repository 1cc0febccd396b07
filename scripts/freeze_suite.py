#!/usr/bin/env python3
"""Writes what `natten-sim validate` predicts for every point of a suite, to be committed before it is measured.

    python3 scripts/freeze_suite.py msda --program natten-sim > data/predictions/h200_msda.json

The program predicts what a recording holds, so this makes a recording in which every quantity is 1, and keeps the
predictions alone.
"""

import argparse
import csv
import io
import itertools
import json
import os
import re
import subprocess
import tempfile

DATA = os.path.join(os.path.dirname(__file__), "../data")
DEVICES = {"h200": {"name": "NVIDIA H200", "profile": "h200", "sms": 132, "l2_bytes": 62914560,
                    "memory_bytes": 150109880320, "compute_capability": "9.0"},
           "h100": {"name": "NVIDIA H100 80GB HBM3", "profile": "h100", "sms": 132, "l2_bytes": 52428800,
                    "memory_bytes": 85017493504, "compute_capability": "9.0"}}


def points_of(suite):
    for sweep in suite["sweeps"]:
        values = [value if isinstance(value, list) else [value] for value in sweep.values()]
        for chosen in itertools.product(*values):
            yield dict(zip(sweep.keys(), chosen))


def metrics_of(program):
    listed = subprocess.run([program, "validate", "--list"], check=True, capture_output=True, text=True).stdout
    return dict(reversed(re.findall(r"^(\w+) = (\S+) \[", listed, re.MULTILINE)))  # the first of a label


def recording_of_ones(suite, device, metrics):
    one = {"median": 1, "p95": 1, "smallest": 1, "largest": 1}
    rows = [{"point": point, "status": "measured",
             "counters": {label: {**one, "repetitions": 1} for label in suite["counters"]},
             "time_ms": {**one, "repetitions": 1, "inputs": 1, "l2": "warm"}} for point in points_of(suite)]
    return {"schema": "natten-sim.recording/1", "suite": suite["name"], "device": DEVICES[device], "driver": "none",
            "toolkit": "none", "profiler": "none", "clocks_policy": "none", "cache_control": "none", "commit": "none",
            "metrics": {label: metrics[label] for label in suite["counters"]}, "rows": rows}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("suite")
    parser.add_argument("--program", required=True)
    parser.add_argument("--device", choices=DEVICES, default="h200")
    parser.add_argument("--device-file", help="a profile that replaces that of --device")
    parser.add_argument("--what", help="a sentence that the file begins with, after whose predictions they are")
    parser.add_argument("--fidelity", choices=["closed-form", "timed"], default="closed-form")
    arguments = parser.parse_args()
    with open(os.path.join(DATA, f"suites/{arguments.suite}.json")) as file:
        suite = json.load(file)
    with tempfile.TemporaryDirectory() as folder:
        with open(os.path.join(folder, "ones.json"), "w") as out:
            json.dump(recording_of_ones(suite, arguments.device, metrics_of(arguments.program)), out)
        command = [arguments.program, "validate", arguments.suite, "--recorded", folder, "--csv", "--quiet",
                   "--fidelity", arguments.fidelity]
        command += ["--device-file", arguments.device_file] if arguments.device_file else []
        text = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False).stdout  # 3: nothing is 1
    lines = [json.dumps([row["point"], row["counter"], row["model"], float(f"{float(row['predicted']):.9g}")])
             for row in csv.DictReader(io.StringIO(text))]
    more = " " + arguments.what if arguments.what else ""
    print('{"what": "Predictions for the suite ' + arguments.suite + ' on ' + arguments.device + ', made before it was '
          'measured' + ("." if more else "") + more + '", "columns": ["point", "counter", "model", "predicted"], "rows": [\n  ' + ",\n  ".join(lines) + "]}")


if __name__ == "__main__":
    main()
