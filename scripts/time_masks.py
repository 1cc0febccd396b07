#!/usr/bin/env python3
"""Times FlexAttention under masks that are no neighborhoods, against predictions that were made before.

    python3 scripts/time_masks.py --program natten-sim --predict data/mask-times.json    # no GPU: draws and predicts
    python3 scripts/time_masks.py --measure data/mask-times.json --out measured.json     # PyTorch and a GPU

The masks: blocks chosen at random for each head as Video Sparse Attention does, bands that thin out with the distance
as Radial Attention has them, packed documents, prefixes, and windows with sinks. All have 32,768 tokens, 8 heads, head
dim 128, bf16 and blocks of 128 tokens. Prediction: `natten-sim mask --backprop`. Measurement: CUDA events around one call
that the host has prepared, after 20 ms in which the L2 is overwritten again and again, so that clocks stay up while the
GPU works lightly; the median of 9. 32 queries of each point are checked against their definition.
"""

import argparse
import json
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


def drawn(seed):
    """Kind, and a rule as text or the blocks."""
    rng = random.Random(seed)
    points = [("chosen", chosen_blocks(rng, share)) for share in (0.06, 0.125, 0.3)]
    points += [("bands", thinning_bands(frame)) for frame in (6, 16, 32)]
    points += [("documents", "document:" + ",".join(map(str, documents(rng, longest))) + "&causal")
               for longest in (2000, 8000, 24000)]
    points += [("prefix", f"causal|prefix:{rng.randrange(500, 20000)}") for _ in range(2)]
    points += [("sink", f"window:{rng.randrange(1000, 9000)},0|prefix:{rng.randrange(1, 300)}&causal") for _ in range(2)]
    return points


def predict(program, path, seed):
    points = []
    for kind, mask in drawn(seed):
        with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
            if isinstance(mask, dict):
                json.dump(mask, file)
                file.flush()
            words = [program, "mask", "--mask", mask if isinstance(mask, str) else file.name, "-i", str(TOKENS), "-n", str(HEADS),
                     "-d", str(HEAD_DIM), "--device", "h200", "--backprop", "--json"]
            result = json.loads(subprocess.run(words, capture_output=True, text=True, check=True).stdout)["result"]
        point = {"kind": kind, "mask": mask if isinstance(mask, str) else None, "visited_tiles": result["visited_tiles"]}
        for name, fields in (("forward", result), ("backward", result["backward"])):
            point[name] = {key: fields["time_ms"][key] for key in ("total", "low", "high")}
        points.append(point)
    document = {"schema": "natten-sim.mask-times/1", "device": "h200", "kernel": "flexattention", "seed": seed, "points": points}
    with open(path, "w", encoding="utf-8") as file:
        json.dump(document, file, indent=1)
        file.write("\n")


class Bench:
    def __init__(self):
        import torch
        import torch._functorch.config
        torch._functorch.config.donated_buffer = False  # backward runs many times
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
        if isinstance(mask, dict):
            pad = lambda rows: torch.tensor([[row + [0] * (BLOCKS - len(row)) for row in head] for head in rows[0]],
                                            dtype=torch.int32, device="cuda")[None]
            number = lambda rows: torch.tensor(rows, dtype=torch.int32, device="cuda")
            return BlockMask.from_kv_blocks(number(mask["kv_num_blocks"]), pad(mask["kv_indices"]),
                                            number(mask["full_kv_num_blocks"]), pad(mask["full_kv_indices"]),
                                            BLOCK_SIZE=BLOCK, mask_mod=self.rules[kind], seq_lengths=(TOKENS, TOKENS))
        if kind == "documents":
            lengths = torch.tensor([int(n) for n in mask.split("&")[0].split(":")[1].split(",")])
            self.document.copy_(torch.repeat_interleave(torch.arange(len(lengths)), lengths).int())
        else:
            self.numbers[0] = int(mask.split("prefix:")[1].split("&")[0])
            if kind == "sink":
                self.numbers[1] = int(mask.split("window:")[1].split(",")[0])
        return create_block_mask(self.rules[kind], None, None, TOKENS, TOKENS, device="cuda", BLOCK_SIZE=BLOCK, _compile=True)

    def check(self, kind, mask, blocks, output):
        """32 queries, in float32, by the mask's definition."""
        torch = self.torch
        for query in random.Random(1).sample(range(TOKENS), 32):
            head = query % HEADS
            keys = torch.arange(TOKENS, device="cuda")
            if isinstance(mask, dict):
                heads = mask["full_kv_indices"][0]
                row = torch.tensor(heads[head % len(heads)][query // BLOCK], device="cuda")
                seen = torch.isin(keys // BLOCK, row)
            else:
                seen = self.rules[kind](0, head, torch.tensor(query, device="cuda"), keys)
            scores = (self.k[0, head].float() @ self.q[0, head, query].float()) * HEAD_DIM ** -0.5
            expected = scores.masked_fill(~seen, -torch.inf).softmax(0) @ self.v[0, head].float()
            found = output[0, head, query].float()
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

    def point(self, kind, mask):
        from torch.nn.attention.flex_attention import flex_attention
        torch = self.torch
        blocks = self.block_mask(kind, mask)
        attend = torch.compile(flex_attention, dynamic=False)
        output = attend(self.q, self.k, self.v, block_mask=blocks)
        self.check(kind, mask, blocks, output)
        visited = blocks.kv_num_blocks.sum().item() + blocks.full_kv_num_blocks.sum().item()
        forward = self.timed(lambda: attend(self.q, self.k, self.v, block_mask=blocks))
        backward = self.timed(lambda: torch.autograd.grad(output, (self.q, self.k, self.v), self.gradient, retain_graph=True))
        return {"visited_tiles": visited, "forward_ms": forward, "backward_ms": backward}


def measure(path, out):
    with open(path, encoding="utf-8") as file:
        document = json.load(file)
    bench = Bench()
    document["gpu"] = bench.torch.cuda.get_device_name()
    for point, (kind, mask) in zip(document["points"], drawn(document["seed"]), strict=True):
        point["measured"] = bench.point(kind, mask)
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
    parser.add_argument("--seed", type=int, default=20261128)
    arguments = parser.parse_args()
    if arguments.predict:
        predict(arguments.program, arguments.predict, arguments.seed)
    if arguments.measure:
        measure(arguments.measure, arguments.out)


if __name__ == "__main__":
    main()
