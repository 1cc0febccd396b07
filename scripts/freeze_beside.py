#!/usr/bin/env python3
"""Writes the suites `choice` and `beside` and their predictions, to be committed before either is measured.

    python3 scripts/freeze_beside.py --program natten-sim --seed 20261122
    python3 scripts/freeze_beside.py --program natten-sim --seed 20261123 --only choice

Suite `choice`: what `natten-sim search --objective time` chooses beside random candidates. For each problem the ten best of
`search`, and 30 candidates drawn uniformly from the same space under the same constraints (windows, then strides up to the
window, then tile pairs; draws outside of the constraints are repeated).

Suite `beside`: this project's kernel and FlexAttention on the windows and strides of tables 4.2 to 4.4 of the GNA
dissertation, and on 20 random problems. Suite `beside-turns` has the same points and predictions. scripts/time_beside_flexattention.py measures all
three.
"""

import argparse
import itertools
import json
import math
import random
import subprocess

SIZES = {"head_dim": 128, "dtype": "bf16"}
PROBLEMS = [
    {"input": [30, 48, 80], "heads": 24, "sparsity": [0.90, 0.92], "kernels": ["gna", "flexattention"]},
    {"input": [21, 45, 80], "heads": 12, "sparsity": [0.80, 0.85], "kernels": ["gna"]},
    {"input": [256, 256], "heads": 24, "window": [80, 80], "kernels": ["gna", "flexattention"]},
    {"input": [128, 128], "heads": 24, "sparsity": [0.70, 0.75], "kernels": ["gna", "flexattention"]},
    {"input": [32768], "heads": 8, "window": [3000], "kernels": ["gna", "flexattention"]},
]
RANDOM_CANDIDATES = 30
BEST = 10
MOST_IMBALANCE = 2.5
KERNELS = ["gna", "flexattention"]
TABLES = [
    {"heads": 32, "input": "16x44x80", "window": ["16x32x48", "16x24x16"],
     "stride": ["1x1x1", "1x8x1", "1x1x16", "1x8x16"], "q_tile": "4x4x8"},
    {"heads": 24, "input": "30x48x80", "window": "30x40x40", "stride": ["1x1x1", "1x1x8", "1x32x8"], "q_tile": "2x8x8"},
    {"heads": 24, "input": "30x48x80", "window": "18x24x24",
     "stride": ["1x1x1", "2x1x1", "1x1x8", "2x1x8", "1x8x8", "2x8x8", "16x8x8"], "q_tile": "2x8x8"},
    {"heads": 24, "input": "256x256", "window": "80x80", "stride": ["1x1", "16x1", "16x16"], "q_tile": "16x8"},
]
TILES = {1: ["128"], 2: ["16x8", "8x16"], 3: ["4x4x8", "2x8x8"]}
RANDOM_PROBLEMS = 20
REST_US = 380  # between launches that scripts/time_beside_flexattention.py times one after the other


def words(numbers):
    return [str(number) for number in numbers]


def text(numbers):
    return "x".join(words(numbers))


def run(command):
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def search_command(program, problem, kernel):
    command = [program, "search", "-i", *words(problem["input"]), "-n", str(problem["heads"]), "-d",
               str(SIZES["head_dim"]), "--dtype", SIZES["dtype"], "--device", "h200", "--kernel", kernel]
    if "window" in problem:
        command += ["-w", *words(problem["window"])]
    else:
        command += ["--sparsity", f"{problem['sparsity'][0]}:{problem['sparsity'][1]}", "--max-imbalance",
                    str(MOST_IMBALANCE)]
    return command + ["--objective", "time", "--top", str(BEST)]


def allowed(problem, window):
    if "window" in problem:
        return True
    sparsity = 1 - math.prod(window) / math.prod(problem["input"])
    shares = [length / size for length, size in zip(problem["input"], window)]
    return problem["sparsity"][0] <= sparsity <= problem["sparsity"][1] and max(shares) <= MOST_IMBALANCE * min(shares)


def draw(problem, tiles, generator):
    while True:
        window = problem.get("window") or [generator.randint(2, length) for length in problem["input"]]
        if allowed(problem, window):
            stride = [generator.randint(1, size) for size in window]
            return (text(window), text(stride)) + generator.choice(tiles)


def sweep_of(problem, kernel, candidate):
    window, stride, q_tile, kv_tile = candidate
    return {"kernel": "beside", "runs": kernel, "heads": problem["heads"], "input": text(problem["input"]),
            "window": window, "stride": stride, "q_tile": q_tile, "kv_tile": kv_tile}


def predicted_ms(program, sweep):
    command = [program, "count", "--device", "h200", "--json", "-n", str(sweep["heads"]), "-d", str(SIZES["head_dim"]),
               "--dtype", SIZES["dtype"], "--kernel", sweep["runs"]]
    for flag, key in (("-i", "input"), ("-w", "window"), ("-s", "stride"), ("--q-tile", "q_tile"),
                      ("--kv-tile", "kv_tile")):
        command += [flag, sweep[key]]
    if "rest_us" in sweep:
        command += ["--rest-ms", str(sweep["rest_us"] / 1000)]
    return run(command)["result"]["time_ms"]["kernel"]


def random_problem(generator):
    """4,096 to 49,152 tokens in one to three axes; windows and strides anywhere."""
    rank = generator.choice([1, 2, 2, 3, 3])
    while True:
        if rank == 1:
            lengths = [generator.randint(4096, 49152)]
        elif rank == 2:
            lengths = [generator.randint(32, 280) for _ in range(2)]
        else:
            lengths = [generator.randint(6, 80) for _ in range(3)]
        if 4096 <= math.prod(lengths) <= 49152:
            break
    window = [generator.randint(2, length) for length in lengths]
    stride = [generator.choice([1, generator.randint(1, size)]) for size in window]
    return {"heads": generator.choice([4, 8, 16, 24]), "input": text(lengths), "window": text(window),
            "stride": text(stride), "q_tile": generator.choice(TILES[rank])}


def beside_sweeps(generator):
    problems = []
    while len(problems) < RANDOM_PROBLEMS:
        problem = random_problem(generator)
        if problem["input"] not in [each["input"] for each in problems]:
            problems.append(problem)
    return [{"kernel": "beside", "runs": kernel, **each, "kv_tile": each["q_tile"]}
            for each in TABLES + problems for kernel in KERNELS]


def with_rest(sweep):
    """Only this project's kernel reaches the power limit, so its suite says how long it rests."""
    return {**sweep, "rest_us": REST_US} if sweep["runs"] == "gna" else sweep


def write_beside(arguments):
    """Each problem after itself, and in turns."""
    turns = beside_sweeps(random.Random(arguments.seed))
    what = "tables 4.2 to 4.4 of the GNA dissertation, and random problems"
    for name, sweeps, title in (
            ("beside", [with_rest(sweep) for sweep in turns],
             "This project's kernel and FlexAttention, each launch after itself: " + what),
            ("beside-turns", turns,
             "The points of beside with the two kernels in turns, at the clocks that a mixed load leaves")):
        head = {"schema": "natten-sim.suite/1", "name": name, "place": 28, "counters": [], "title": title}
        write_suite(f"{arguments.folder}/suites/{name}.json", head, sweeps)
        rows = []
        for sweep in sweeps:
            values = [value if isinstance(value, list) else [value] for value in sweep.values()]
            for chosen in itertools.product(*values):
                point = dict(zip(sweep.keys(), chosen))
                rows.append([point, round(predicted_ms(arguments.program, point), 4)])
        with open(f"{arguments.folder}/predictions/h200_{name.replace('-', '_')}.json", "w", encoding="utf-8") as file:
            file.write(f'{{"what": "Kernel times of the suite {name} on an H200, in milliseconds, predicted before it was '
                       f'measured",\n  "seed": {arguments.seed},\n  "rows": [\n    '
                       + ",\n    ".join(json.dumps(row) for row in rows) + "]\n}\n")


def write_suite(path, head, sweeps):
    """Without scores, which scripts/store_scores.py adds when the suite has been measured."""
    lines = ",\n    ".join(json.dumps(sweep) for sweep in sweeps)
    groups = ",\n    ".join(json.dumps({"counter": "launch_time_ns", "group": kernel, "relative": 0.12}) for kernel in KERNELS)
    with open(path, "w", encoding="utf-8") as file:
        file.write(json.dumps(head, indent=2)[:-2] + f',\n  "sweeps": [\n    {lines}\n  ],\n'
                   f'  "tolerances": [\n    {groups}\n  ]\n}}\n')


def write_choice(arguments):
    generator = random.Random(arguments.seed)
    sweeps, problems = [], []
    for problem in PROBLEMS:
        for kernel in problem["kernels"]:
            command = search_command(arguments.program, problem, kernel)
            found = run(command + ["--json"])
            tiles = sorted({(text(each["q_tile"]), text(each["kv_tile"])) for each in found["input"]["tiles"]})
            best = [tuple(text(each[key]) for key in ("window", "stride", "q_tile", "kv_tile"))
                    for each in found["result"]["candidates"]]
            drawn = []
            while len(drawn) < RANDOM_CANDIDATES:
                candidate = draw(problem, tiles, generator)
                if candidate not in drawn and candidate not in best:
                    drawn.append(candidate)
            rows = []
            for place, candidate in enumerate(best + drawn):
                sweeps.append(sweep_of(problem, kernel, candidate))
                ms = predicted_ms(arguments.program, sweeps[-1])
                rows.append([*candidate, "search" if place < len(best) else "random", round(ms, 4)])
            problems.append({"search": " ".join(["natten-sim"] + command[1:]), "kernel": kernel, "candidates": rows})
            print(f"{text(problem['input'])} {kernel}: search {rows[0][-1]} ms, best random "
                  f"{min(row[-1] for row in rows[len(best):])} ms predicted", flush=True)
    head = {"schema": "natten-sim.suite/1", "name": "choice", "place": 29,
            "title": "What search by time chooses, beside random candidates of the same constraints", "counters": []}
    write_suite(arguments.folder + "/suites/choice.json", head, sweeps)
    with open(arguments.folder + "/predictions/h200_choice.json", "w", encoding="utf-8") as file:
        lines = ",\n    ".join(
            json.dumps({**each, "candidates": None})[:-5] + "[\n      " +
            ",\n      ".join(json.dumps(row) for row in each["candidates"]) + "]}" for each in problems)
        file.write('{"what": "Candidates of the suite choice on an H200, and their kernel times in milliseconds, predicted '
                   'before any was measured",\n  "seed": ' + str(arguments.seed) +
                   ',\n  "columns": ["window", "stride", "q_tile", "kv_tile", "from", "predicted_ms"],\n'
                   '  "problems": [\n    ' + lines + "]\n}\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--program", required=True)
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--only", choices=["beside", "choice"], help="write one of the suites [both]")
    parser.add_argument("--folder", default="data")
    arguments = parser.parse_args()
    if arguments.only != "choice":
        write_beside(arguments)
    if arguments.only != "beside":
        write_choice(arguments)


if __name__ == "__main__":
    main()
