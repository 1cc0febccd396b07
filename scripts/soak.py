#!/usr/bin/env python3
"""Runs every property test of a build over and over, each round with a new seed, and prints how many cases
passed at what rate: counts (closed form, walk, brute force, NATTEN's kernels retold), searches against
enumeration, schedules (two engines), stack distances, contention, and relations between them.

    scripts/soak.py build/release --cases 1000000
    scripts/soak.py build/release --seconds 600 --seed 7

A failure prints the program's output with its seed, and ends the run with exit code 1. A round is what the
tests do by themselves: every property so many times as its file says.
"""
import argparse
import os
import pathlib
import random
import re
import subprocess
import sys
import time

PASSED = re.compile(r"OK, passed (\d+) tests")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0], allow_abbrev=False)
    parser.add_argument("build", type=pathlib.Path, help="a build folder with tests")
    parser.add_argument("--cases", type=int, default=100_000, help="stop after so many [100000]")
    parser.add_argument("--seconds", type=float, help="stop after so long instead")
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(2**31), help="of the first round")
    parser.add_argument("--only", default="", help="programs whose name contains this text")
    options = parser.parse_args()

    programs = sorted(path for path in (options.build / "tests").glob("property_*_test") if options.only in path.name)
    if not programs:
        parser.error(f"build: {options.build} has no tests/property_*{options.only}*_test")
    print(f"seed {options.seed}")
    cases = dict.fromkeys(programs, 0)
    spent = dict.fromkeys(programs, 0.0)
    begin = time.monotonic()

    def is_over():
        if options.seconds is not None:
            return time.monotonic() - begin >= options.seconds
        return sum(cases.values()) >= options.cases

    rounds = 0
    while not is_over():
        seed = options.seed + rounds
        rounds += 1
        for program in programs:
            if rounds > 1 and is_over():
                break
            started = time.monotonic()
            environment = dict(os.environ, NATTEN_SIM_SEED=str(seed))
            run = subprocess.run([str(program)], env=environment, text=True, capture_output=True)
            spent[program] += time.monotonic() - started
            if run.returncode != 0:
                print(run.stdout + run.stderr)
                print(f"{program.name} failed with seed {seed}", file=sys.stderr)
                return 1
            cases[program] += sum(int(number) for number in PASSED.findall(run.stdout + run.stderr))
    print(f"{'program':<44}{'cases':>12}{'cases/s':>12}")
    for program in programs:
        rate = cases[program] / spent[program] if spent[program] else 0
        print(f"{program.name:<44}{cases[program]:>12,}{rate:>12,.0f}")
    print(f"{'all':<44}{sum(cases.values()):>12,}  in {time.monotonic() - begin:.0f} s, {rounds} rounds, none failed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
