#!/usr/bin/env python3
"""Times PyTorch's FlexAttention on this machine's GPU, with block masks of natten-sim's tile tables.

    python3 scripts/time_flexattention.py --program natten-sim --out recordings/flex.json
    natten-sim validate flex --recorded recordings

The points are those of the suite `flex` (--suite names another). For each, `natten-sim count --emit block-mask` tells
which blocks of 128 x 128 tokens are visited, partial and full ones apart, and what every query attends to along each
axis. Tokens lie tile by tile; copies into that order are not timed. A partial block asks for every pair whether the key's
coordinates lie in the query's ranges, which are read from tables, so one compiled kernel serves all masks.

Where natten-sim does not run, write the tables elsewhere first: --tables FILE without PyTorch, then --tables FILE here.

The method is that of `natten-sim validate`: CUDA events around one call, the L2 overwritten before each repetition,
random inputs, clocks read and never set; before each point the GPU works on it for --warm-up-ms. Each number of tokens,
heads and head dim is one process that compiles its kernels while others compile theirs; they take turns on the GPU.
64 queries of each forward point are checked against their definition. The format is natten-sim.recording/1.
"""

import argparse
import json
import math
import multiprocessing
import os
import subprocess
import sys
import time

from flexattention_tables import Layout, blocks_in, points_of, table_name, tables_of

HOST_LEAD_CYCLES = 600_000  # the GPU waits this long while the host prepares the call
CHECKED_QUERIES = 64
TOLERANCE = 2e-2
BLOCK = 128


def arguments_of():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--suite", default=os.path.join(os.path.dirname(__file__), "../data/suites/flex.json"))
    parser.add_argument("--program", help="the natten-sim program, which writes the tables")
    parser.add_argument("--tables", help="file of tables (.json.gz): read, or written with --program")
    parser.add_argument("--out", help="the recording; without it only tables are written")
    parser.add_argument("--commit", default="unknown", help="commit of the sources, for the recording")
    parser.add_argument("--repetitions", type=int, default=9)
    parser.add_argument("--warm-up-ms", type=int, default=250)
    return parser.parse_args()


class Bench:
    """Tensors and compiled kernels of one number of blocks, heads and head dim; masks are copied in."""

    def __init__(self, shape, arguments, device="cuda"):
        import torch
        import torch._dynamo
        import torch._functorch.config
        from torch.nn.attention.flex_attention import BlockMask, flex_attention

        torch._functorch.config.donated_buffer = False  # backward runs many times
        torch._dynamo.config.automatic_dynamic_shapes = False
        self.torch, self.arguments, self.device = torch, arguments, device
        blocks, heads, head_dim, dtype = shape
        tokens = blocks * BLOCK
        kind = {"bf16": torch.bfloat16, "fp16": torch.float16}[dtype]
        make = lambda: torch.randn(1, heads, tokens, head_dim, device=device, dtype=kind, requires_grad=True)
        self.q, self.k, self.v = make(), make(), make()
        self.grad = torch.randn_like(self.q).detach()
        empty = lambda: torch.zeros(tokens, device=device, dtype=torch.int32)
        self.begin, self.end, self.key = ([empty() for _ in range(3)] for _ in range(3))
        b0, b1, b2 = self.begin
        e0, e1, e2 = self.end
        k0, k1, k2 = self.key

        def mask_mod(batch, head, query, key):
            x, y, z = k0[key], k1[key], k2[key]
            return ((x >= b0[query]) & (x < e0[query]) & (y >= b1[query]) & (y < e1[query]) & (z >= b2[query])
                    & (z < e2[query]))

        self.mask_mod = mask_mod
        self.block_mask_of = lambda rows: BlockMask.from_kv_blocks(*rows, BLOCK_SIZE=BLOCK, mask_mod=mask_mod,
                                                                   seq_lengths=(tokens, tokens))
        self.blocks = blocks
        diagonal = [[row] for row in range(blocks)]
        self.mask = self.block_mask_of(self.rows_of(diagonal) + self.rows_of(diagonal))
        self.attention = torch.compile(flex_attention, dynamic=False)
        self.cover = torch.empty(128 << 20, dtype=torch.uint8, device=device)

    def rows_of(self, rows):
        torch = self.torch
        counts = torch.tensor([len(row) for row in rows], dtype=torch.int32)
        indices = torch.zeros(len(rows), self.blocks, dtype=torch.int32)
        for i, row in enumerate(rows):
            if row:
                indices[i, :len(row)] = torch.tensor(row, dtype=torch.int32)
        return [counts.to(self.device)[None, None], indices.to(self.device)[None, None]]

    def compile(self):
        out = self.attention(self.q, self.k, self.v, block_mask=self.mask)
        self.torch.autograd.grad(out, (self.q, self.k, self.v), self.grad, retain_graph=True)
        self.torch.cuda.synchronize()

    def take(self, table):
        layout = Layout(table, self.torch)
        for own, new in ((self.begin, layout.begin), (self.end, layout.end), (self.key, layout.key)):
            for into, values in zip(own, new):
                into.copy_(values)
        rows = []
        for name in ("partial", "full"):
            flat, at, lists = table[name]["blocks"], 0, []
            for count in table[name]["counts"]:
                lists.append(flat[at:at + count])
                at += count
            rows += self.rows_of(lists)
        made = self.block_mask_of(rows)
        for name in ("kv_num_blocks", "kv_indices", "full_kv_num_blocks", "full_kv_indices", "q_num_blocks", "q_indices",
                     "full_q_num_blocks", "full_q_indices"):
            getattr(self.mask, name).copy_(getattr(made, name))
        return layout

    def error(self, layout, out):
        """Of queries that lie in no padding, against softmax(q k) v over the pairs that attend."""
        torch = self.torch
        inside = torch.nonzero((layout.end[0] > 0) & (layout.end[1] > 0) & (layout.end[2] > 0)).flatten()
        picked = inside[torch.randperm(inside.numel())[:CHECKED_QUERIES]]
        q = self.q[0, 0].detach()[picked.to(self.device)].double()
        logits = q @ self.k[0, 0].detach().double().T / math.sqrt(q.shape[1])
        allowed = layout.group[picked][:, None] == layout.group[None, :]
        for axis in range(3):
            key = layout.key[axis][None, :]
            allowed &= (key >= layout.begin[axis][picked][:, None]) & (key < layout.end[axis][picked][:, None])
        logits = logits.masked_fill(~allowed.to(self.device), float("-inf"))
        expected = torch.softmax(logits, dim=1) @ self.v[0, 0].detach().double()
        got = out[0, 0].detach()[picked.to(self.device)].double()
        return ((got - expected).norm() / expected.norm()).item()

    def milliseconds(self, work):
        torch = self.torch
        start = time.monotonic()
        work()
        torch.cuda.synchronize()
        once = max(time.monotonic() - start, 1e-4)
        until = start + 1e-3 * self.arguments.warm_up_ms
        while time.monotonic() < until:
            for _ in range(max(1, min(20, int(0.02 / once)))):
                work()
            torch.cuda.synchronize()
        events = []
        for i in range(self.arguments.repetitions):
            self.cover.fill_(i % 256)
            torch.cuda._sleep(HOST_LEAD_CYCLES)
            begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            begin.record()
            work()
            end.record()
            events.append((begin, end))
        torch.cuda.synchronize()
        return [begin.elapsed_time(end) for begin, end in events]

    def times(self, table, passes):
        """Milliseconds of each pass, or why not."""
        torch = self.torch
        layout = self.take(table)
        inputs = (self.q, self.k, self.v)
        out = self.attention(*inputs, block_mask=self.mask)
        error = self.error(layout, out)
        if not error <= TOLERANCE:
            return {name: f"wrong: relative error {error:.2e}" for name in passes}
        found = {}
        if "forward" in passes:
            found["forward"] = self.milliseconds(lambda: self.attention(*inputs, block_mask=self.mask))
        if "backward" in passes:
            found["backward"] = self.milliseconds(
                lambda: torch.autograd.grad(out, inputs, self.grad, retain_graph=True))
        return found

    def resources(self):
        """Registers, shared memory and warps of the compiled kernels."""
        from torch._inductor.codecache import PyCodeCache

        found = []
        for module in PyCodeCache.modules:
            for name, value in vars(module).items():
                for launcher in getattr(value, "launchers", []):
                    found.append([name, getattr(launcher, "n_regs", None), getattr(launcher, "n_spills", None),
                                  getattr(launcher, "shared", None), dict(getattr(launcher.config, "kwargs", {})),
                                  getattr(launcher.config, "num_warps", None),
                                  getattr(launcher.config, "num_stages", None)])
        return found


def run_shape(shape, tasks, arguments, ready, turn, results):
    """One process. `tasks`: (table, passes with the places of their rows)."""
    try:
        start = time.monotonic()
        bench = Bench(shape, arguments)
        bench.compile()
        print(f"{shape}: compiled in {time.monotonic() - start:.1f} s", flush=True)
        try:
            print(shape, bench.resources(), flush=True)
        except Exception as error:  # what it says is only informative
            print(shape, repr(error), flush=True)
    except Exception as error:
        ready.wait()
        results.put([(place, f"failed: {str(error)[:300]}") for _, rows in tasks for place in rows.values()])
        return
    ready.wait()
    with turn:
        found = []
        for table, rows in tasks:
            try:
                times = bench.times(table, list(rows))
            except Exception as error:
                times = {name: f"failed: {str(error)[:300]}" for name in rows}
            found += [(place, times[name]) for name, place in rows.items()]
        results.put(found)


def measured(points, tables, arguments):
    shapes = {}
    for place, point in enumerate(points):
        name = table_name(point)
        shape = (blocks_in(tables[name]), point["heads"], point["head_dim"], point["dtype"])
        shapes.setdefault(shape, {}).setdefault(name, {})[point["pass"]] = place
    context = multiprocessing.get_context("spawn")
    ready, turn, results = context.Barrier(len(shapes)), context.Lock(), context.Queue()
    workers = []
    for shape, named in shapes.items():
        tasks = [(tables[name], rows) for name, rows in named.items()]
        workers.append(context.Process(target=run_shape, args=(shape, tasks, arguments, ready, turn, results)))
        workers[-1].start()
    found = {}
    for _ in workers:
        for place, times in results.get():
            found[place] = times
    for worker in workers:
        worker.join()
    return [found[place] for place in range(len(points))]


def spread_of(values):
    ordered = sorted(values)
    n, middle = len(ordered), len(ordered) // 2
    return {"median": ordered[middle] if n % 2 else (ordered[middle - 1] + ordered[middle]) / 2,
            "p95": ordered[math.ceil(0.95 * n) - 1], "smallest": ordered[0], "largest": ordered[-1]}


def read_clocks():
    query = "--query-gpu=clocks.sm,clocks.mem,driver_version"
    try:
        text = subprocess.run(["nvidia-smi", query, "--format=csv,noheader,nounits"], capture_output=True, text=True,
                              check=True, timeout=60).stdout.splitlines()[0]
        return text.split(",")[2].strip()
    except (OSError, subprocess.SubprocessError, IndexError):
        return "unknown"


def recording_of(suite, points, times, arguments):
    import torch

    device = torch.cuda.get_device_properties(0)
    name = device.name.lower()
    profile = next((each for each in ("h200", "h100", "b200", "a100") if each in name), "")
    head = {
        "schema": "natten-sim.recording/1",
        "suite": suite["name"],
        "device": {"name": device.name, "profile": profile, "sms": device.multi_processor_count,
                   "l2_bytes": device.L2_cache_size, "memory_bytes": device.total_memory,
                   "compute_capability": f"{device.major}.{device.minor}"},
        "driver": read_clocks(),
        "toolkit": f"PyTorch {torch.__version__}, CUDA {torch.version.cuda}",
        "profiler": "none: times by events",
        "clocks_policy": f"untouched; launches for {arguments.warm_up_ms} ms before each timed point",
        "cache_control": "L2 overwritten before each repetition",
        "commit": arguments.commit,
        "metrics": {},
    }
    rows = []
    for point, values in zip(points, times):
        row = {"point": point, "status": "measured", "counters": {}}
        if isinstance(values, str):
            row["status"] = values
        else:
            row["time_ms"] = {**spread_of(values), "repetitions": len(values), "inputs": 1, "l2": "flushed"}
        rows.append(row)
    return head, rows


def write(path, head, rows):
    lines = ",\n    ".join(json.dumps(row, separators=(",", ":")) for row in rows)
    with open(path + ".partial", "w", encoding="utf-8") as file:
        file.write(json.dumps(head, indent=2)[:-2] + ',\n  "rows": [\n    ' + lines + "\n  ]\n}\n")
    os.replace(path + ".partial", path)


def main():
    arguments = arguments_of()
    with open(arguments.suite, encoding="utf-8") as file:
        suite = json.load(file)
    points = list(points_of(suite))
    if not arguments.program and not (arguments.tables and os.path.exists(arguments.tables)):
        sys.exit("name the natten-sim program (--program), or a file of tables that is there (--tables)")
    tables = tables_of(arguments, points)
    if not arguments.out:
        return 0
    import torch

    if not torch.cuda.is_available():
        print("this needs a CUDA GPU, but PyTorch sees none", file=sys.stderr)
        return 4
    times = measured(points, tables, arguments)
    write(arguments.out, *recording_of(suite, points, times, arguments))
    for point, values in zip(points, times):
        shown = values if isinstance(values, str) else f"{spread_of(values)['median']:.3f} ms"
        print(table_name(point), point["heads"], point["head_dim"], point["pass"], shown)
    return 0


if __name__ == "__main__":
    sys.exit(main())
