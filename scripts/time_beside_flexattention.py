#!/usr/bin/env python3
"""Times this project's neighborhood attention and PyTorch's FlexAttention in one process, in turns.

    ninja -C build attention_forward_shared
    python3 scripts/time_beside_flexattention.py --library build/libattention_forward_shared.so \
        --program natten-sim --suite data/suites/beside.json --out recordings
    natten-sim validate beside --recorded recordings

The points are those of a suite whose kernels are `gna` and `flexattention` (`runs`). Points of one layout, number of heads,
head dim and element type take turns: in each round every one of them runs once, in a new random order, so that clocks and
temperature are the same for all. Rounds are timed one launch at a time, by CUDA events, the L2 overwritten before each.
With --sustained every point is launched for --warm-up-ms and then timed by itself, as `natten-sim validate` does it;
--sustained-too SUITE does both: the second recording is of a suite that has the same points as the first one.
Recordings of launches of one kernel after the other say how long the GPU rested between them (`rest_ms`).

FlexAttention has its tokens tile by tile and block masks of natten-sim's tile tables, as in time_flexattention.py. This
project's kernel reads (tokens, heads, head dim) as they lie. Copies from one order into the other are not timed. Both get
the same numbers where a suite has the same problem for both, and whole outputs are then compared; 64 queries of every point
are checked against their definition. Forward only.
"""

import argparse
import ctypes
import json
import math
import multiprocessing
import os
import queue
import random
import sys
import threading
import time

from flexattention_tables import Layout, blocks_in, points_of, sizes, table_name, tables_of

import time_flexattention as flex

HOST_LEAD_CYCLES = flex.HOST_LEAD_CYCLES
MOST_SECONDS_TO_PREPARE = 120


class Pointers(ctypes.Structure):
    _fields_ = [(name, ctypes.c_void_p) for name in ("q", "k", "v", "o", "lse")]


class OwnKernel:
    """Neighborhood attention of this project; tensors (tokens, heads, head dim) of one layout."""

    def __init__(self, library, point, torch):
        self.library = ctypes.CDLL(library)
        self.library.natten_sim_plan_neighborhood.restype = ctypes.c_void_p
        self.library.natten_sim_launch.argtypes = [ctypes.c_void_p]
        self.heads, self.head_dim = point["heads"], point["head_dim"]
        self.fp16 = int(point["dtype"] == "fp16")
        tokens = math.prod(sizes(point["input"]))
        kind = torch.float16 if self.fp16 else torch.bfloat16
        make = lambda: torch.randn(tokens, self.heads, self.head_dim, device="cuda", dtype=kind)
        self.q, self.k, self.v, self.o = (make() for _ in range(4))
        self.lse = torch.empty(self.heads, tokens, device="cuda", dtype=torch.float32)

    def launch_of(self, point):
        """A plan, made once, as a function without arguments."""
        columns = [sizes(point[key]) for key in ("input", "window", "stride", "dilation", "causal", "q_tile", "kv_tile")]
        axes = [number for axis in zip(*columns) for number in axis]
        pointers = Pointers(*(each.data_ptr() for each in (self.q, self.k, self.v, self.o, self.lse)))
        plan = self.library.natten_sim_plan_neighborhood(
            ctypes.byref(pointers), ctypes.c_long(1), ctypes.c_long(self.heads), ctypes.c_long(self.head_dim), self.fp16,
            len(columns[0]), (ctypes.c_long * len(axes))(*axes))
        if not plan:
            raise RuntimeError("the kernel refused its problem")

        def launch():
            if self.library.natten_sim_launch(plan) != 0:
                raise RuntimeError("the launch failed")

        return launch


class FlexKernel(flex.Bench):
    """FlexAttention of one number of blocks, forward alone; its masks stay on the GPU."""

    def __init__(self, shape, arguments):
        super().__init__(shape, arguments)
        self.q, self.k, self.v = (each.detach() for each in (self.q, self.k, self.v))

    def compile(self):
        self.out = self.attention(self.q, self.k, self.v, block_mask=self.mask)
        self.torch.cuda.synchronize()

    def launch_of(self, table):
        """Makes the mask; the function that `turn` gives copies it in, untimed."""
        layout = self.take(table)
        coordinates = [each.clone() for axis in (self.begin, self.end, self.key) for each in axis]
        names = ("kv_num_blocks", "kv_indices", "full_kv_num_blocks", "full_kv_indices")
        lists = {name: getattr(self.mask, name).clone() for name in names}

        def turn():
            for into, values in zip([each for axis in (self.begin, self.end, self.key) for each in axis], coordinates):
                into.copy_(values)
            for name, values in lists.items():
                getattr(self.mask, name).copy_(values)

        def launch():
            self.out = self.attention(self.q, self.k, self.v, block_mask=self.mask)

        return layout, turn, launch


def token_at(layout, point, torch):
    """The token of each position in block order, and -1 of padding. Q and KV tiles are the same."""
    assert point["q_tile"] == point["kv_tile"]
    lengths, dilation = sizes(point["input"]), sizes(point["dilation"])
    rank, residues = len(lengths), layout.group
    token = torch.zeros_like(residues)
    outside = torch.zeros_like(residues, dtype=torch.bool)
    steps = [math.prod(dilation[axis + 1:]) for axis in range(rank)]
    for axis in range(rank):
        key = layout.key[axis].long()
        outside |= key >= 1 << 30
        at = residues // steps[axis] % dilation[axis] + dilation[axis] * key.clamp(max=1 << 24)
        token = token * lengths[axis] + at
    return torch.where(outside, -1, token)


def attended(at, point, axis):
    """Keys that a query at coordinate `at` attends to along an axis: first, last, step. NATTEN's rule."""
    length, window, stride, dilation, causal = (sizes(point[key])[axis] for key in
                                                ("input", "window", "stride", "dilation", "causal"))
    residue, i = at % dilation, at // dilation
    count = -(-(length - residue) // dilation)
    left, right, group = window // 2, window // 2 + window % 2 - 1, i // stride
    if causal:
        leader = min(group * stride + stride - 1, count - 1)
        begin, end = max(leader - (window - 1), 0), i + 1
    else:
        leader = min(group * stride + stride // 2, count - 1)
        begin = max(leader - left, 0) + min(count - right - leader - 1, 0)
        end = begin + window
    return [residue + dilation * each for each in range(begin, end)]


def own_error(own, point, torch):
    """64 queries of the last head against softmax(q k) v over the pairs that attend."""
    lengths = sizes(point["input"])
    worst_norm = worst = 0.0
    picked = torch.randint(math.prod(lengths), (flex.CHECKED_QUERIES,)).tolist()
    for token in picked:
        keys, rest = torch.zeros(1, dtype=torch.long), token
        coordinates = []
        for length in reversed(lengths):
            coordinates.insert(0, rest % length)
            rest //= length
        for axis, at in enumerate(coordinates):
            along = torch.tensor(attended(at, point, axis))
            keys = (keys[:, None] * lengths[axis] + along[None, :]).flatten()
        keys = keys.cuda()
        q = own.q[token, -1].double()
        weights = torch.softmax(own.k[keys, -1].double() @ q / math.sqrt(own.head_dim), dim=0)
        expected = weights @ own.v[keys, -1].double()
        worst += (own.o[token, -1].double() - expected).square().sum().item()
        worst_norm += expected.square().sum().item()
    return math.sqrt(worst / worst_norm)


def whole_difference(own, own_launch, other, turn, flex_launch, positions, torch):
    """Both kernels on the same numbers: |own - flex| / |flex| over all heads."""
    inside = torch.nonzero(positions >= 0).flatten().cuda()
    tokens = positions[positions >= 0].cuda()
    for mine, its in ((own.q, other.q), (own.k, other.k), (own.v, other.v)):
        mine[tokens] = its[0].transpose(0, 1)[inside]
    own.o.fill_(float("nan"))
    turn()
    own_launch()
    flex_launch()
    expected = other.out[0].transpose(0, 1)[inside].float()
    return ((own.o[tokens].float() - expected).norm() / expected.norm()).item()


class Group:
    """Points that take turns: one process."""

    def __init__(self, points, tables, arguments):
        import torch

        self.torch, self.points, self.tables, self.arguments = torch, points, tables, arguments
        torch.manual_seed(arguments.seed)
        first = points[0]
        self.own = None
        if any(point["runs"] == "gna" for point in points):
            self.own = OwnKernel(arguments.library, first, torch)
        self.flex = {}
        for point in points:
            if point["runs"] != "flexattention":
                continue
            blocks = blocks_in(tables[table_name(point)])
            if blocks not in self.flex:
                self.flex[blocks] = FlexKernel((blocks, first["heads"], first["head_dim"], first["dtype"]), arguments)
                self.flex[blocks].compile()
        self.cover = torch.empty(128 << 20, dtype=torch.uint8, device="cuda")
        self.ready, self.found = {}, {}
        for place, point in enumerate(points):
            try:
                self.ready[place] = self.prepared(point)
            except Exception as error:
                self.found[place] = f"failed: {str(error)[:300]}"
        torch.cuda.synchronize()

    def prepared(self, point):
        """Turn and launch of a point, or why it is not timed; checks it."""
        if point["runs"] == "gna":
            launch = self.own.launch_of(point)
            self.own.o.fill_(float("nan"))
            launch()
            error = own_error(self.own, point, self.torch)
            turn = lambda: None
        else:
            table = self.tables[table_name(point)]
            kernel = self.flex[blocks_in(table)]
            layout, turn, launch = kernel.launch_of(table)
            launch()
            error = kernel.error(layout, kernel.out)
            if self.own and point["q_tile"] == point["kv_tile"] and self.arguments.compare:
                positions = token_at(layout, point, self.torch)
                both = whole_difference(self.own, self.own.launch_of(point), kernel, turn, launch, positions, self.torch)
                print("whole outputs", table_name(point), f"{both:.2e}", flush=True)
                error = max(error, both) if both == both else both
        if not error <= flex.TOLERANCE:
            raise RuntimeError(f"wrong: relative error {error:.2e}")
        return turn, launch

    def timed(self, turn, launch, value):
        torch = self.torch
        turn()
        self.cover.fill_(value % 256)
        torch.cuda._sleep(HOST_LEAD_CYCLES)
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        launch()
        end.record()
        return begin, end

    def times(self):
        """Milliseconds of each point, or why not."""
        ready = self.ready
        order, generator = list(ready), random.Random(self.arguments.seed)
        until = time.monotonic() + 1e-3 * self.arguments.warm_up_ms
        while order and time.monotonic() < until:
            for place in order:
                ready[place][0]()
                ready[place][1]()
            self.torch.cuda.synchronize()
        events = {place: [] for place in order}
        for step in range(self.arguments.rounds):
            generator.shuffle(order)
            for place in order:
                events[place].append(self.timed(*ready[place], step))
            self.torch.cuda.synchronize()
        return self.found_in(events, rests=False)

    def all_times(self):
        """In turns or by themselves, or both."""
        if self.arguments.sustained:
            return [self.sustained_times()]
        turns = self.times()
        if not self.arguments.sustained_too:
            return [turns]
        first = self.points[0]["suite"] == self.arguments.first_suite
        return [turns, self.sustained_times() if first else turns]

    def sustained_times(self):
        """As times, but every point is launched for --warm-up-ms before its own launches are timed one after the other."""
        order = list(self.ready)
        random.Random(self.arguments.seed).shuffle(order)
        events = {}
        for place in order:
            turn, launch = self.ready[place]
            until = time.monotonic() + 1e-3 * self.arguments.warm_up_ms
            turn()
            while time.monotonic() < until:
                for _ in range(3):
                    launch()
                self.torch.cuda.synchronize()
            events[place] = [self.timed(turn, launch, step) for step in range(self.arguments.rounds)]
            self.torch.cuda.synchronize()
            print(time.time(), self.points[place]["runs"], table_name(self.points[place]), flush=True)
        return self.found_in(events, rests=True)

    def found_in(self, events, rests):
        found = dict(self.found)
        for place, pairs in events.items():
            between = [end.elapsed_time(begin) for (_, end), (begin, _) in zip(pairs, pairs[1:])]
            found[place] = {"ms": [begin.elapsed_time(end) for begin, end in pairs],
                            "rest_ms": flex.spread_of(between)["median"] if rests and between else None}
        return [found[place] for place in range(len(self.points))]


def wait_for_all(ready):
    """Until every process is ready, or one must have died."""
    try:
        ready.wait(MOST_SECONDS_TO_PREPARE)
    except threading.BrokenBarrierError:
        pass


def run_group(places, points, tables, arguments, ready, turn, results):
    try:
        start = time.monotonic()
        group = Group(points, tables, arguments)
        print(f"{points[0]['input']}: ready in {time.monotonic() - start:.1f} s", flush=True)
    except Exception as error:
        wait_for_all(ready)
        failed = (f"failed: {str(error)[:300]}",) * (2 if arguments.sustained_too else 1)
        results.put([(place, failed) for place in places])
        return
    wait_for_all(ready)
    with turn:
        start = time.monotonic()
        results.put(list(zip(places, zip(*group.all_times()))))
        print(f"{points[0]['input']}: {len(places)} points in {time.monotonic() - start:.1f} s", flush=True)


def measured(points, tables, arguments):
    groups = {}
    for place, point in enumerate(points):
        key = (point["suite"], point["input"], point["heads"], point["head_dim"], point["dtype"])
        groups.setdefault(key, []).append(place)
    context = multiprocessing.get_context("spawn")
    ready, turn, results = context.Barrier(len(groups)), context.Lock(), context.Queue()
    workers = []
    for places in groups.values():
        own = [points[place] for place in places]
        needed = {table_name(point): tables[table_name(point)] for point in own if point["runs"] == "flexattention"}
        workers.append(context.Process(target=run_group, args=(places, own, needed, arguments, ready, turn, results)))
        workers[-1].start()
    found, answers = {}, 0
    while answers < len(workers):
        try:
            found.update(results.get(timeout=1))
            answers += 1
        except queue.Empty:
            if not any(worker.is_alive() for worker in workers):
                break
    lost = ("failed: its process ended",) * (2 if arguments.sustained_too else 1)
    return [found.get(place, lost) for place in range(len(points))]


def write_recording(suite, points, times, arguments):
    """Rows with the rest between launches."""
    head, rows = flex.recording_of(suite, points,
                                   [each if isinstance(each, str) else each["ms"] for each in times], arguments)
    for row, each in zip(rows, times):
        if not isinstance(each, str) and each["rest_ms"] is not None:
            row["time_ms"]["rest_ms"] = each["rest_ms"]
    flex.write(os.path.join(arguments.out, f"time-{suite['name']}.json"), head, rows)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--suite", required=True, nargs="+", help="files of suites; all are timed in one go")
    parser.add_argument("--library", help="libattention_forward_shared.so")
    parser.add_argument("--program", help="the natten-sim program, which writes the tables of FlexAttention")
    parser.add_argument("--tables", help="file of tables (.json.gz): read, or written with --program")
    parser.add_argument("--out", help="folder of the recordings; without it only tables are written")
    parser.add_argument("--commit", default="unknown", help="commit of the sources, for the recording")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--warm-up-ms", type=int, default=250)
    parser.add_argument("--sustained", action="store_true", help="no turns: each point is warmed up and timed by itself")
    parser.add_argument("--sustained-too", metavar="SUITE",
                        help="also time the points of the first suite by themselves, for this suite with the same points")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--compare", action="store_true", help="also compare whole outputs of the two kernels")
    arguments = parser.parse_args()
    suites, points = [], []
    for path in arguments.suite:
        with open(path, encoding="utf-8") as file:
            suites.append(json.load(file))
        points += [{**point, "suite": suites[-1]["name"]} for point in points_of(suites[-1])]
    arguments.first_suite = suites[0]["name"]
    if arguments.sustained_too:
        with open(arguments.sustained_too, encoding="utf-8") as file:
            second = json.load(file)
        same = [point for point in points if point["suite"] == arguments.first_suite]
        if [table_name(point) for point in same] != [table_name(point) for point in points_of(second)]:
            sys.exit(f"{arguments.sustained_too}: not the points of {arguments.suite[0]}")
    tables = tables_of(arguments, [point for point in points if point["runs"] == "flexattention"])
    if not arguments.out:
        return 0
    import torch

    if not torch.cuda.is_available():
        print("this needs a CUDA GPU, but PyTorch sees none", file=sys.stderr)
        return 4
    times = measured(points, tables, arguments)
    for suite in suites:
        chosen = [(point, each) for point, each in zip(points, times) if point["suite"] == suite["name"]]
        bare = [{key: value for key, value in point.items() if key != "suite"} for point, _ in chosen]
        write_recording(suite, bare, [each[0] for _, each in chosen], arguments)
        if arguments.sustained_too and suite is suites[0]:
            write_recording(second, list(points_of(second)), [each[1] for _, each in chosen], arguments)
    for point, values in zip(points, times):
        for each in values:
            shown = each if isinstance(each, str) else f"{flex.spread_of(each['ms'])['median']:.3f} ms, rest {each['rest_ms']} ms"
            print(point["runs"], table_name(point), point["heads"], shown)
    return 0


if __name__ == "__main__":
    sys.exit(main())
