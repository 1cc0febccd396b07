"""What FlashAttention-2 and cuDNN read, as PyTorch calls them, on suites like `sdpa-reads`: counted by Nsight Compute.

Each point is launched twice, of which the first is checked, and then --repetitions times with the L2 overwritten
before: those are recorded. `ncu` counts in one pass and leaves clocks and caches as they are. Each launch reads other
memory, so that chance of physical pages is part of the spread.
"""

from __future__ import annotations

import argparse
import csv
import io
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import definition
import recording
import torch
from suite_points import points_of, run_of, suite_of

from natten_sim import measure

METRICS = {"dram_read_bytes": "dram__bytes_read.sum", "l2_read_sectors": "l1tex__m_xbar2l1tex_read_sectors.sum"}
KERNELS = {"fa2": "flash_fwd", "cudnn": "fprop"}
UNCOUNTED = 2
STATUS = "status of point"


def launch(arguments: argparse.Namespace) -> None:
    """What ncu runs: the launches of all points, and a line on each."""
    clock = measure.Clock()
    for number, point in enumerate(points_of(suite_of(arguments.suite))):
        run, status = run_of(point), "measured"
        held: Any = None
        for i in range(UNCOUNTED + arguments.repetitions):
            made = measure.prepared(run, warm_ups=0)
            clock.cover.fill_(i % 256)
            if i == 0:
                error = definition.error_of(run, made)
                if not error <= definition.TOLERANCE:
                    status = f"wrong: relative error {error:.2e}"
                    break
            else:
                made.work()
            held = made if i % 2 == 0 else held  # the next launch takes other pages
        held = None
        del made
        torch.cuda.empty_cache()
        torch.cuda.synchronize()
        print(f"{STATUS} {number}: {status}", flush=True)


def rows_of(points: list[dict[str, Any]], repetitions: int, output: str) -> list[dict[str, Any]]:
    """Rows of what ncu printed."""
    statuses = dict(re.findall(rf"{STATUS} (\d+): (.*)", output))
    launches: dict[int, dict[str, Any]] = {}
    for line in csv.DictReader(io.StringIO(output[output.index('"ID"'):])):
        if (line.get("ID") or "").isdigit():
            each = launches.setdefault(int(line["ID"]), {"kernel": line["Kernel Name"]})
            each[line["Metric Name"]] = float(line["Metric Value"].replace(",", ""))
    ordered, rows = [launches[i] for i in sorted(launches)], []
    for number, point in enumerate(points):
        status = statuses.get(str(number), "not reached")
        row = recording.row_of(point, status)
        mine = ordered[:1 if status != "measured" else UNCOUNTED + repetitions]
        del ordered[:len(mine)]
        if status == "measured":
            if len(mine) != UNCOUNTED + repetitions or any(KERNELS[point["implementation"]] not in each["kernel"]
                                                           for each in mine):
                sys.exit(f"launches do not fit the points from {point} on: {[each['kernel'][:60] for each in mine]}")
            row["counters"] = {label: recording.spread_of([each[metric] for each in mine[UNCOUNTED:]])
                               for label, metric in METRICS.items()}
        rows.append(row)
    if ordered:
        sys.exit(f"{len(ordered)} launches more than expected")
    return rows


def record(arguments: argparse.Namespace) -> None:
    if arguments.child:
        return launch(arguments)
    suite = suite_of(arguments.suite)
    head = recording.head_of(suite["name"], arguments.commit,
                             f"untouched; {UNCOUNTED} launches before those that count",
                             profiler="Nsight Compute, one pass", metrics=METRICS)
    file = recording.File(Path(arguments.out) / f"count-{suite['name']}.json", head, False)
    command = ["ncu", "--csv", "--clock-control", "none", "--cache-control", "none", "--replay-mode", "kernel",
               "--print-units", "base", "-k", "regex:" + "|".join(KERNELS.values()), "--metrics",
               ",".join(METRICS.values()),
               sys.executable, str(Path(__file__).parent), "count", arguments.suite, "--out", arguments.out, "--child",
               "--repetitions", str(arguments.repetitions)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(done.stdout[-2000:] + done.stderr[-2000:])
    for row in rows_of(list(points_of(suite)), arguments.repetitions, done.stdout):
        file.add(row)
    return None
