#!/usr/bin/env python3
"""A third engine beside the two of the program: replay_schedules.py NATTEN_SIM [RUNS] [SEED].

Random problems are scheduled by the program and written as tables. The tables are then run here, by processes that wait
for turns, as docs/schedule-model.md describes them and without a line of the program. Makespans have to be equal.
Without SEED that of NATTEN_SIM_SEED, else always the same one.
"""
import heapq
import json
import os
import random
import subprocess
import sys
import tempfile

STORED_SEED = 2161
ALGORITHMS = ["ascending", "descending", "spt", "outside-in", "first-come", "shift", "wave-shift", "symmetric-shift",
              "best", "unordered"]


class Clock:
    """Things to do, by time; `last` ones after all others of their time."""

    def __init__(self):
        self.now, self.events, self.count = 0, [], 0

    def after(self, delay, action, last=False):
        self.count += 1
        heapq.heappush(self.events, (self.now + delay, last, self.count, action))

    def run(self):
        while self.events:
            self.now, _, _, action = heapq.heappop(self.events)
            action()


class Turns:
    """Places where parts are added one after another, in a given order."""

    def __init__(self, clock, handoff):
        self.clock, (self.near, self.far) = clock, handoff
        self.next, self.passed, self.waiting = {}, {}, {}

    def take(self, place, rank, worker, action):
        if self.next.get(place, 0) != rank:
            self.waiting[place, rank] = (worker, action)
            return
        at, last = self.passed.get(place, (0, worker))
        handoff = 0 if last == worker else self.far if (last - worker) % 2 else self.near
        self.clock.after(max(0, at + handoff - self.clock.now), action)

    def pass_on(self, place, rank, worker):
        self.next[place], self.passed[place] = rank + 1, (self.clock.now, worker)
        if (place, rank + 1) in self.waiting:
            self.take(place, rank + 1, *self.waiting.pop((place, rank + 1)))


class Run:
    """One table with costs."""

    def __init__(self, table, costs):
        self.table, self.costs, self.clock = table, costs, Clock()
        self.turns = Turns(self.clock, costs["handoff"])
        self.mask, self.ordered = table["mask"], table["dq_order"] is not None
        self.rank = {(d["head"], d["q_tile"], kv): i for d in table["dq_order"] or [] for i, kv in enumerate(d["kv_order"])}
        self.left = list(table["chains"])
        self.idle, self.done = set(), 0
        for worker in range(table["workers"]):
            self.free(worker)
        self.clock.run()

    def is_as_long_as(self, makespan):
        return self.done == len(self.table["chains"]) and abs(self.clock.now - makespan) <= 1e-9

    def free(self, worker):
        if self.table["dispatch"] == "static":
            mine = next((chain for chain in self.left if chain["worker"] == worker), None)
            if mine is not None:
                self.left.remove(mine)
                self.start(worker, mine)
        else:
            self.idle.add(worker)
            self.clock.after(0, self.dispatch, last=True)

    def dispatch(self):
        """The first free worker takes the next chain; ties go to the smaller one."""
        while self.left and self.idle:
            chain = self.left.pop(0)
            if not chain["q_order"] and self.costs["early_exit"] == 0:
                self.done += 1  # takes no time of anybody
                continue
            worker = min(self.idle)
            self.idle.remove(worker)
            self.start(worker, chain)

    def end(self, worker):
        self.done += 1
        self.free(worker)

    def start(self, worker, chain):
        if not chain["q_order"]:
            self.clock.after(self.costs["early_exit"], lambda: self.end(worker))
        else:
            Chain(self, worker, chain)


class Chain:
    """Computes its tasks; reduces them itself, or has a writer with some buffers do it."""

    def __init__(self, run, worker, chain):
        self.run, self.worker, self.kv = run, worker, chain["kv_tile"]
        merged = "kv_head" in chain
        self.tasks = [tuple(task) if merged else (chain["head"], task) for task in chain["q_order"]]
        group = 1 if merged else run.table["heads_per_kv_head"]
        self.group, self.place_in_group = (chain["head"] // group, chain["head"] % group) if group > 1 else (None, 0)
        self.buffers, self.to_write, self.writing, self.blocked = 0, [], False, None
        self.parts_left = 2  # with a writer: the last reduction and the epilogue
        run.clock.after(run.costs["prologue"], lambda: self.compute(0))

    def compute(self, t):
        head_and_q = self.tasks[t]
        partial = self.run.mask[head_and_q[1]][self.kv] == "+"
        cost = self.run.costs["compute_partial" if partial else "compute"]
        self.run.clock.after(cost, lambda: self.computed(t))

    def computed(self, t):
        if self.run.costs["buffers"] == 0:
            self.reduce(t, lambda: self.compute(t + 1) if t + 1 < len(self.tasks) else self.finish_serial())
        elif self.buffers == self.run.costs["buffers"]:
            self.blocked = t
        else:
            self.buffers += 1
            self.to_write.append(t)
            self.write()
            if t + 1 < len(self.tasks):
                self.compute(t + 1)
            else:
                self.run.clock.after(self.run.costs["epilogue"], self.part_done)

    def write(self):
        if self.writing or not self.to_write:
            return
        self.writing = True
        t = self.to_write.pop(0)
        self.reduce(t, lambda: self.written(t))

    def written(self, t):
        self.writing = False
        self.buffers -= 1
        if self.blocked is not None:
            blocked, self.blocked = self.blocked, None
            self.computed(blocked)
        if t + 1 == len(self.tasks):
            self.part_done()
        self.write()

    def part_done(self):
        self.parts_left -= 1
        if self.parts_left == 0:
            self.reduce_dkv(0)

    def finish_serial(self):
        self.run.clock.after(self.run.costs["epilogue"], lambda: self.reduce_dkv(0))

    def reduce(self, t, then):
        costs, last = self.run.costs, t + 1 == len(self.tasks)
        if not self.run.ordered:
            self.run.clock.after(costs["reduce"], then)
            return
        late = costs["release"] == "after-next"

        def pass_on(task):
            place = self.tasks[task]
            self.run.turns.pass_on(place, self.run.rank[(*place, self.kv)], self.worker)

        def reduced():
            if last or not late:
                pass_on(t)
            then()

        def my_turn():
            if late and t > 0:
                pass_on(t - 1)
            self.run.clock.after(costs["reduce"] + costs["tax"], reduced)

        self.run.turns.take(self.tasks[t], self.run.rank[(*self.tasks[t], self.kv)], self.worker, my_turn)

    def reduce_dkv(self, turn):
        turns = 2 if self.run.costs["dkv_turns"] == "apart" else 1
        if self.group is None or turn == turns:
            self.run.end(self.worker)
            return
        place, cost = ("dkv", self.group, self.kv, turn), self.run.costs["reduce_kv"] / turns

        def reduced():
            if self.run.ordered:
                self.run.turns.pass_on(place, self.place_in_group, self.worker)
            self.reduce_dkv(turn + 1)

        if self.run.ordered:
            self.run.turns.take(place, self.place_in_group, self.worker, lambda: self.run.clock.after(cost, reduced))
        else:
            self.run.clock.after(cost, reduced)


def random_mask(numbers, folder):
    q, kv = numbers.randint(1, 9), numbers.randint(1, 9)
    kind = numbers.choice(["full", "causal", "window", "document", "varlen", "gna", "tokens", "file"])
    lengths = [numbers.randint(1, 400) for _ in range(numbers.randint(1, 4))]
    if kind in ("full", "causal"):
        return ["--q-tiles", q, "--kv-tiles", numbers.choice([q, kv]), "--mask", kind]
    if kind == "window":
        return ["--q-tiles", q, "--kv-tiles", kv, "--mask", f"window:{numbers.randint(0, 5)},{numbers.randint(0, 4)}"]
    if kind == "document":
        tiles = [1 + length // 100 for length in lengths]
        return ["--q-tiles", sum(tiles), "--mask", "document:" + ",".join(map(str, tiles))]
    if kind == "varlen":
        rule = numbers.choice(["", "causal:", "window:200,100:"])
        return ["-i", sum(lengths), "--q-tile", 64, "--mask", f"varlen:{rule}" + ",".join(map(str, lengths))]
    if kind == "gna":
        return ["--mask", f"gna:i=12x10,w={numbers.randint(2, 6)}x{numbers.randint(2, 5)},q-tile=3x2,kv-tile=2x3"]
    if kind == "tokens":
        return ["-i", numbers.randint(1, 1200), "--seqlen-k", numbers.randint(1, 1200), "--q-tile", numbers.choice([64, 80]),
                "--mask", numbers.choice(["full", "causal", "window:100,0", "window:128,64"])]
    path = os.path.join(folder, "mask")
    with open(path, "w", encoding="utf-8") as file:
        file.writelines("".join(numbers.choice(".+##") for _ in range(kv)) + "\n" for _ in range(q))
    return ["--mask", path]


def random_options(numbers, folder):
    heads = numbers.randint(1, 4)
    options = random_mask(numbers, folder) + ["--heads", heads, "-b", numbers.choice([1, 1, 2])]
    options += ["--workers", numbers.randint(1, 12)]
    if heads % 2 == 0 and numbers.random() < 0.5:
        options += ["--heads-kv", heads // 2, "--gqa-chains", numbers.choice(["query-heads", "kv-heads"])]
    if numbers.random() < 0.3:
        options += ["--walk", numbers.choice(["partial-first", "spread"])]
    if numbers.random() < 0.2:
        options += ["--dispatch", numbers.choice(["static", "dynamic"])]
    if numbers.random() < 0.2:
        options += ["--launch-order", f"sections:{numbers.randint(1, 4)}"]
    return options + ["--algorithm", numbers.choice(ALGORITHMS), "--effort", 3]


def random_costs(numbers):
    some = lambda most: numbers.choice([0, numbers.randint(1, most)])
    near, compute = some(3), numbers.randint(1, 9)
    return {"compute": compute, "compute_partial": numbers.choice([compute, numbers.randint(1, 9)]), "reduce": some(5),
            "tax": some(2), "reduce_kv": 2 * some(5), "prologue": some(3), "epilogue": some(4), "early_exit": some(3),
            "handoff": (near, near + some(2)), "buffers": numbers.choice([0, 0, 1, 2]),
            "release": numbers.choice(["at-once", "at-once", "after-next"]), "dkv_turns": numbers.choice(["together", "apart"])}


def cost_options(costs):
    options = []
    for name in ("compute", "compute_partial", "reduce", "tax", "reduce_kv", "prologue", "epilogue", "early_exit", "release",
                 "dkv_turns"):
        options += ["--" + name.replace("_", "-"), costs[name]]
    overlap = f"async:{costs['buffers']}" if costs["buffers"] else "serial"
    return options + ["--handoff", f"{costs['handoff'][0]},{costs['handoff'][1]}", "--overlap", overlap]


def as_it_ran(table, line, folder):
    """The same chains, each on the worker that the program gave it."""
    trace_path = os.path.join(folder, "trace.json")
    subprocess.run([*line, "--perfetto", trace_path], capture_output=True, check=True)
    with open(trace_path, encoding="utf-8") as file:
        events = json.load(file)["traceEvents"]
    names = {event["tid"]: event["args"]["name"] for event in events if event["name"] == "thread_name"}
    workers = {(event["args"]["head"], event["args"]["kv_tile"]): int(names[event["tid"]].removeprefix("worker "))
               for event in events if event.get("cat") == "compute"}  # with a writer, a worker has two threads

    def worker_of(chain):
        if not chain["q_order"]:
            return 0
        head = chain["q_order"][0][0] if "kv_head" in chain else chain["head"]  # events name heads of queries
        return workers[head, chain["kv_tile"]]

    return {**table, "dispatch": "static", "chains": [{**chain, "worker": worker_of(chain)} for chain in table["chains"]]}


def main():
    program, runs = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 300
    seed = int(sys.argv[3]) if len(sys.argv) > 3 else int(os.environ.get("NATTEN_SIM_SEED", STORED_SEED))
    print(f"NATTEN_SIM_SEED={seed}")
    numbers = random.Random(seed)
    equal = hanging = refused = tied = unjudged = 0
    with tempfile.TemporaryDirectory() as folder:
        table_path = os.path.join(folder, "table.json")
        for _ in range(runs):
            costs = random_costs(numbers)
            line = [program, "schedule", "--json", "--quiet", "--emit-table", table_path,
                    *random_options(numbers, folder), *cost_options(costs)]
            line = [str(word) for word in line]
            done = subprocess.run(line, capture_output=True, text=True, check=False)
            if done.returncode == 2:  # a schedule that waits for itself, or an algorithm that does not apply
                hanging, refused = hanging + ("deadlock" in done.stderr), refused + ("deadlock" not in done.stderr)
                continue
            with open(table_path, encoding="utf-8") as file:
                table = json.load(file)
            run = Run(table, costs)
            makespan = json.loads(done.stdout)["result"]["makespan"]
            ties = 0 in (costs["reduce"], costs["reduce_kv"]) and table["dispatch"] == "dynamic"
            if not run.is_as_long_as(makespan) and ties:
                # Reductions that take no time: several workers may become free at one time, and which is first is open.
                # On the workers that the program chose it has to be equal. A trace does not say who ran an empty chain.
                if costs["early_exit"] > 0 and not all(chain["q_order"] for chain in table["chains"]):
                    unjudged += 1
                    continue
                run, tied = Run(as_it_ran(table, line, folder), costs), tied + 1
            if not run.is_as_long_as(makespan):
                sys.exit(f"{run.clock.now} here, {makespan} there: {' '.join(line)}")
            equal += 1
    print(f"{equal} runs equal, {tied} of them on the program's workers, {unjudged} with ties and empty chains not judged, "
          f"{hanging} schedules hang, {refused} algorithms do not apply")
    if equal < runs // 2:
        sys.exit("too few to say anything")


main()
