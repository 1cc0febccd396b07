#!/usr/bin/env python3
"""Counts what FlashAttention-2 and cuDNN read, as PyTorch's scaled_dot_product_attention calls them, with Nsight Compute.

    python3 scripts/count_sdpa_suite.py --out recordings/count-sdpa-reads.json
    natten-sim validate sdpa-reads --recorded recordings --fidelity timed

The points are those of the suite `sdpa-reads` (--suite names another). Each is launched twice, of which 64 queries are
checked against softmax(q k) v, and then --launches times with the L2 overwritten before each: those are recorded. `ncu`
counts in one pass and leaves clocks and caches as they are. Each launch reads other memory, so that chance of physical
pages is part of the spread.
"""

import argparse
import csv
import io
import json
import math
import os
import re
import subprocess
import sys

import time_flexattention as flex
import time_sdpa_suite as sdpa

METRICS = {"dram_read_bytes": "dram__bytes_read.sum", "l2_read_sectors": "l1tex__m_xbar2l1tex_read_sectors.sum"}
KERNELS = {"fa2": "flash_fwd", "cudnn": "fprop"}
UNCOUNTED = 2  # launches of a point before those that count
UNITS = {"byte": 1, "Kbyte": 1e3, "Mbyte": 1e6, "Gbyte": 1e9, "sector": 1}
STATUS = "status of point"


def launch(points, arguments):
    """What ncu runs: the launches of all points, and a line on each."""
    import torch
    from torch.nn.attention import SDPBackend, sdpa_kernel
    from torch.nn.functional import scaled_dot_product_attention

    cover = torch.empty(128 << 20, dtype=torch.uint8, device="cuda")
    for index, point in enumerate(points):
        kind = {"bf16": torch.bfloat16, "fp16": torch.float16}[point["dtype"]]
        shape = (1, point["heads"], point["tokens"], point["head_dim"])
        status = "measured"
        with torch.inference_mode(), sdpa_kernel(getattr(SDPBackend, sdpa.BACKENDS[point["implementation"]])):
            for i in range(UNCOUNTED + arguments.launches):
                q, k, v = (torch.randn(shape, device="cuda", dtype=kind) for _ in range(3))
                cover.fill_(i % 256)
                out = scaled_dot_product_attention(q, k, v, is_causal=point["causal"])
                if i == 0:
                    error = sdpa.error_of(q, k, v, out, point["causal"], torch)
                    if not error <= flex.TOLERANCE:
                        status = f"wrong: relative error {error:.2e}"
                        del q, k, v, out
                        break
                if i % 2 == 0:
                    held = (q, k, v)  # the next launch takes other pages
            held = None
            torch.cuda.empty_cache()
        torch.cuda.synchronize()
        print(f"{STATUS} {index}: {status}", flush=True)


def counted(points, arguments):
    """One list of launches, of a counter's values by name, for each point; or why not."""
    metrics = ",".join(METRICS.values())
    run = subprocess.run(["ncu", "--csv", "--clock-control", "none", "--cache-control", "none", "--replay-mode", "kernel",
                          "-k", "regex:" + "|".join(KERNELS.values()), "--metrics", metrics, "--print-units", "base",
                          sys.executable, os.path.abspath(__file__), "--child", "--suite", arguments.suite, "--launches",
                          str(arguments.launches), "--out", arguments.out], capture_output=True, text=True, check=False)
    if run.returncode != 0:
        sys.exit(run.stdout[-2000:] + run.stderr[-2000:])
    statuses = dict(re.findall(rf"{STATUS} (\d+): (.*)", run.stdout))
    table = run.stdout[run.stdout.index('"ID"'):]
    launches = {}
    for row in csv.DictReader(io.StringIO(table)):
        if not (row.get("ID") or "").isdigit():
            continue
        each = launches.setdefault(int(row["ID"]), {"kernel": row["Kernel Name"]})
        each[row["Metric Name"]] = float(row["Metric Value"].replace(",", "")) * UNITS[row["Metric Unit"]]
    ordered = [launches[i] for i in sorted(launches)]
    results, at = [], 0
    for index, point in enumerate(points):
        status = statuses.get(str(index), "not reached")
        if status != "measured":
            at += 1
            results.append(status)
            continue
        mine = ordered[at:at + UNCOUNTED + arguments.launches]
        at += UNCOUNTED + arguments.launches
        if len(mine) != UNCOUNTED + arguments.launches or any(KERNELS[point["implementation"]] not in m["kernel"] for m in mine):
            sys.exit(f"launches do not fit the points from {point} on: {[m['kernel'][:60] for m in mine]}")
        results.append({name: [m[metric] for m in mine[UNCOUNTED:]] for name, metric in METRICS.items()})
    if at != len(ordered):
        sys.exit(f"{len(ordered)} launches were counted, {at} expected")
    return results


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--suite", default=os.path.join(os.path.dirname(os.path.abspath(__file__)), "../data/suites/sdpa-reads.json"))
    parser.add_argument("--out", required=True, help="the recording")
    parser.add_argument("--commit", default="unknown", help="commit of the sources, for the recording")
    parser.add_argument("--launches", type=int, default=5, help="launches of a point that count")
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    arguments.warm_up_ms = 0
    with open(arguments.suite, encoding="utf-8") as file:
        suite = json.load(file)
    points = list(sdpa.points_of(suite))
    if arguments.child:
        launch(points, arguments)
        return 0
    results = counted(points, arguments)
    head, rows = flex.recording_of(suite, points, [each if isinstance(each, str) else [math.nan] for each in results], arguments)
    head["profiler"] = "Nsight Compute, one pass"
    head["clocks_policy"] = f"untouched; {UNCOUNTED} launches before those that count"
    head["metrics"] = METRICS
    for row, values in zip(rows, results):
        row.pop("time_ms", None)
        if not isinstance(values, str):
            row["counters"] = {name: {**flex.spread_of(each), "repetitions": len(each)} for name, each in values.items()}
    flex.write(arguments.out, head, rows)
    for point, row in zip(points, rows):
        shown = row["counters"].get("dram_read_bytes")
        print(*point.values(), row["status"] if shown is None else f"{shown['median'] / 2**20:.1f} MiB "
              f"({shown['smallest'] / 2**20:.1f} to {shown['largest'] / 2**20:.1f})")
    return 0


if __name__ == "__main__":
    sys.exit(main())
