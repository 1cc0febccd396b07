#!/usr/bin/env python3
"""Times PyTorch's scatter_add, index_add and embedding backward on this machine's GPU, and counts their sectors.

    scatter_add_bench index CELLS FOLDER
    python3 scripts/time_torch_scatter.py CELLS FOLDER --out times.jsonl --seconds 60
    python3 scripts/time_torch_scatter.py CELLS FOLDER --out counts.jsonl --counters libscatter_counters.so

A cell is a line "operator dtype width updates rows distribution", perhaps with a seed; FOLDER holds the row numbers of each cell, which
scatter_add_bench writes from the same file with "scalar row" in the operator's place. The destination is zeroed once;
then come four accumulating runs, each between CUDA events, or two if the first takes longer than 150 ms. Counters are
those of the first run. Cells that come after the seconds are over are left out.

On an idle GPU the first event's time includes what the host takes to launch, 10 to 40 us. With --queued the GPU sleeps
until the host has launched, so that the events see the operator alone.
"""

import argparse
import ctypes
import json
import time

import numpy
import torch

METRICS = ["lts__t_sectors_op_red.sum", "lts__t_sectors_op_atom.sum", "l1tex__t_sectors_pipe_lsu_mem_global_op_red.sum",
           "l1tex__t_sectors_pipe_lsu_mem_global_op_atom.sum", "lts__t_requests_op_atom.sum",
           "lts__d_atomic_input_cycles_active.max", "lts__cycles_elapsed.max", "dram__bytes_read.sum", "dram__bytes_write.sum"]
KINDS = {"fp32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16}
LONG_MS = 150
SLEEP_CYCLES = 400_000  # .2 ms


class Cell:
    """Tensors of one cell, and the call."""

    def __init__(self, line, file):
        self.operator, self.dtype, width, updates, rows, self.distribution = line.split()[:6]
        self.width, self.updates, self.rows = int(width), int(updates), int(rows)
        kind = KINDS[self.dtype]
        index = torch.from_numpy(numpy.fromfile(file, dtype=numpy.int64)).cuda()
        assert index.numel() == self.updates
        generator = torch.Generator(device="cuda").manual_seed(1)
        self.values = torch.randn(self.updates, self.width, device="cuda", dtype=kind, generator=generator)
        self.destination = torch.zeros(self.rows, self.width, device="cuda", dtype=kind)
        if self.operator == "scatter_add":
            self.index = index.unsqueeze(1).expand(-1, self.width).contiguous()
            self.run = lambda: self.destination.scatter_add_(0, self.index, self.values)
        elif self.operator == "index_add":
            self.index = index
            self.run = lambda: self.destination.index_add_(0, self.index, self.values)
        else:  # allocates the gradient anew each time
            self.index = index
            self.run = lambda: torch.ops.aten.embedding_dense_backward(self.values, self.index, self.rows, -1, False)


def milliseconds(cell, queued):
    """Times of the accumulating runs."""
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    times = []
    while len(times) < (2 if times and times[0] > LONG_MS else 4):
        torch.cuda.synchronize()
        if queued:
            torch.cuda._sleep(SLEEP_CYCLES)
        begin.record()
        cell.run()
        end.record()
        end.synchronize()
        times.append(begin.elapsed_time(end))
    return times


class Counters:
    def __init__(self, library):
        self.library = ctypes.CDLL(library)
        self.library.natten_sim_counters_open.restype = ctypes.c_void_p
        self.work = ctypes.CFUNCTYPE(None)
        self.profiler = self.library.natten_sim_counters_open(",".join(METRICS).encode())
        if not self.profiler:
            raise SystemExit("no counters")

    def of(self, run):
        values = (ctypes.c_double * len(METRICS))()

        @self.work
        def work():
            run()

        status = self.library.natten_sim_counters_measure(ctypes.c_void_p(self.profiler), work, values)
        if status != 0:
            raise SystemExit("counting failed")
        return dict(zip(METRICS, values))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("cells")
    parser.add_argument("folder")
    parser.add_argument("--out", required=True)
    parser.add_argument("--counters", help="the shared library of bench/scatter_add/counters_c_api.cpp")
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--queued", action="store_true", help="launch while the GPU sleeps")
    arguments = parser.parse_args()
    torch.zeros(1, device="cuda")
    counters = Counters(arguments.counters) if arguments.counters else None
    lines = [line.strip() for line in open(arguments.cells) if line.strip() and not line.startswith("#")]
    started, warm = time.time(), set()
    with open(arguments.out, "w") as out:
        out.write(json.dumps({"device": torch.cuda.get_device_name(), "torch": torch.__version__}) + "\n")
        for number, line in enumerate(lines):
            if time.time() - started > arguments.seconds:
                out.write(json.dumps({"left_out": len(lines) - number}) + "\n")
                break
            operator, dtype, width, updates, rows, distribution, *seed = line.split()
            named = {"operator": operator, "dtype": dtype, "width": int(width), "updates": int(updates),
                     "rows": int(rows), "distribution": distribution, "seed": int(seed[0]) if seed else 0}
            try:
                cell = Cell(line, f"{arguments.folder}/{number}.bin")
                if (cell.operator, cell.dtype) not in warm:  # loads the kernel
                    warm.add((cell.operator, cell.dtype))
                    tiny = [t[:1].clone() for t in (cell.destination, cell.index * 0, cell.values)]
                    if cell.operator == "scatter_add":
                        tiny[0].scatter_add_(0, tiny[1], tiny[2])
                    elif cell.operator == "index_add":
                        tiny[0].index_add_(0, tiny[1], tiny[2])
                    else:
                        torch.ops.aten.embedding_dense_backward(tiny[2], tiny[1], 1, -1, False)
                measured = counters.of(cell.run) if counters else {"ms": milliseconds(cell, arguments.queued)}
            except torch.cuda.OutOfMemoryError:
                measured = {"status": "out of memory"}
            out.write(json.dumps({**named, **measured}) + "\n")
            out.flush()
            cell = None


if __name__ == "__main__":
    main()
