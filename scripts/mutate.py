#!/usr/bin/env python3
"""Mutation testing: which changed operators, constants and bounds of models/, sim/ and search/ does no test notice?

    scripts/mutate.py TREE [--count 500] [--seed N] [--only models/src/tiles] [--list FILE]

All mutants stand in one build: each changed place asks at run time whether its mutant is the one that
NATTEN_SIM_MUTANT names (mutant.hpp, mutant_places.py). TREE is a folder that this writes: a copy of the commit with
these changes, and its build. A first run of the tests without a mutant records what each test case takes and reaches,
the programs that it starts included; hidden test cases, those of nightly runs, are not among them. Then each mutant
runs the test cases that reach it, quickest first, until one fails. It is killed when a test case fails, crashes, or
takes over five times its time. Survivors are printed; `--list FILE` writes one JSON line a mutant.

tests/mutants/equivalent.jsonl explains mutants that no test can see: one JSON line each, with file, code (the line),
expression, change, why, and `places` where several places of a file read so. Explained mutants are counted apart and
not run; `--explained` runs only them, and none may be killed. An entry that fits no mutant any more is an error.

Needs libclang for Python (Debian: python3-clang) and prlimit (util-linux).
"""
import argparse
import collections
import concurrent.futures
import json
import os
import pathlib
import random
import re
import signal
import subprocess
import sys
import tempfile
import time

import mutant_places

TESTS = ("models_tests", "sim_tests", "search_tests", "study_tests", "validate_tests", "report_tests", "apps_tests",
         "property_tests", "golden_tests")
TIMED = ("golden_tests",)  # some of whose cases depend on the machine: what fails has to pass without the mutant
EXPLAINED = mutant_places.ROOT / "tests/mutants/equivalent.jsonl"


def programs_of(tree, tests):
    targets = subprocess.run(["ninja", "-C", str(tree / "build"), "-t", "targets", "all"], capture_output=True, text=True).stdout
    names = []
    for wanted in tests:
        pattern = re.compile(rf"^tests/({wanted.replace('*', '[a-z0-9_]+')}): CXX_EXECUTABLE", re.M)
        names += pattern.findall(targets)
    return names


class Bench:
    """Runs test cases of the build with one mutant or none."""

    def __init__(self, tree, cases, most_seconds):
        self.tree, self.most_seconds = tree, most_seconds
        self.environment = dict(os.environ, NATTEN_SIM_CASES=f"{cases:g}")
        self.environment.pop("NATTEN_SIM_SEED", None)  # the stored seeds, with which every commit is tried
        self.unreliable = set()

    def run(self, program, names, seconds, *arguments, **environment):
        """Exit code, and what the listener wrote of each case; code None when it takes more than these seconds of a
        processor, or 20 times as many and a minute of waiting."""
        with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
            chosen, log = pathlib.Path(folder, "cases.txt"), pathlib.Path(folder, "log.jsonl")
            chosen.write_text("".join(quoted(name) + "\n" for name in names))
            limits = [f"--cpu={int(seconds) + 1}:{int(seconds) + 2}", f"--as={3 << 30}", "--core=0"]
            process = subprocess.Popen(
                ["prlimit", *limits, str(self.tree / "build/tests" / program), *arguments,
                 *(["--input-file", str(chosen)] if names else [])],
                cwd=self.tree, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                start_new_session=True,
                env={**self.environment, "TMPDIR": folder, "NATTEN_SIM_MUTANT_LOG": str(log), **environment})
            try:
                code = process.wait(20 * seconds + 60)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
                code = None
            lines = log.read_text().splitlines() if log.exists() else []
            return (None if code == -signal.SIGXCPU else code), [json.loads(line) for line in lines]

    def record(self, program):
        """Its test cases that pass without a mutant, each with seconds and what it reaches."""
        log = self.tree / f"reached-{program}.jsonl"
        if not log.exists() or log.stat().st_mtime < (self.tree / "build/tests" / program).stat().st_mtime:
            with tempfile.NamedTemporaryFile() as reached:
                reached.truncate(1 << 16)
                code, cases = self.run(program, [], 3600, NATTEN_SIM_MUTANT_REACHED=reached.name)
            if code is None or code < 0 or not cases:
                sys.exit(f"{program} does not end without a mutant (exit code {code})")
            log.write_text("".join(json.dumps(case) + "\n" for case in cases))
        cases = [json.loads(line) for line in log.read_text().splitlines()]
        always = set().union(*(case["reached"] for case in cases if not case["case"]))  # by static objects
        for case in cases:
            if case["failed"]:
                print(f"fails without a mutant and is left out: {program}: {case['case']}", flush=True)
        return [{"program": program, "case": case["case"], "seconds": case["seconds"],
                 "reached": always.union(case["reached"])} for case in cases if case["case"] and not case["failed"]]

    def killer(self, mutant, cases):
        """The first test case that notices a mutant, or None; and how many were not tried."""
        spent, left = 0.0, 0
        groups = collections.OrderedDict()  # one process a program and class of time; what takes long has its own
        for case in sorted(cases, key=lambda case: case["seconds"]):
            seconds = case["seconds"]
            step = 0 if seconds < 0.01 else 1 if seconds < 0.1 else 2 if seconds < 1 else case["case"]
            groups.setdefault((step, case["program"]), []).append(case)
        for (_, program), chosen in groups.items():
            seconds = sum(case["seconds"] for case in chosen)
            if spent and spent + seconds > self.most_seconds:
                left += len(chosen)
                continue
            spent += seconds
            killer = self.killer_among(mutant, program, chosen, 5 * seconds + 3)
            if killer:
                return killer, 0
        return None, left

    def killer_among(self, mutant, program, cases, seconds):
        names = [case["case"] for case in cases]
        while names := [name for name in names if (program, name) not in self.unreliable]:
            code, failed = self.run(program, names, seconds, "--abort", NATTEN_SIM_MUTANT=str(mutant))
            if code == 0:
                return None
            if code is None:
                return f"{program} (time)"
            if not failed:
                return f"{program} (exit code {code})"
            name = failed[-1]["case"]
            if program not in TIMED or self.run(program, [name], seconds)[0] == 0:
                return f"{program}: {name}"
            print(f"fails without a mutant too, and is left out: {program}: {name}", flush=True)
            self.unreliable.add((program, name))
        return None


def quoted(name):
    for character in '\\,[]':
        name = name.replace(character, "\\" + character)
    return name


def explanations(mutants, only):
    """Why no test can see a mutant, by its number."""
    why = {}
    for entry in map(json.loads, EXPLAINED.read_text().splitlines()):
        if only not in entry["file"]:
            continue
        fits = [n for n, mutant in mutants.items() if mutant["place"].split(":")[0] == entry["file"] and
                all(mutant[key] == entry[key] for key in ("code", "expression", "change"))]
        if len(fits) != entry.get("places", 1):
            sys.exit(f"{EXPLAINED.name}: {len(fits)} places of {entry['file']} read so, not {entry.get('places', 1)}: "
                     f"{entry['change']}: {entry['expression']}: {entry['code']}")
        why.update((n, entry["why"]) for n in fits)
    return why


def drawn(options, mutants, why):
    """Numbers of the mutants that are tried, in this order."""
    numbers = sorted(why if options.explained else mutants)
    random.Random(options.seed).shuffle(numbers)
    if options.numbers:
        numbers = [int(n) for n in options.numbers.split(",")]
    if options.pick:
        pattern = re.compile(options.pick)
        numbers = [n for n in numbers if pattern.search(f"{mutants[n]['place']} {mutants[n]['code']} {mutants[n]['change']}")]
    return numbers[: options.count]


def tried(number, options, bench, mutant, cases, why):
    """What became of a mutant."""
    if number in why and not options.explained:
        return {"number": number, **mutant, "fate": "explained", "why": why[number]}
    killer, left = bench.killer(number, cases) if cases else (None, 0)
    fate = "killed" if killer else "survived" if cases else "not reached"
    return {"number": number, **mutant, "fate": fate, "killed_by": killer, "tests_left_out": left}


def counts(results):
    fates = collections.Counter(result["fate"] for result in results)
    return (f"{fates['killed']} of {len(results)} killed ({100 * fates['killed'] / len(results):.1f}%), "
            f"{fates['explained']} explained, {fates['survived']} survived, {fates['not reached']} not reached")


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0], allow_abbrev=False)
    parser.add_argument("tree", type=pathlib.Path)
    parser.add_argument("--count", type=int, default=500, help="mutants, sampled [500]")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="", help="files whose path contains this text")
    parser.add_argument("--pick", help="only mutants whose place and change match this pattern")
    parser.add_argument("--cases", type=float, default=1, help="random cases, as a multiple of the stored numbers [1]")
    parser.add_argument("--case-seconds", type=float, default=60, help="of tests a mutant, at most [60]")
    parser.add_argument("--seconds", type=float, help="stop after so long")
    parser.add_argument("--list", type=pathlib.Path, help="one JSON line a mutant; a run that was stopped goes on from it")
    parser.add_argument("--again", action="store_true", help="use the tree as it stands, with the tests of the checkout")
    parser.add_argument("--explained", action="store_true", help="try the explained mutants: none may be killed")
    parser.add_argument("--jobs", type=int, default=1, help="mutants at a time [1]")
    parser.add_argument("--tests", nargs="+", default=TESTS, help="test programs [unit tests of what stands on "
                        "these rooms, property tests, golden tests]")
    parser.add_argument("--numbers", help="only these mutants, as in the list: 12,57")
    parser.add_argument("--launcher", default="", help="of the compiler, such as ccache")
    parser.add_argument("--flags", default="-O1 -DNDEBUG", help="of the compiler [-O1 -DNDEBUG]")
    return parser.parse_args()


def built(options, tree):
    """All mutants of the tree, and the programs that test them."""
    if options.again:
        mutants = {int(n): mutant for n, mutant in json.loads((tree / "mutants.json").read_text()).items()}
        mutant_places.copy_tests(tree)
    else:
        mutants = mutant_places.prepare(tree, options.only, options.launcher, options.flags)
    programs = programs_of(tree, options.tests)
    build = subprocess.run(["ninja", "-C", str(tree / "build"), *(f"tests/{program}" for program in programs)],
                           capture_output=True, text=True)
    if build.returncode != 0:
        sys.exit(build.stdout[-4000:])
    return mutants, programs


def main():
    options = arguments()
    begin = time.monotonic()
    tree = options.tree.resolve()
    mutants, programs = built(options, tree)
    why = explanations(mutants, options.only)
    bench = Bench(tree, options.cases, options.case_seconds)
    cases = [case for program in programs for case in bench.record(program)]
    print(f"{len(programs)} programs, {len(cases)} test cases, {sum(case['seconds'] for case in cases):.0f} s", flush=True)
    by_mutant = collections.defaultdict(list)
    for case in cases:
        for n in case["reached"]:
            by_mutant[n].append(case)

    results = []
    if options.list and options.list.exists():  # goes on where a run was stopped
        results = [json.loads(line) for line in options.list.read_text().splitlines()]
    done = {result["number"] for result in results}

    def one(n):
        if n in done or (options.seconds is not None and time.monotonic() - begin > options.seconds):
            return None
        return tried(n, options, bench, mutants[n], by_mutant[n], why)

    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for result in filter(None, pool.map(one, drawn(options, mutants, why))):
            results.append(result)
            if options.list:
                with options.list.open("a") as out:
                    out.write(json.dumps(result) + "\n")
            if result["fate"] in ("survived", "not reached") or options.explained and result["fate"] == "killed":
                print(f"{result['fate'].upper()} {result['number']} {result['place']}: {result['change']}: "
                      f"{result['expression']}: {result['code']}", flush=True)
    for room in sorted({result["place"].split("/")[0] for result in results}):
        print(f"{room}: {counts([result for result in results if result['place'].startswith(room + '/')])}")
    if results:
        print(f"{counts(results)}; {time.monotonic() - begin:.0f} s")
    return 1 if options.explained and any(result["fate"] == "killed" for result in results) else 0


if __name__ == "__main__":
    sys.exit(main())
