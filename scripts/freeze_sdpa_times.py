#!/usr/bin/env python3
"""Writes what the timed wavefront model predicts for the suite `sdpa-times`, to be committed before it is measured.

    python3 scripts/freeze_sdpa_times.py --program natten-sim --device h200 > data/predictions/h200_sdpa_times.json
"""

import argparse
import json
import os
import subprocess

from time_sdpa_suite import points_of

SUITE = os.path.join(os.path.dirname(__file__), "../data/suites/sdpa-times.json")


def predicted_ms(program, device, point):
    command = [program, "reuse", "--kernel", point["implementation"], "--device", device, "--fidelity", "timed", "--json",
               "--no-conclusion", "-n", str(point["heads"]), "-i", str(point["tokens"]), "-d", str(point["head_dim"]), "--dtype",
               point["dtype"]] + (["--causal"] if point["causal"] else [])
    answer = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    return round(1e-6 * answer["result"]["time_ns"], 4)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--program", required=True)
    parser.add_argument("--device", required=True)
    arguments = parser.parse_args()
    with open(SUITE, encoding="utf-8") as file:
        points = list(points_of(json.load(file)))
    rows = [json.dumps([point, predicted_ms(arguments.program, arguments.device, point)]) for point in points]
    print('{"what": "Times of the suite sdpa-times, in milliseconds, by the timed wavefront model, predicted before it was '
          'measured",\n  "rows": [\n    ' + ",\n    ".join(rows) + "]\n}")


if __name__ == "__main__":
    main()
