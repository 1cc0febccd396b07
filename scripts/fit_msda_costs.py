#!/usr/bin/env python3
"""Fits the constants of data/msda-costs.json to timed runs of this project's deformable attention.

    python3 scripts/fit_msda_costs.py --program natten-sim

Prints the constants, and how far the fit is off on the points that it was fitted to and on the others. The law is that of
models/msda/msda_run.hpp, written down a second time. Variants (instructions, CTAs) are read from the file. Traffic comes
from `natten-sim msda --json`. Least squares on logarithms, with a soft loss above 10%.
"""

import argparse
import json
import math
import os
import subprocess

import numpy
from scipy.optimize import least_squares

DATA = os.path.join(os.path.dirname(__file__), "../data")
FITTED = {"B1_640_d256_L4", "B2_1280_d256_L4", "B2_800x1333_d256_L2", "B2_800x1333_d256_L4", "B8_800x1333_d256_L4",
          "B2_800x1333_d256_L4_enc"}
SMS, DRAM_BYTES_PER_NS = 132, 3712.7
BYTES = {"fp32": 4, "bf16": 2, "fp16": 2}


def traffic(program, point, kept={}):
    """Samples, reads, rows and misses of a point, and its sizes."""
    key = (point["config"], point.get("offsets", "learned"), point["order"], point["phase"], BYTES[point["dtype"]])
    if key not in kept:
        command = [program, "msda", "--json", "--quiet", "--device", "h200", "--workload", key[0], "--offsets", key[1],
                   "--order", key[2], "--phase", key[3], "--dtype", "fp32" if key[4] == 4 else "bf16"]
        answer = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
        kept[key] = (answer["input"], answer["result"])
    return kept[key]


class Run:
    """One timed run, as the law sees it."""

    def __init__(self, row, program, variants):
        point = row["point"]
        question, counted = traffic(program, point)
        self.point, self.time_ns = point, row["time_ms"]["median"] * 1e6
        self.fitted = point.get("fitted", point["config"] in FITTED)
        self.backward, self.is_point = point["phase"] == "backward", point["tiling"] == "point"
        self.bytes, self.half = BYTES[point["dtype"]], point["dtype"] != "fp32"
        heads, self.points = question["heads"], question["points"]
        self.levels, self.channels = len(question["strides"]), question["channels"] // heads
        self.samples, self.reads, self.rows = counted["samples"], counted["reads"], counted["rows"]
        self.pairs = self.samples / (self.levels * self.points)
        self.row_bytes = self.channels * self.bytes
        pixels = sum((question["height"] // stride) * (question["width"] // stride) for stride in question["strides"])
        self.value_bytes = question["batch"] * pixels * question["channels"] * self.bytes
        self.missed_bytes = counted["l2_misses"] * self.row_bytes
        self.parameter_bytes = BYTES[point.get("parameters", "fp32")]
        self.path = point.get("path")
        self.lanes = max(self.row_bytes / 16, 1)
        wanted = {"phase": point["phase"], "tiling": point["tiling"], "half": self.half}
        if self.backward:
            wanted["update"] = self.path
        self.variant = next(each for each in variants if all(each.get(name) == value for name, value in wanted.items()))

    def gradient_bytes(self):
        return self.value_bytes * (8 if self.path == "private" else 2 if self.path == "fp32-accumulator" and self.half else 1)

    def stream_bytes(self):
        one = 3 * self.parameter_bytes * self.samples + self.pairs * self.channels * self.bytes
        return one * (2 if self.backward else 1)

    def update(self, c):
        """Rows, pieces, bytes a lane, service, answers, wait for one."""
        wide = 2 if self.half else 1
        if not self.backward:
            return (self.samples if self.is_point else 0), wide, 16, c["reduction_ns"], 0, 0
        if self.path == "red-16":
            return self.reads, 1, 16, c["reduction_ns"], 0, 0
        if self.path == "fp32-accumulator":
            return self.reads, wide, 16, c["reduction_ns"], 0, 0
        if self.path in ("scalar", "private") and self.half:
            return self.reads, 8, 2, c["scalar_ns"], 8, c["scalar_chain_ns"]
        if self.path == "atom":
            return self.reads, 4, 4, c["atom_ns"], 4, c["atom_chain_ns"]
        if self.path == "cas":
            return self.reads, 4, 4, c["cas_ns"], 4, c["cas_chain_ns"]
        return self.reads, 4, 4, c["reduction_ns"], 0, 0

    def predicted_ns(self, c):
        def leaving(size):
            return math.exp(-c["resident_bytes"] / size) if size > 0 else 0

        rows, pieces, lane_bytes, service, answers, wait = self.update(c)
        further, zeroed, converted = (1, self.gradient_bytes(), 0) if self.backward else (0, 0, 0)
        if not self.backward and self.is_point:
            further, zeroed = (2 if self.half else 1), 4 * self.pairs * self.channels
            converted = 1.5 * zeroed if self.half else 0
        if self.path in ("fp32-accumulator", "private"):
            further, converted = further + 1, zeroed + self.value_bytes
        launches = (c["launch_ns"] + further * c["further_launch_ns"] +
                    sum(size * leaving(size) for size in (zeroed, converted)) / DRAM_BYTES_PER_NS)
        footprint = self.rows * self.row_bytes + self.stream_bytes() + (self.gradient_bytes() if self.backward else 0)
        threads = self.pairs * self.lanes * (self.levels * self.points if self.is_point else 1)
        rounds = math.ceil(math.ceil(threads / 256) / (SMS * self.variant["ctas_per_sm"]))
        samples = 2 if not self.backward and not self.is_point else 1
        steps = 1 if self.is_point else self.levels * math.ceil(self.points / samples)
        far = c["far_ns"] * self.rows / self.reads * leaving(footprint)
        chain = rounds * steps * (c["load_chain_ns"] + far + c["instruction_chain_ns"] * self.variant["instructions"] * samples +
                                  (4 * answers * (wait + far) if answers else 0))
        issue = self.samples * self.lanes / 32 * self.variant["instructions"] * c["instruction_ns"]
        lines = self.reads * max(self.row_bytes / 128, 1) * c["line_ns"]
        if self.backward and not self.is_point:
            lines += self.reads / self.lanes * c["store_line_ns"]
        atomics = rows * (pieces * service + pieces * max(self.lanes * lane_bytes / 32, 1) * c["sector_ns"])
        missed = self.missed_bytes
        if self.backward:
            missed *= 1 + 2 * leaving(self.gradient_bytes()) * self.gradient_bytes() / self.value_bytes
        dram = (missed + self.stream_bytes()) * leaving(footprint) / DRAM_BYTES_PER_NS
        parts = (chain, issue, lines, atomics, dram)
        return launches + sum(part ** c["overlap"] for part in parts) ** (1 / c["overlap"])


def say(what, runs, constants):
    off = numpy.abs([math.log(run.predicted_ns(constants) / run.time_ns) for run in runs])
    print(f"{what}: {len(runs)} points, median {math.exp(numpy.median(off)):.3f}x, 90% within "
          f"{math.exp(numpy.quantile(off, .9)):.2f}x, worst {math.exp(off.max()):.2f}x")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--program", required=True)
    arguments = parser.parse_args()
    with open(os.path.join(DATA, "msda-costs.json")) as file:
        entry = json.load(file)["costs"][0]
    runs = []
    for suite in ("msda", "msda-costs"):
        with open(os.path.join(DATA, f"recordings/nvidia-h200-{suite}.json")) as file:
            rows = json.load(file)["rows"]
        runs += [Run(row, arguments.program, entry["variants"]) for row in rows if "time_ms" in row]
    fitted, others = [run for run in runs if run.fitted], [run for run in runs if not run.fitted]
    names = list(entry["constants"])
    start = numpy.log([entry["constants"][name] for name in names])

    def misses(logs):
        constants = dict(zip(names, numpy.exp(logs)))
        return [math.log(run.predicted_ns(constants) / run.time_ns) for run in fitted]

    found = least_squares(misses, start, loss="soft_l1", f_scale=0.1)
    constants = {name: float(f"{value:.5g}") for name, value in zip(names, numpy.exp(found.x))}
    print(json.dumps(constants))
    say("fitted", fitted, constants)
    say("others", others, constants)
    say("others, as stored", others, entry["constants"])


if __name__ == "__main__":
    main()
