"""PyTorch's scatter_add, index_add and embedding backward, and this project's paths, on suites like `scatter`.

Needs scatter_add_bench of a build with -DNATTEN_SIM_BUILD_BENCH=ON, which draws the row numbers. The destination is
zeroed once; then come four accumulating runs, each between CUDA events, or two if the first takes longer than 150 ms.
Times are those without the first run; counters are those of the first. On an idle GPU the events also see what the host
takes to launch, 10 to 40 us; of points that are `queued` the GPU sleeps until the host has launched.
"""

from __future__ import annotations

import ctypes
import glob
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import recording

LABELS = {"l2_reduction_sectors": "lts__t_sectors_op_red.sum", "l2_atomic_sectors": "lts__t_sectors_op_atom.sum",
          "l1_reduction_sectors": "l1tex__t_sectors_pipe_lsu_mem_global_op_red.sum",
          "l1_atomic_sectors": "l1tex__t_sectors_pipe_lsu_mem_global_op_atom.sum",
          "busiest_slice_cycles": "lts__d_atomic_input_cycles_active.max", "l2_cycles": "lts__cycles_elapsed.max",
          "dram_read_bytes": "dram__bytes_read.sum", "dram_write_bytes": "dram__bytes_write.sum"}
OPERATORS = ("scatter_add", "index_add", "embedding")
LONG_MS, SLEEP_CYCLES = 150, 400_000


def found(build: str, name: str) -> str:
    paths = glob.glob(f"{build}/**/{name}", recursive=True)
    if not paths:
        sys.exit(f"{name} is not in {build}: build it with -DNATTEN_SIM_BUILD_BENCH=ON")
    return paths[0]


def operator_of(point: dict[str, Any]) -> str:
    return str(point.get("operator", "scatter_add"))


def cell_of(point: dict[str, Any], path: str) -> str:
    words = [path, "row", *(point[name] for name in ("dtype", "width", "updates", "rows", "distribution")),
             point.get("seed", "")]
    return " ".join(map(str, words))


def drawn_rows(points: list[dict[str, Any]], bench: str) -> list[np.ndarray[Any, Any]]:
    """Row numbers of each point."""
    with tempfile.TemporaryDirectory() as folder:
        cells = Path(folder) / "cells"
        cells.write_text("\n".join(cell_of(point, "scalar") for point in points) + "\n", encoding="utf-8")
        subprocess.run([bench, "index", str(cells), folder], check=True)
        return [np.fromfile(f"{folder}/{number}.bin", dtype=np.int64) for number in range(len(points))]


def work_of(point: dict[str, Any], rows: np.ndarray[Any, Any]) -> Any:
    import torch

    kind = {"fp32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16}[point["dtype"]]
    index, width = torch.from_numpy(rows).cuda(), point["width"]
    values = torch.randn(len(rows), width, device="cuda", dtype=kind)
    destination = torch.zeros(point["rows"], width, device="cuda", dtype=kind)
    if operator_of(point) == "scatter_add":
        expanded = index.unsqueeze(1).expand(-1, width).contiguous()
        return lambda: destination.scatter_add_(0, expanded, values)
    if operator_of(point) == "index_add":
        return lambda: destination.index_add_(0, index, values)
    backward = torch.ops.aten.embedding_dense_backward  # which makes a new gradient each time
    return lambda: backward(values, index, point["rows"], -1, False)


def milliseconds(work: Any, queued: bool) -> list[float]:
    import torch

    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    times: list[float] = []
    while len(times) < (2 if times and times[0] > LONG_MS else 4):
        torch.cuda.synchronize()
        if queued:
            torch.cuda._sleep(SLEEP_CYCLES)
        begin.record()
        work()
        end.record()
        end.synchronize()
        times.append(begin.elapsed_time(end))
    return times[1:]


class Counters:
    """Of CUPTI, around a call."""

    def __init__(self, library: str) -> None:
        self.library, self.call = ctypes.CDLL(library), ctypes.CFUNCTYPE(None)
        self.library.natten_sim_counters_open.restype = ctypes.c_void_p
        self.profiler = self.library.natten_sim_counters_open(",".join(LABELS.values()).encode())
        if not self.profiler:
            sys.exit("no counters")

    def of(self, work: Any) -> dict[str, Any]:
        values = (ctypes.c_double * len(LABELS))()
        if self.library.natten_sim_counters_measure(ctypes.c_void_p(self.profiler), self.call(work), values) != 0:
            sys.exit("counting failed")
        return {label: recording.spread_of([value]) for label, value in zip(LABELS, values, strict=True)}


def own_path_ms(point: dict[str, Any], bench: str) -> list[float]:
    """This project's path, by the bench alone."""
    with tempfile.NamedTemporaryFile("w", suffix=".cells") as cells:
        cells.write(cell_of(point, operator_of(point)) + "\n")
        cells.flush()
        lines = subprocess.run([bench, "time", cells.name, "60"], check=True, capture_output=True,
                               text=True).stdout.splitlines()
    times: list[float] = next(row["ms"] for row in map(json.loads, lines) if "ms" in row)
    return times[1:]


def record(points: list[dict[str, Any]], file: recording.File, build: str, counted: bool) -> None:
    """Adds a row for each point."""
    bench = found(build, "scatter_add_bench")
    counters = Counters(found(build, "libscatter_counters.so")) if counted else None
    file.head["cache_control"] = "none: four accumulating runs since the destination was zeroed; counters of the first"
    file.head["metrics"] = LABELS if counted else {}
    for point, rows in zip(points, drawn_rows(points, bench), strict=True):
        if file.has(point=point):
            continue
        if operator_of(point) not in OPERATORS:
            row = recording.row_of(point, own_path_ms(point, bench), l2="warm")
        else:
            work = work_of(point, rows)
            first = counters.of(work) if counters else {}
            work = work_of(point, rows)
            row = recording.row_of(point, milliseconds(work, point.get("queued", False)), l2="warm")
            row["counters"] = first
        file.add(row)
