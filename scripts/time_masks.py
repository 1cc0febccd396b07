#!/usr/bin/env python3
"""Times FlexAttention and FlashAttention-4 under given masks and formulas, against predictions that were made before.

    python3 scripts/time_masks.py --program natten-sim --predict data/mask-times.json    # no GPU: draws and predicts
    python3 scripts/time_masks.py --measure data/mask-times.json --out measured.json     # PyTorch and a GPU

Draws (--draw): `masks`, blocks chosen at random for each head as Video Sparse Attention does, bands that thin out with the
distance as Radial Attention has them, packed documents, prefixes, and windows with sinks; `formulas`, neighborhoods of two
and three axes whose coordinates FlexAttention computes by integer divisions; `flash`, the first three kinds for
FlashAttention-4's block-sparse kernel (flash-attn-4 in Python's path), and `flash-rules`, the last three. All have 32,768 tokens, 8 heads, head dim 128, bf16
and blocks of 128 tokens. Prediction: `natten-sim mask` or `count`. Measurement: CUDA events around one call that the host
has prepared, after 20 ms in which the L2 is overwritten again and again, so that clocks stay up while the GPU works
lightly; the median of 9. 32 queries of each point are checked against their definition.
"""

import argparse
import json
import multiprocessing
import random
import statistics
import subprocess
import tempfile
import time

TOKENS, HEADS, HEAD_DIM, BLOCK = 32768, 8, 128, 128
BLOCKS = TOKENS // BLOCK
TOLERANCE = 2e-2
LIGHT_S = 0.02
HOST_LEAD_CYCLES = 6_000_000  # 3 ms, in which the host prepares the call
KERNELS = {"masks": "flexattention", "formulas": "flexattention", "flash": "fa4", "flash-rules": "fa4"}


def rows_of(visited):
    """Full blocks as a BlockMask has them; visited: [heads][Q block] -> set of KV blocks."""
    rows = [[sorted(row) for row in head] for head in visited]
    return {"kv_num_blocks": [[[0] * BLOCKS for _ in rows]], "kv_indices": [[[[] for _ in head] for head in rows]],
            "full_kv_num_blocks": [[[len(row) for row in head] for head in rows]], "full_kv_indices": [rows],
            "BLOCK_SIZE": [BLOCK, BLOCK], "seq_lengths": [TOKENS, TOKENS]}


def chosen_blocks(rng, share):
    count = round(share * BLOCKS)
    return rows_of([[{q, *rng.sample(range(BLOCKS), count)} for q in range(BLOCKS)] for _ in range(HEADS)])


def thinning_bands(frame):
    """A block of `frame` blocks is whole near its own frame; twice as far away every second block is left, and so on."""
    def attends(q, kv):
        distance = abs(q // frame - kv // frame)
        step = 1 if distance < 2 else 2 ** (distance.bit_length() - 1)
        return abs(q - kv) % step == 0
    return rows_of([[{kv for kv in range(BLOCKS) if attends(q, kv)} for q in range(BLOCKS)]])


def documents(rng, longest):
    lengths, left = [], TOKENS
    while left:
        lengths.append(min(left, max(64, round(longest ** rng.uniform(0.6, 1)))))
        left -= lengths[-1]
    return lengths


def formulas(rng):
    """Layout, window, stride, tile and the function that computes coordinates of tokens."""
    shapes = [((256, 128), (1, 128), "rows"), ((128, 256), (8, 16), "tiles"), ((256, 128), (8, 16), "tiles"),
              ((16, 32, 64), (1, 2, 64), "rows"), ((8, 64, 64), (1, 2, 64), "rows"), ((32, 32, 32), (4, 4, 8), "tiles"),
              ((16, 32, 64), (2, 8, 8), "tiles"), ((8, 64, 64), (4, 4, 8), "tiles")]
    points = []
    for layout, tile, function in shapes:
        window = [rng.randrange(length // 6 + 1, length // 2 + 1) for length in layout]
        stride = [rng.choice((1, 1, 2, 4)) for _ in layout]
        points.append(("formula", {"layout": list(layout), "window": window, "stride": [min(s, w) for s, w in zip(stride, window)],
                                   "tile": list(tile), "function": function}))
    return points


def drawn(seed, draw):
    """Kind, and a rule as text, the blocks, or a formula."""
    rng = random.Random(seed)
    if draw == "formulas":
        return formulas(rng)
    points = [("chosen", chosen_blocks(rng, share)) for share in (0.06, 0.125, 0.3)]
    points += [("bands", thinning_bands(frame)) for frame in (6, 16, 32)]
    points += [("documents", "document:" + ",".join(map(str, documents(rng, longest))) + "&causal")
               for longest in (2000, 8000, 24000)]
    if draw == "flash":
        return points
    points += [("prefix", f"causal|prefix:{rng.randrange(500, 20000)}") for _ in range(2)]
    points += [("sink", f"window:{rng.randrange(1000, 9000)},0|prefix:{rng.randrange(1, 300)}&causal") for _ in range(2)]
    return [point for point in points if isinstance(point[1], str)] if draw == "flash-rules" else points


def words_of(kind, mask, file, kernel):
    sizes = ["-n", str(HEADS), "-d", str(HEAD_DIM), "--device", "h200", "--kernel", kernel, "--backprop", "--json"]
    if kind != "formula":
        if isinstance(mask, dict):
            json.dump(mask, file)
            file.flush()
        return ["mask", "--mask", mask if isinstance(mask, str) else file.name, "-i", str(TOKENS)] + sizes
    words = ["count", "--dtype", "bf16", "--mask-function", mask["function"]]
    for option, name in (("-i", "layout"), ("-w", "window"), ("-s", "stride"), ("--q-tile", "tile"), ("--kv-tile", "tile")):
        words += [option, *map(str, mask[name])]
    return words + sizes


def predict(program, path, seed, draw):
    points = []
    for kind, mask in drawn(seed, draw):
        with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
            words = [program, *words_of(kind, mask, file, KERNELS[draw])]
            result = json.loads(subprocess.run(words, capture_output=True, text=True, check=True).stdout)["result"]
        written = mask if isinstance(mask, str) or kind == "formula" else None
        point = {"kind": kind, "mask": written, "visited_tiles": result["visited_tiles"]}
        for name, fields in (("forward", result), ("backward", result["backward"])):
            point[name] = {key: fields["time_ms"][key] for key in ("total", "low", "high")}
        points.append(point)
    document = {"schema": "natten-sim.mask-times/1", "device": "h200", "kernel": KERNELS[draw], "seed": seed, "draw": draw,
                "points": points}
    with open(path, "w", encoding="utf-8") as file:
        json.dump(document, file, indent=1)
        file.write("\n")


def neighborhood(formula, torch):
    """The mask as FlexAttention gets it: coordinates by divisions of token numbers."""
    layout, window, stride, tile = (formula[name] for name in ("layout", "window", "stride", "tile"))
    tiles = [length // side for length, side in zip(layout, tile)]

    def on_axis(query, key, axis):
        s, w, length = stride[axis], window[axis], layout[axis]
        leader = torch.clamp(query // s * s + s // 2, max=length - 1) if s > 1 else query
        begin = torch.clamp(torch.clamp(leader - w // 2, min=0), max=length - w)
        return (begin <= key) & (key < begin + w)

    def rows(batch, head, query, key):
        inside = None
        for axis in reversed(range(len(layout))):
            mine = on_axis(query % layout[axis], key % layout[axis], axis)
            inside = mine if inside is None else inside & mine
            query, key = query // layout[axis], key // layout[axis]
        return inside

    def in_tiles(batch, head, query, key):
        inside = None
        q_tile, k_tile, q_in, k_in = query // BLOCK, key // BLOCK, query % BLOCK, key % BLOCK
        for axis in reversed(range(len(layout))):
            q = q_tile % tiles[axis] * tile[axis] + q_in % tile[axis]
            k = k_tile % tiles[axis] * tile[axis] + k_in % tile[axis]
            mine = on_axis(q, k, axis)
            inside = mine if inside is None else inside & mine
            q_tile, k_tile = q_tile // tiles[axis], k_tile // tiles[axis]
            q_in, k_in = q_in // tile[axis], k_in // tile[axis]
        return inside

    return rows if formula["function"] == "rows" else in_tiles


def attended(formula, query, torch):
    """Of one query, by its definition: the window's cells, and the places that tokens have in tiles."""
    layout, tile, function = formula["layout"], formula["tile"], formula["function"]
    grid = torch.arange(TOKENS).reshape(layout)
    if function == "tiles":
        cut = [size for length, side in zip(layout, tile) for size in (length // side, side)]
        order = list(range(0, len(cut), 2)) + list(range(1, len(cut), 2))
        place = grid.reshape(cut).permute(order).reshape(-1)  # of each place the token
    else:
        place = grid.reshape(-1)
    token, at, inside = int(place[query]), [], torch.zeros(layout, dtype=torch.bool)
    for length in reversed(layout):
        at.insert(0, token % length)
        token //= length
    box = []
    for i, length, w, s in zip(at, layout, formula["window"], formula["stride"]):
        begin = min(max(min(i // s * s + s // 2, length - 1) - w // 2, 0), length - w)
        box.append(slice(begin, begin + w))
    inside[tuple(box)] = True
    return inside.reshape(-1)[place].cuda()


class Bench:
    def __init__(self):
        import torch
        import torch._dynamo.config
        import torch._functorch.config
        torch._functorch.config.donated_buffer = False  # backward runs many times
        torch._dynamo.config.recompile_limit = 64  # a mask function each
        self.torch = torch
        make = lambda: torch.randn(1, HEADS, TOKENS, HEAD_DIM, device="cuda", dtype=torch.bfloat16, requires_grad=True)
        self.q, self.k, self.v = make(), make(), make()
        self.gradient = torch.randn_like(self.q).detach()
        self.light = torch.zeros(2**27, dtype=torch.uint8, device="cuda")
        self.document = torch.zeros(TOKENS, dtype=torch.int32, device="cuda")
        self.numbers = torch.zeros(3, dtype=torch.int32, device="cuda")
        document, numbers = self.document, self.numbers
        self.rules = {
            "chosen": lambda b, h, q, k: q >= 0, "bands": lambda b, h, q, k: q >= 0,
            "documents": lambda b, h, q, k: (document[q] == document[k]) & (q >= k),
            "prefix": lambda b, h, q, k: (q >= k) | (k < numbers[0]),
            "sink": lambda b, h, q, k: (q >= k) & ((q - k <= numbers[1]) | (k < numbers[0])),
        }

    def block_mask(self, kind, mask):
        from torch.nn.attention.flex_attention import BlockMask, create_block_mask
        torch = self.torch
        if kind == "formula":
            self.rules[kind] = neighborhood(mask, torch)
        elif isinstance(mask, dict):
            pad = lambda rows: torch.tensor([[row + [0] * (BLOCKS - len(row)) for row in head] for head in rows[0]],
                                            dtype=torch.int32, device="cuda")[None]
            number = lambda rows: torch.tensor(rows, dtype=torch.int32, device="cuda")
            return BlockMask.from_kv_blocks(number(mask["kv_num_blocks"]), pad(mask["kv_indices"]),
                                            number(mask["full_kv_num_blocks"]), pad(mask["full_kv_indices"]),
                                            BLOCK_SIZE=BLOCK, mask_mod=self.rules[kind], seq_lengths=(TOKENS, TOKENS))
        elif kind == "documents":
            lengths = torch.tensor([int(n) for n in mask.split("&")[0].split(":")[1].split(",")])
            self.document.copy_(torch.repeat_interleave(torch.arange(len(lengths)), lengths).int())
        else:
            self.numbers[0] = int(mask.split("prefix:")[1].split("&")[0])
            if kind == "sink":
                self.numbers[1] = int(mask.split("window:")[1].split(",")[0])
        return create_block_mask(self.rules[kind], None, None, TOKENS, TOKENS, device="cuda", BLOCK_SIZE=BLOCK, _compile=True)

    def check(self, kind, mask, output):
        """32 queries, in float32, by the mask's definition. output: (heads, tokens, head dim)."""
        torch = self.torch
        for query in random.Random(1).sample(range(TOKENS), 32):
            head = query % HEADS
            keys = torch.arange(TOKENS, device="cuda")
            if kind == "formula":
                seen = attended(mask, query, torch)
            elif isinstance(mask, dict):
                heads = mask["full_kv_indices"][0]
                row = torch.tensor(heads[head % len(heads)][query // BLOCK], device="cuda")
                seen = torch.isin(keys // BLOCK, row)
            else:
                seen = self.rules[kind](0, head, torch.tensor(query, device="cuda"), keys)
            scores = (self.k[0, head].float() @ self.q[0, head, query].float()) * HEAD_DIM ** -0.5
            expected = scores.masked_fill(~seen, -torch.inf).softmax(0) @ self.v[0, head].float()
            found = output[head, query].float()
            error = ((found - expected).norm() / expected.norm()).item()
            assert error < TOLERANCE, f"{kind}: query {query} is off by {error}"

    def timed(self, call):
        torch, times = self.torch, []
        for _ in range(3):
            call()
        for _ in range(9):
            until = time.monotonic() + LIGHT_S
            while time.monotonic() < until:
                self.light.fill_(len(times))
                torch.cuda.synchronize()
            begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
            torch.cuda._sleep(HOST_LEAD_CYCLES)
            begin.record()
            call()
            end.record()
            end.synchronize()
            times.append(begin.elapsed_time(end))
        return statistics.median(times)

    def calls(self, kind, mask, blocks):
        """The output as (heads, tokens, head dim), and what is timed."""
        from torch.nn.attention.flex_attention import flex_attention
        torch = self.torch
        attend = torch.compile(flex_attention, dynamic=False)
        output = attend(self.q, self.k, self.v, block_mask=blocks)
        return (output[0], lambda: attend(self.q, self.k, self.v, block_mask=blocks),
                lambda: torch.autograd.grad(output, (self.q, self.k, self.v), self.gradient, retain_graph=True))

    def point(self, kind, mask):
        blocks = self.block_mask(kind, mask)
        output, forward, backward = self.calls(kind, mask, blocks)
        self.check(kind, mask, output)
        visited = blocks.kv_num_blocks.sum().item() + blocks.full_kv_num_blocks.sum().item()
        return {"visited_tiles": visited, "forward_ms": self.timed(forward), "backward_ms": self.timed(backward)}


class FlashBench(Bench):
    def calls(self, kind, mask, blocks):
        import cutlass
        import cutlass.cute as cute
        from flash_attn.cute import interface, utils
        from flash_attn.cute.block_sparsity import BlockSparseTensorsTorch

        first, before, _ = self.numbers.tolist()

        @cute.jit
        def in_prefix(batch, head, q, kv, seqlen, aux):
            return (kv <= q) | (kv < utils.scalar_to_ssa(first, cutlass.Int32))

        @cute.jit
        def near_or_first(batch, head, q, kv, seqlen, aux):
            near = q - kv <= utils.scalar_to_ssa(before, cutlass.Int32)
            return (kv <= q) & (near | (kv < utils.scalar_to_ssa(first, cutlass.Int32)))

        @cute.jit
        def in_document(batch, head, q, kv, seqlen, aux):
            of_q = utils.scalar_to_ssa(aux[0][q[0]], cutlass.Int32)
            of_kv = utils.scalar_to_ssa(aux[0][kv[0]], cutlass.Int32)
            return (of_q == of_kv) & (kv <= q)

        lists = lambda *names: BlockSparseTensorsTorch(*(getattr(blocks, name) for name in names), block_size=(BLOCK, BLOCK))
        options = {"documents": {"mask_mod": in_document, "aux_tensors": [self.document]},
                   "prefix": {"mask_mod": in_prefix}, "sink": {"mask_mod": near_or_first}}.get(kind, {})
        q, k, v, gradient = (each.detach().transpose(1, 2).contiguous() for each in (self.q, self.k, self.v, self.gradient))
        by_q = lists("kv_num_blocks", "kv_indices", "full_kv_num_blocks", "full_kv_indices")
        by_kv = lists("q_num_blocks", "q_indices", "full_q_num_blocks", "full_q_indices")
        attend = lambda: interface._flash_attn_fwd(q, k, v, return_lse=True, block_sparse_tensors=by_q, **options)[:2]
        output, sums = attend()
        return (output[0].transpose(0, 1), attend,
                lambda: interface._flash_attn_bwd(q, k, v, output, gradient, sums, block_sparse_tensors=by_kv, **options))


def bench_of(document):
    return FlashBench() if document["kernel"] == "fa4" else Bench()


def compile_point(document, kind, mask):
    bench = bench_of(document)
    for call in bench.calls(kind, mask, bench.block_mask(kind, mask))[1:]:
        call()
    bench.torch.cuda.synchronize()


def compile_all(document, points):
    """One point of each function in a process of its own, whose compiled kernels the compilers' caches keep."""
    each = {json.dumps(mask) if kind == "formula" else kind: (kind, mask) for kind, mask in points}
    context = multiprocessing.get_context("spawn")
    workers = [context.Process(target=compile_point, args=(document, *point)) for point in each.values()]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()


def measure(path, out):
    with open(path, encoding="utf-8") as file:
        document = json.load(file)
    points = drawn(document["seed"], document.get("draw", "masks"))
    if document["kernel"] == "flexattention":
        compile_all(document, points)
    bench = bench_of(document)
    document["gpu"] = bench.torch.cuda.get_device_name()
    for point, (kind, mask) in zip(document["points"], points, strict=True):
        try:
            point["measured"] = bench.point(kind, mask)
        except Exception as error:  # the other points are measured all the same
            print(f"{kind}: {type(error).__name__}: {str(error)[:600]}", flush=True)
            continue
        print(kind, point["visited_tiles"], point["measured"]["visited_tiles"], flush=True)
        for phase in ("forward", "backward"):
            measured, predicted = point["measured"][phase + "_ms"], point[phase]
            inside = predicted["low"] <= measured <= predicted["high"]
            print(f"  {phase}: predicted {predicted['total']:.3f} ms, measured {measured:.3f} "
                  f"({100 * (predicted['total'] / measured - 1):+.1f}%){'' if inside else ', outside'}", flush=True)
        with open(out, "w", encoding="utf-8") as file:
            json.dump(document, file, indent=1)
            file.write("\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--program", default="natten-sim")
    parser.add_argument("--predict", metavar="FILE")
    parser.add_argument("--measure", metavar="FILE")
    parser.add_argument("--out", default="mask-times.json")
    parser.add_argument("--draw", choices=sorted(KERNELS), default="masks")
    parser.add_argument("--seed", type=int, default=20261128)
    arguments = parser.parse_args()
    if arguments.predict:
        predict(arguments.program, arguments.predict, arguments.seed, arguments.draw)
    if arguments.measure:
        measure(arguments.measure, arguments.out)


if __name__ == "__main__":
    main()
