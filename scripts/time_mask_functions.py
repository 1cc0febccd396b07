#!/usr/bin/env python3
"""Times FlexAttention's partial blocks with mask functions of different length, on this machine's GPU.

    python3 scripts/time_mask_functions.py --program natten-sim --tables tables.json.gz
    python3 scripts/time_mask_functions.py --tables tables.json.gz --out masks.json

For each layout: the mask that reads ranges from tables (`table`), comparisons of token numbers alone (`compare`, sequences
only), coordinates by divisions of places in tiles (`tiles`) and those of tokens in row-major order as `natten-sim count
--emit flex` writes them (`rows`). All visit the same number of blocks in one order of tokens, and 64 queries of each are
checked. A row also has the instructions of the compiled kernels, told by nvdisasm where it is installed.
"""

import argparse
import json
import multiprocessing
import os
import re
import subprocess
import sys
import tempfile

import flexattention_tables
import time_flexattention as flex

# input, window, stride, tile, heads, functions
POINTS = [("32768", "2048", "1", "128", 8, ["table", "compare", "rows"]),
          ("32768", "2048", "256", "128", 8, ["rows"]),
          ("128x128", "24x24", "1x1", "8x16", 16, ["table", "tiles"]),
          ("128x128", "24x24", "8x8", "8x16", 16, ["table", "tiles"]),
          ("128x128", "24x24", "1x1", "1x128", 16, ["table", "rows"]),
          ("16x32x32", "8x16x16", "1x1x1", "4x4x8", 16, ["table", "tiles"]),
          ("16x32x32", "8x16x16", "1x1x1", "1x4x32", 16, ["table", "rows"])]
HEAD_DIMS = (64, 128)


def mask_of(function, layout, window, stride, tile, torch):
    tiles = [-(-length // side) for length, side in zip(layout, tile)]

    def on_axis(query, key, axis):
        s, w, length = stride[axis], window[axis], layout[axis]
        leader = torch.clamp(query // s * s + s // 2, max=length - 1) if s > 1 else query
        begin = torch.clamp(torch.clamp(leader - w // 2, min=0), max=length - w)
        return (begin <= key) & (key < begin + w) & (key < length)

    def compare(batch, head, query, key):
        return on_axis(query, key, 0)

    def rows(batch, head, query, key):
        inside = None
        for axis in reversed(range(len(layout))):
            q, k = query % layout[axis], key % layout[axis]
            leader = torch.clamp(q // stride[axis] * stride[axis] + stride[axis] // 2, max=layout[axis] - 1)
            begin = torch.clamp(torch.clamp(leader - window[axis] // 2, min=0), max=layout[axis] - window[axis])
            mine = (begin <= k) & (k < begin + window[axis])
            inside = mine if inside is None else inside & mine
            query, key = query // layout[axis], key // layout[axis]
        return inside

    def in_tiles(batch, head, query, key):
        inside = None
        q_tile, k_tile, q_in, k_in = query // 128, key // 128, query % 128, key % 128
        for axis in reversed(range(len(layout))):
            q = q_tile % tiles[axis] * tile[axis] + q_in % tile[axis]
            k = k_tile % tiles[axis] * tile[axis] + k_in % tile[axis]
            mine = on_axis(q, k, axis)
            inside = mine if inside is None else inside & mine
            q_tile, k_tile = q_tile // tiles[axis], k_tile // tiles[axis]
            q_in, k_in = q_in // tile[axis], k_in // tile[axis]
        return inside

    return {"compare": compare, "rows": rows, "tiles": in_tiles}[function]


class MaskBench(flex.Bench):
    def use(self, mask):
        from torch.nn.attention.flex_attention import BlockMask

        tokens = self.q.shape[2]
        self.mask_mod = mask
        self.block_mask_of = lambda rows: BlockMask.from_kv_blocks(*rows, BLOCK_SIZE=flex.BLOCK, mask_mod=mask,
                                                                   seq_lengths=(tokens, tokens))
        diagonal = [[row] for row in range(self.blocks)]
        self.mask = self.block_mask_of(self.rows_of(diagonal) + self.rows_of(diagonal))

    def instructions(self):
        """Of the compiled kernels: name, warps, tile, lines of SASS by operation."""
        from torch._inductor.codecache import PyCodeCache

        found = []
        for module in PyCodeCache.modules:
            for name, value in vars(module).items():
                for launcher in getattr(value, "launchers", []) + [None]:
                    if launcher is None:
                        continue
                    for compiled in getattr(value, "compile_results", []):
                        kernel = getattr(compiled, "kernel", None)
                        asm = getattr(kernel, "asm", {})
                        entry = {"name": name, "options": dict(getattr(launcher.config, "kwargs", {})),
                                 "warps": getattr(launcher.config, "num_warps", None), "registers": getattr(launcher, "n_regs", None)}
                        entry["ptx"] = len(re.findall(r"^\s+(?:@\S+\s+)?[a-z]\S*.*;", asm.get("ptx", ""), re.M))
                        entry["sass"] = lines_of_sass(asm.get("cubin"))
                        found.append(entry)
                    break
        return found


def lines_of_sass(cubin):
    if not cubin:
        return None
    with tempfile.NamedTemporaryFile(suffix=".cubin") as file:
        file.write(cubin)
        file.flush()
        for tool in ("nvdisasm", "/usr/local/cuda/bin/nvdisasm"):
            try:
                text = subprocess.run([tool, "-c", file.name], capture_output=True, text=True, check=True).stdout
            except (OSError, subprocess.SubprocessError):
                continue
            return len(re.findall(r"^\s+/\*[0-9a-f]{4,}\*/\s+\S", text, re.M))
    return None


def run(task, arguments, ready, turn, results):
    point, function, head_dim, table = task
    sizes = [flexattention_tables.sizes(text) for text in point[:4]]
    rows = []
    try:
        import torch

        bench = MaskBench((flexattention_tables.blocks_in(table), point[4], head_dim, "bf16"), arguments)
        if function != "table":
            bench.use(mask_of(function, *sizes, torch))
        bench.compile()
    except Exception as error:
        ready.wait()
        results.put([{"point": point[:5], "function": function, "head_dim": head_dim, "status": str(error)[:500]}])
        return
    ready.wait()
    with turn:
        try:
            times = bench.times(table, ["forward", "backward"])
            kernels = bench.instructions()
        except Exception as error:
            times, kernels = {"forward": str(error)[:500]}, []
    for name, values in times.items():
        row = {"point": point[:5], "function": function, "head_dim": head_dim, "pass": name,
               "partial": len(table["partial"]["blocks"]), "full": len(table["full"]["blocks"]), "kernels": kernels}
        row["time_ms" if not isinstance(values, str) else "status"] = (
            values if isinstance(values, str) else flex.spread_of(values))
        rows.append(row)
    results.put(rows)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--program", help="the natten-sim program, which writes the tables")
    parser.add_argument("--tables", required=True, help="file of tables (.json.gz): read, or written with --program")
    parser.add_argument("--out", help="the measured rows; without it only tables are written")
    parser.add_argument("--repetitions", type=int, default=9)
    parser.add_argument("--warm-up-ms", type=int, default=150)
    arguments = parser.parse_args()
    points = [{"input": p[0], "window": p[1], "stride": p[2], "dilation": "x".join("1" for _ in p[0].split("x")),
               "causal": "x".join("0" for _ in p[0].split("x")), "q_tile": p[3], "kv_tile": p[3]} for p in POINTS]
    tables = flexattention_tables.tables_of(arguments, points)
    if not arguments.out:
        return 0
    tasks = [(point, function, head_dim, tables[flexattention_tables.table_name(named)])
             for point, named in zip(POINTS, points) for function in point[5] for head_dim in HEAD_DIMS]
    context = multiprocessing.get_context("spawn")
    ready, turn, results = context.Barrier(len(tasks)), context.Lock(), context.Queue()
    workers = [context.Process(target=run, args=(task, arguments, ready, turn, results)) for task in tasks]
    for worker in workers:
        worker.start()
    rows = [row for _ in workers for row in results.get()]
    for worker in workers:
        worker.join()
    with open(arguments.out, "w", encoding="utf-8") as file:
        json.dump(rows, file)
    for row in rows:
        shown = f"{row['time_ms']['median']:.4f} ms" if "time_ms" in row else row.get("status")
        print(*row["point"], row["function"], row["head_dim"], row.get("pass"), row.get("partial"), row.get("full"), shown)
    return 0


if __name__ == "__main__":
    sys.exit(main())
