#!/usr/bin/env python3
"""Fits the constants of the H200's sweep in data/contention.json to recorded scatter-adds.

    python3 scripts/fit_scatter.py --program natten-sim

Prints the constants, and how far the law is off on fitted points and on the others. The law is that of
models/scatter/swept_contention.hpp, written down a second time. What it needs to know of a load comes from
`natten-sim atomics --json`. Least squares on logarithms, with a soft loss above 15%: first launches, stream and
reductions on fp32 and uniform points, then the retries on contended half-precision ones, whose counted sectors weigh
0.3. The recordings say which points are fitted: of `scatter` and `scatter-causes` whole widths and distributions, and
all of `scatter-queued`. `scatter-blind`, `scatter-again` and `scatter-third` are judged only.
"""

import argparse
import json
import math
import os
import subprocess

import numpy as np
from scipy.optimize import least_squares

DATA = os.path.join(os.path.dirname(__file__), "../data")
SUITES = ["scatter", "scatter-causes", "scatter-queued", "scatter-blind", "scatter-again", "scatter-third"]
STREAM = ["launch_ns", "cas_launch_ns", "host_launch_ns", "issue_red_ns", "issue_cas_ns", "dram_bytes_per_ns",
          "reuse_bytes", "warm_share", "warm_bytes", "warm_cas_share", "cold_ns", "hidden_ns", "sector_ns", "same_sector_ns",
          "overlap"]
RETRIES = ["cas_sector_ns", "retry_scale", "retry_exponent", "gather_updates", "gather_exponent", "turn_exponent",
           "narrow_exponent", "wide_exponent", "wide_server_exponent", "change_exponent", "change_narrow_exponent",
           "gather_width_exponent", "gather_rows_exponent", "waiting_several", "waiting_exponent", "waiting_single",
           "threshold_rows"]
LOGARITHMIC = {"launch_ns", "cas_launch_ns", "host_launch_ns", "issue_red_ns", "issue_cas_ns", "dram_bytes_per_ns",
               "reuse_bytes", "warm_bytes", "sector_ns", "same_sector_ns", "overlap", "cas_sector_ns", "retry_scale",
               "gather_updates", "waiting_several", "waiting_exponent", "waiting_single", "threshold_rows", "cold_ns",
               "hidden_ns"}
LANES_IN_FLIGHT = 132 * 64 * 32


def answers(program, point, kept={}):
    """Results for the third run and for the first."""
    words = tuple(str(point.get(name, 0)) for name in ("dtype", "width", "updates", "rows", "distribution", "seed"))
    if words not in kept:
        names = ("--dtype", "--width", "--updates", "--rows", "--distribution", "--seed")
        command = [program, "atomics", "--json", "--quiet", "--no-conclusion", "--device", "h200"]
        command += [word for pair in zip(names, words) for word in pair]
        kept[words] = [json.loads(subprocess.run([*command, "--prior-runs", prior], check=True, capture_output=True,
                                                 text=True).stdout)["result"] for prior in ("2", "0")]
    return kept[words]


class Points:
    """Columns of all recorded points, as the law sees them."""

    def __init__(self, program):
        rows = []
        for suite in SUITES:
            with open(f"{DATA}/recordings/nvidia-h200-{suite}.json") as file:
                for row in json.load(file)["rows"]:
                    if "time_ms" in row:
                        rows.append((suite, row, *answers(program, row["point"])))
        column = lambda read: np.array([float(read(*row)) for row in rows])
        of_point = lambda name: column(lambda suite, row, third, first: row["point"][name])
        of_answer = lambda name: column(lambda suite, row, third, first: third[name])
        self.suite = np.array([row[0] for row in rows])
        self.fitted = np.array([row[1]["point"]["fitted"] for row in rows])
        self.queued = np.array([row[1]["point"].get("queued", False) for row in rows])
        self.half = np.array([row[1]["point"]["dtype"] != "fp32" for row in rows])
        self.ns = column(lambda suite, row, third, first: row["time_ms"]["median"] * 1e6)
        self.width, self.updates, self.table = (of_point(name) for name in ("width", "updates", "rows"))
        self.uniform = np.array([row[1]["point"]["distribution"] == "uniform" for row in rows]) & (self.table > 256)
        self.hot, self.share = of_answer("hottest_rows"), of_answer("changing_share")
        self.first_share = column(lambda suite, row, third, first: first["changing_share"])
        most, serial = of_answer("max_multiplicity"), of_answer("serial_multiplicity")
        self.m = np.where(self.hot > 1, np.minimum(most, self.updates / self.hot), serial)
        self.p = self.m / self.updates
        self.row_bytes = self.width * np.where(self.half, 2, 4)
        self.sectors = np.ceil(self.row_bytes / 32)
        self.touched, self.close = of_answer("rows_touched"), of_answer("close_updates")
        self.slice, self.sent = of_answer("slice_sectors"), of_answer("sent_sectors")
        self.streamed, self.warps = of_answer("streamed_bytes"), of_answer("warp_instructions")
        counted = column(lambda suite, row, third, first: max(
            [row.get("counters", {}).get(name, {"median": 0})["median"]
             for name in ("l1_atomic_sectors", "l1_reduction_sectors")]))
        retried = np.where(self.half & (counted > 0), counted, np.nan) - 2 * self.sent
        self.failures = retried / (2 * self.updates * self.sectors)

    def contended(self):
        return self.half & ~self.uniform


def stream(at, c):
    rows = np.minimum(at.touched, np.where(at.close > 0, 1023 / np.maximum(at.close, 1e-12), np.inf))
    between = rows * (at.streamed / at.updates + at.row_bytes)
    returning = 2 * at.updates * at.row_bytes * np.exp(-c["reuse_bytes"] / between)
    issue = at.warps * np.where(at.half, c["issue_cas_ns"], c["issue_red_ns"])
    staying = np.exp(-((at.streamed / c["warm_bytes"]) ** 2))
    issue *= 1 - np.where(at.half, c["warm_cas_share"], c["warm_share"]) * staying
    dram = (1 - c["warm_share"] * staying) * (at.streamed + returning) / c["dram_bytes_per_ns"]
    return np.maximum(dram, issue) + (1 - staying) * c["cold_ns"]


def retries(at, c, share):
    flight, eta = LANES_IN_FLIGHT / at.width, 8
    turns = at.updates / flight
    ending = np.where(turns >= eta, 1 - eta / (2 * turns), turns / (2 * eta))
    waiting = flight * at.p
    least = np.where(at.hot > 1, c["waiting_several"], c["waiting_single"])
    threshold = np.where(at.hot > 1, 1 + (c["threshold_rows"] / waiting) ** c["threshold_exponent"], 1)
    updates = (c["gather_updates"] * (256 / at.width) ** c["gather_width_exponent"]
               * at.hot ** c["gather_rows_exponent"])
    queued = (at.m / (at.m + updates)) ** c["gather_exponent"]
    f = at.p + (1 - at.p) * queued / (1 + (least / waiting) ** c["waiting_exponent"]) / threshold
    n = flight / at.hot * ending ** (f ** c["turn_exponent"]) * f
    change = c["change_exponent"] * np.maximum(256 / at.width, 1) ** c["change_narrow_exponent"]
    law = (np.minimum(at.hot * at.p, 1) * c["retry_scale"] * n ** c["retry_exponent"]
           * np.minimum(at.width / 32, 1) ** c["narrow_exponent"]
           * np.minimum(1024 / at.row_bytes, 1) ** c["wide_exponent"] * share ** change)
    return np.where(at.m > 1, law, 0)


def times(at, c):
    server = np.minimum(1024 / at.row_bytes, 1) ** c["wide_server_exponent"]
    spread = np.maximum(np.minimum(c["sole_bytes"] / at.row_bytes, 1) ** c["sole_exponent"], c["sole_server_share"])
    aligned = (at.row_bytes <= 2048) & (np.log2(at.row_bytes) % 1 == 0)
    server = np.where((at.touched == 1) & ~aligned, np.minimum(server, spread), server)
    failing = c["cas_sector_ns"] * 2 * at.updates * at.sectors * retries(at, c, at.share) * server
    flow = stream(at, c)
    cas = np.maximum(flow + failing, 2 * at.m * c["success_ns"] * at.share) + c["cas_launch_ns"]
    hot = np.maximum(at.m * c["same_sector_ns"], at.slice * at.sent / (at.updates * at.sectors) * c["sector_ns"])
    hot += at.m * at.p * (1 - np.gcd(at.width.astype(int), 32) / 32) * c["cut_ns"]
    issued = flow + c["hidden_ns"]
    red = (issued ** c["overlap"] + hot ** c["overlap"]) ** (1 / c["overlap"]) - c["hidden_ns"]
    return c["launch_ns"] + np.where(at.queued, 0, c["host_launch_ns"]) + np.where(at.half, cas, red)


def fit(at, names, chosen, constants, counted_weight):
    packed = [math.log(constants[n]) if n in LOGARITHMIC else constants[n] for n in names]

    def constants_of(values):
        return {**constants, **{n: math.exp(v) if n in LOGARITHMIC else v for n, v in zip(names, values)}}

    counted = chosen & ~np.isnan(at.failures) & (at.failures > 0.2)

    def residuals(values):
        c = constants_of(values)
        timed = np.log(times(at, c) / at.ns)[chosen]
        law = np.maximum(retries(at, c, at.first_share), 1e-3)
        return np.concatenate([timed, counted_weight * np.log(law / np.where(counted, at.failures, 1))[counted]])

    return constants_of(least_squares(residuals, packed, loss="soft_l1", f_scale=0.15).x)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--program", required=True)
    arguments = parser.parse_args()
    with open(f"{DATA}/contention.json") as file:
        constants = next(d for d in json.load(file)["devices"] if d["device"] == "h200")["sweep"]["constants"]
    at = Points(arguments.program)
    constants = fit(at, STREAM, at.fitted & ~at.contended(), constants, 0)
    constants = fit(at, RETRIES, at.fitted & at.contended(), constants, 0.3)
    print(json.dumps({name: float(f"{value:.5g}") for name, value in constants.items()}))
    ratio = times(at, constants) / at.ns
    off = np.maximum(ratio, 1 / ratio)
    for suite in SUITES:
        for half in (False, True):
            for uniform in (True, False):
                for fitted in (True, False):
                    chosen = (at.suite == suite) & (at.half == half) & (at.uniform == uniform) & (at.fitted == fitted)
                    if chosen.any():
                        some = np.sort(off[chosen])
                        print(f"{suite:15s} {'half' if half else 'fp32'} {'uniform' if uniform else 'contended':9s} "
                              f"{'fitted' if fitted else 'left out':8s} {len(some):4d} points, median "
                              f"{np.median(some):.2f}x, 90% within {some[int(0.9 * len(some))]:.2f}x, worst {some[-1]:.2f}x")


if __name__ == "__main__":
    main()
