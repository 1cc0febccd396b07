#!/usr/bin/env python3
"""Mutation testing: changes one operator, constant or bound of a source file at a time, builds the tests that
cover it, and says which changes no test notices.

    scripts/mutate.py BUILD [--count 500] [--seed N] [--only models/src/tiles] [--list FILE]

BUILD is a build folder of this clone without CUDA and without unity batches, as this makes it:
    cmake -S . -B build/mutants -G Ninja -DCMAKE_BUILD_TYPE=Release -DCMAKE_CXX_FLAGS_RELEASE=-O1 -DNATTEN_SIM_CUDA=OFF
Sources are changed in place and restored, also after a signal; a clone with changes in models/, sim/ or search/ is
refused. A mutant is killed when it does not compile, when a test fails, or when one takes over ten times as long as
without it. Survivors are printed as a diff of one line each. `--list FILE` writes one JSON line a mutant.
"""
import argparse
import json
import pathlib
import random
import re
import signal
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
ROOMS = ("models", "sim", "search")

# What is looked for, and what it becomes. Only code is changed: no comment, text or include.
CHANGES = [
    (r"(?<=[\w\)\]]) < (?=[\w\(])", [" <= ", " > "]),
    (r"(?<=[\w\)\]]) <= (?=[\w\(])", [" < ", " > "]),
    (r"(?<=[\w\)\]]) > (?=[\w\(])", [" >= ", " < "]),
    (r"(?<=[\w\)\]]) >= (?=[\w\(])", [" > ", " < "]),
    (r" == ", [" != "]),
    (r" != ", [" == "]),
    (r"(?<=[\w\)\]]) \+ (?=[\w\(])", [" - "]),
    (r"(?<=[\w\)\]]) - (?=[\w\(])", [" + "]),
    (r"(?<=[\w\)\]]) \* (?=[\w\(])", [" / "]),
    (r"(?<=[\w\)\]]) / (?=[\w\(])", [" * "]),
    (r"(?<=[\w\)\]]) % (?=[\w\(])", [" / "]),
    (r" \+= ", [" -= ", " = "]),
    (r" -= ", [" += "]),
    (r" && ", [" || "]),
    (r" \|\| ", [" && "]),
    (r"\bstd::min\b", ["std::max"]),
    (r"\bstd::max\b", ["std::min"]),
    (r"\+\+(?=\w)", ["--"]),
    (r"\btrue\b", ["false"]),
    (r"\bfalse\b", ["true"]),
    (r"(?<![\w.\"'])([1-9]\d?)(?![\w.\"'])", ["plus one"]),
    (r"(?<![\w.\"'])0(?![\w.\"'])", ["1"]),
    (r"\bif \(", ["if (!"]),
    (r"\bcontinue;", ["break;"]),
]


def code_of(line):
    """The part of a line that is code."""
    if line.lstrip().startswith(("#", "//", "///", "*", "using ", "namespace ", "template")):
        return ""
    return line.split("//")[0]


def mutants_of(path):
    """(line number, line before, line after), every change at every place."""
    mutants = []
    for number, line in enumerate(path.read_text().splitlines(keepends=True)):
        code = code_of(line)
        if '"' in code or "static_assert" in code or "throw " in code:
            continue  # messages, and what is said about them
        for pattern, replacements in CHANGES:
            for found in re.finditer(pattern, code):
                for replacement in replacements:
                    new = replacement
                    if new == "plus one":
                        new = str(int(found.group(1)) + 1)
                    elif new == "if (!":
                        new = "if (!("  # closed below
                    after = line[: found.start()] + new + line[found.end() :]
                    if new == "if (!(":
                        closed = close_condition(after, found.start() + len(new))
                        if closed is None:
                            continue
                        after = closed
                    mutants.append((number, line, after))
    return mutants


def close_condition(line, start):
    depth = 1
    for place in range(start, len(line)):
        depth += {"(": 1, ")": -1}.get(line[place], 0)
        if depth == 0:
            return line[:place] + ")" + line[place:]
    return None  # ends on another line


def tests_of(path, build):
    """Programs that test this file: its room's, the study's above it, and the property tests."""
    room = path.relative_to(ROOT).parts[0]
    programs = [f"{room}_tests", "models_tests", "sim_tests", "search_tests", "study_tests"]
    programs += [program.name for program in sorted((build / "tests").glob("property_*_test"))]
    seen = dict.fromkeys(programs)
    topic = path.relative_to(ROOT).parts[2] if len(path.relative_to(ROOT).parts) > 3 else ""
    keep = {
        "tiles": r"count|axis|visit|walk|search|grid|single|metamorphic_tiles|models|study|search|sim_",
        "windows": r"search|count|models|study",
        "schedules": r"schedule|models|study|search|sim_",
        "reuse": r"lockstep|stack|metamorphic_reuse|models|study|sim_",
        "scatter": r"contention|metamorphic_schedule|models|study|sim_",
        "msda": r"models|study|sim_",
    }.get(topic)
    return [name for name in seen if keep is None or re.search(keep, name)]


def run(command, limit):
    try:
        return subprocess.run(command, cwd=ROOT, capture_output=True, timeout=limit).returncode
    except subprocess.TimeoutExpired:
        return None


class Bench:
    """Builds and runs tests, and knows how long each takes unchanged."""

    def __init__(self, build):
        self.build = build
        self.seconds = {}

    def make(self, programs):
        return run(["ninja", "-C", str(self.build), *programs], 1800) == 0

    def first_failure(self, programs):
        for program in programs:
            limit = 10 * self.seconds[program] + 20 if program in self.seconds else 1800
            begin = time.monotonic()
            code = run([str(self.build / "tests" / program)], limit)
            if code != 0:
                return program if code is not None else f"{program} (time)"
            self.seconds.setdefault(program, time.monotonic() - begin)
        return None


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0], allow_abbrev=False)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--count", type=int, default=500, help="mutants, sampled [500]")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="", help="files whose path contains this text")
    parser.add_argument("--seconds", type=float, help="stop after so long")
    parser.add_argument("--list", type=pathlib.Path, help="one JSON line a mutant")
    options = parser.parse_args()
    options.build = options.build.resolve()
    for stop in (signal.SIGTERM, signal.SIGHUP):  # ends through `finally`, as an interrupt does
        signal.signal(stop, lambda *_: sys.exit(1))

    dirty = subprocess.run(["git", "status", "--porcelain", *ROOMS], cwd=ROOT, text=True, capture_output=True).stdout
    if dirty:
        parser.error(f"these would be overwritten:\n{dirty}")
    files = [path for room in ROOMS for path in sorted((ROOT / room).glob("src/**/*.cpp"))]
    files = [path for path in files if options.only in str(path.relative_to(ROOT))]
    mutants = [(path, *mutant) for path in files for mutant in mutants_of(path)]
    if not mutants:
        parser.error(f"only: no file of {', '.join(ROOMS)} has {options.only!r} in its path")
    random.Random(options.seed).shuffle(mutants)
    print(f"{len(mutants)} mutants of {len(files)} files; seed {options.seed}", flush=True)

    bench = Bench(options.build)
    begin = time.monotonic()
    results = []
    for path, number, before, after in mutants[: options.count]:
        if options.seconds is not None and time.monotonic() - begin > options.seconds:
            break
        programs = tests_of(path, options.build)
        unknown = [program for program in programs if program not in bench.seconds]
        if unknown and (not bench.make(unknown) or bench.first_failure(unknown)):
            parser.error(f"tests fail without any change: one of {', '.join(unknown)}")
        text = path.read_text()
        lines = text.splitlines(keepends=True)
        lines[number] = after
        try:
            path.write_text("".join(lines))
            killer = "compiler" if not bench.make(programs) else bench.first_failure(programs)
        finally:
            path.write_text(text)
        place = f"{path.relative_to(ROOT)}:{number + 1}"
        results.append({"place": place, "before": before.strip(), "after": after.strip(), "killed_by": killer})
        if options.list:
            with options.list.open("a") as out:
                out.write(json.dumps(results[-1]) + "\n")
        print(f"{'killed' if killer else 'SURVIVED'} {place} {killer or ''}", flush=True)
        if killer is None:
            print(f"  - {before.strip()}\n  + {after.strip()}", flush=True)
    bench.make([])  # as it was
    compiled = [result for result in results if result["killed_by"] != "compiler"]
    killed = sum(result["killed_by"] is not None for result in compiled)
    if compiled:
        print(f"{killed} of {len(compiled)} killed ({100 * killed / len(compiled):.0f}%); "
              f"{len(results) - len(compiled)} did not compile")
    return 0


if __name__ == "__main__":
    sys.exit(main())
