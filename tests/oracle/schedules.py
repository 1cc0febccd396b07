#!/usr/bin/env python3
"""An exact solver beside the search for schedules: schedules.py NATTEN_SIM [PROBLEMS] [SEED].

OR-tools' CP-SAT solves small problems from the model's description (docs/schedule-model.md): chains on workers, tasks
in any order, reductions into a dQ tile one after another, a handoff between two workers, turns that are passed on
at once or with the chain's next one, chains without tasks that exit early. Its optimum has to lie
between the program's lower bound and the makespan of `best`, and to equal a makespan that is said to be optimal.
Without SEED that of NATTEN_SIM_SEED, else always the same one. Exits with 77 where OR-tools is not installed.
"""
import json
import os
import random
import subprocess
import sys

try:
    from ortools.sat.python import cp_model
except ImportError:
    print("skipped: needs OR-tools (pip install ortools)")
    sys.exit(77)

STORED_SEED = 2161


def random_problem(random):
    while True:
        q, kv = random.randint(1, 3), random.randint(1, 3)
        rows = ["".join(random.choice(".+##") for _ in range(kv)) for _ in range(q)]
        tasks = sum(c != "." for row in rows for c in row)
        heads = random.choice([1, 1, 2])
        if 1 <= tasks * heads <= 9:
            break
    cost = lambda most: random.randint(0, most)
    return dict(rows=rows, heads=heads, workers=random.randint(1, 4), compute=1 + cost(6), compute_partial=1 + cost(6),
                reduce=1 + cost(4), handoff=random.choice([0, 0, cost(4)]), prologue=random.choice([0, cost(3)]),
                epilogue=random.choice([0, cost(3)]), early_exit=random.choice([0, cost(6)]),
                release=random.choice(["at-once", "at-once", "after-next"]))


def pass_on_late(model, steps):
    """The turn of a task is passed on when a later task of the chain starts to reduce, or at the end of the last one.

    Ranks keep turns from waiting for each other in a circle, at one and the same time: whoever waits has a higher one.
    """
    for i, (_, _, ends, release, rank, released) in enumerate(steps):
        ways = []
        for j, (begins, reduces, _, _, rank_of_next, _) in enumerate(steps):
            if i != j:
                with_next = model.new_bool_var("")
                model.add(begins >= ends).only_enforce_if(with_next)
                model.add(release >= reduces).only_enforce_if(with_next)
                model.add(rank_of_next > rank).only_enforce_if(with_next)
                model.add(released >= rank_of_next).only_enforce_if(with_next)
                ways.append(with_next)
        last = model.new_bool_var("")
        for _, _, other, _, _, _ in steps:
            model.add(ends >= other).only_enforce_if(last)
        model.add(released >= rank).only_enforce_if(last)
        model.add(release >= ends)
        model.add_exactly_one(ways + [last])


def optimum(p):
    """The least makespan, by CP-SAT; None when it runs out of time."""
    model = cp_model.CpModel()
    q_tiles, kv_tiles = len(p["rows"]), len(p["rows"][0])
    longest = max(p["compute"], p["compute_partial"]) + p["reduce"] + p["handoff"] + p["prologue"] + p["epilogue"]
    horizon = (longest * q_tiles + p["early_exit"]) * p["heads"] * kv_tiles
    end_of_all = model.new_int_var(0, horizon, "makespan")
    on_worker = [[] for _ in range(p["workers"])]  # chains
    into = {}  # reductions by (head, Q tile)
    for head in range(p["heads"]):
        for kv in range(kv_tiles):
            tiles = [q for q in range(q_tiles) if p["rows"][q][kv] != "."]
            if not tiles and p["early_exit"] == 0:
                continue
            start, size, end = (model.new_int_var(0, horizon, "") for _ in range(3))
            places = [model.new_bool_var("") for _ in range(p["workers"])]
            model.add_exactly_one(places)
            for worker, here in enumerate(places):
                on_worker[worker].append(model.new_optional_interval_var(start, size, end, here, ""))
            tasks, steps = [], []
            for q in tiles:
                compute = p["compute_partial"] if p["rows"][q][kv] == "+" else p["compute"]
                begins, taken, reduces, ends = (model.new_int_var(0, horizon, "") for _ in range(4))
                tasks.append(model.new_interval_var(begins, taken, ends, ""))
                model.add(reduces >= begins + compute)
                model.add(ends == reduces + p["reduce"])
                model.add(begins >= start + p["prologue"])
                model.add(end >= ends + p["epilogue"])
                release = ends if p["release"] == "at-once" else model.new_int_var(0, horizon, "")
                rank, released = (model.new_int_var(0, 1000, "") for _ in range(2))
                steps.append((begins, reduces, ends, release, rank, released))
                into.setdefault((head, q), []).append((reduces, release, rank, released, places))
            if not tiles:
                model.add(size == p["early_exit"])
            model.add_no_overlap(tasks)
            if p["release"] == "after-next":
                pass_on_late(model, steps)
            model.add(end_of_all >= end)
    for chains in on_worker:
        model.add_no_overlap(chains)
    for reductions in into.values():
        for i, (start_a, release_a, rank_a, released_a, places_a) in enumerate(reductions):
            for start_b, release_b, rank_b, released_b, places_b in reductions[:i]:
                first, apart = model.new_bool_var(""), model.new_bool_var("")
                for worker in range(p["workers"]):  # apart may only be false where both are on one worker
                    model.add_bool_or([apart, places_a[worker].negated(), places_b[worker]])
                model.add(start_b >= release_a + p["handoff"] * apart).only_enforce_if(first)
                model.add(start_a >= release_b + p["handoff"] * apart).only_enforce_if(first.negated())
                if p["release"] == "after-next":
                    model.add(rank_b > released_a).only_enforce_if(first)
                    model.add(rank_a > released_b).only_enforce_if(first.negated())
    model.minimize(end_of_all)
    solver = cp_model.CpSolver()
    solver.parameters.max_time_in_seconds = 20
    solver.parameters.num_workers = 1
    return round(solver.objective_value) if solver.solve(model) == cp_model.OPTIMAL else None


def best_of(program, p):
    line = [program, "schedule", "--mask", "-", "--algorithm", "best", "--effort", "4000", "--json", "--quiet"]
    for key in ("heads", "workers", "compute", "compute_partial", "reduce", "handoff", "prologue", "epilogue", "early_exit",
                "release"):
        line += ["--" + key.replace("_", "-"), str(p[key])]
    done = subprocess.run(line, input="\n".join(p["rows"]) + "\n", capture_output=True, text=True, check=True)
    return json.loads(done.stdout)["result"]


def main():
    program, count = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 60
    seed = int(sys.argv[3]) if len(sys.argv) > 3 else int(os.environ.get("NATTEN_SIM_SEED", STORED_SEED))
    print(f"NATTEN_SIM_SEED={seed}")
    numbers = random.Random(seed)
    solved = proved = 0
    for _ in range(count):
        problem = random_problem(numbers)
        exact = optimum(problem)
        if exact is None:
            continue
        solved += 1
        found = best_of(program, problem)
        if not found["lower_bound"] <= exact <= found["makespan"]:
            sys.exit(f"bound {found['lower_bound']}, optimum {exact}, best {found['makespan']}: {problem}")
        if found["optimality_gap"] == 0:
            proved += 1
            if exact != found["makespan"]:
                sys.exit(f"said to be optimal: {found['makespan']}, optimum {exact}: {problem}")
    print(f"{solved} of {count} problems solved exactly, {proved} of them proved by the program: all agree")
    if solved < count // 2 or proved < solved // 2:
        sys.exit("too few were solved or proved to say anything")


main()
