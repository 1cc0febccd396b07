#!/usr/bin/env python3
"""Raises the scores stored in data/suites to those that the shipped recordings reach.

usage: scripts/store_scores.py PROGRAM [--check]
       scripts/store_scores.py --since COMMIT

PROGRAM is a built natten-sim. A stored score is a floor: predictions may not fall below it, and it may only
rise. Each of its numbers becomes the better one of what is stored and what is reached; a score of other points
than before is stored anew. Prints every score that changes, old and new, and every one that is not reached.
With --check nothing is written. Exits with 1 if a score is not reached, or, with --check, would change.
With --since no program runs: exits with 1 if a floor is lower than at COMMIT with as many points.
"""
import json
import os
import re
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
DIGITS = 4  # kScoreDigits of validate/compare/score.hpp


def reached_scores(program):
    """The `scores` of both fidelities: a closed form's do not depend on it."""
    run = subprocess.run([program, "validate", "--recorded", os.path.join(ROOT, "data/recordings"), "--fidelity",
                          "timed", "--json", "--quiet"], capture_output=True, text=True, check=False)
    if run.returncode not in (0, 3):
        sys.exit(run.stderr)
    return json.loads(run.stdout)["result"]["scores"]


def numbers_of(score):
    if any(score[key] is None for key in ("median", "p90")):
        raise ValueError("a median or 90th percentile is infinite: nothing was measured where much was predicted")
    values = {key: round(score[key], DIGITS) if key != "points" else score[key]
              for key in ("points", "within", "median", "p90", "rank")}
    if score.get("skill") is not None:
        values["skill"] = round(score["skill"], DIGITS)
    return values


LOWER_IS_BETTER = ("median", "p90")


def worse(score, than):
    """The keys in which `score` is worse than a floor."""
    keys = []
    for key, floor in than.items():
        if key == "points":
            continue
        value = score.get(key)
        if value is None or (value > floor if key in LOWER_IS_BETTER else value < floor):
            keys.append(key)
    return keys


def raised(floor, reached):
    """The better of both, number by number; `reached` itself if it is of other points."""
    if floor["points"] != reached["points"]:
        return reached
    better = dict(floor)
    for key, value in reached.items():
        if key in LOWER_IS_BETTER:
            better[key] = min(floor[key], value)
        elif key != "points":
            better[key] = max(floor.get(key, -1e9), value)
    return better


def floors(text):
    return {(each["counter"], each.get("model", ""), each.get("group", ""), each["relative"]): each["score"]
            for each in json.loads(text)["tolerances"] if "score" in each}


def lowered_since(commit):
    """Prints the floors of data/suites that are lower than they were; how many."""
    count = 0
    listed = subprocess.run(["git", "-C", ROOT, "ls-tree", "--name-only", commit, "data/suites/"],
                            capture_output=True, text=True, check=True)
    for name in listed.stdout.split():
        path = os.path.join(ROOT, name)
        if not os.path.exists(path):
            continue
        old = subprocess.run(["git", "-C", ROOT, "show", commit + ":" + name], capture_output=True, text=True,
                             check=True)
        with open(path, encoding="utf-8") as file:
            now = floors(file.read())
        for key, floor in floors(old.stdout).items():
            if key not in now or now[key]["points"] != floor["points"]:
                continue
            fell = worse(now[key], floor)
            if fell:
                count += 1
                print(name, *key, "is lower in", ", ".join(fell))
    return count


def main():
    arguments = sys.argv[1:]
    if arguments[:1] == ["--since"] and len(arguments) == 2:
        sys.exit(1 if lowered_since(arguments[1]) else 0)
    check = "--check" in arguments
    arguments = [each for each in arguments if each != "--check"]
    if len(arguments) != 1 or arguments[0] in ("-h", "--help"):
        sys.exit(__doc__)
    by_suite = {}
    for score in reached_scores(arguments[0]):
        by_suite.setdefault(score["suite"], []).append(score)
    changed = missed = 0
    for suite, scores in by_suite.items():
        path = os.path.join(ROOT, "data/suites", suite + ".json")
        with open(path, encoding="utf-8") as file:
            text = file.read()
        entries = [each for each in json.loads(text)["tolerances"] if "score" in each]
        reached = {(each["counter"], each["model"], each["group"]): each["reached"] for each in scores}
        blocks = iter(entries)

        def renew(match, blocks=blocks, reached=reached, suite=suite):
            nonlocal changed, missed
            entry = next(blocks)
            key = (entry["counter"], entry.get("model", ""), entry.get("group", ""))
            if key not in reached:
                return match.group(0)
            now = numbers_of(reached[key])
            if now["points"] == entry["score"]["points"] and worse(now, entry["score"]):
                missed += 1
                print(suite, *key, "\n  floor  ", json.dumps(entry["score"]), "\n  reached", json.dumps(now))
            new = raised(entry["score"], now)
            if new == entry["score"]:
                return match.group(0)
            changed += 1
            print(suite, *key, "\n  was", json.dumps(entry["score"]), "\n  is ", json.dumps(new))
            return "\"score\": " + json.dumps(new)

        text = re.sub(r"\"score\":\s*\{[^}]*\}", renew, text)
        if not check:
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
    print(changed, "scores change,", missed, "are not reached")
    sys.exit(1 if missed or (check and changed) else 0)


if __name__ == "__main__":
    main()
