#!/usr/bin/env python3
"""Stores in data/suites the scores that the shipped recordings reach.

usage: scripts/store_scores.py PROGRAM [--check]

PROGRAM is a built natten-sim. A score is a bar that predictions may not fall below, so run this only when a
model or a recording was changed on purpose, and say in the changelog which scores fell and why. Prints every
score that changes, old and new. With --check nothing is written; exits with 1 if a score would change.
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


def text_of(score):
    if any(score[key] is None for key in ("median", "p90")):
        raise ValueError("a median or 90th percentile is infinite: nothing was measured where much was predicted")
    values = {key: round(score[key], DIGITS) if key != "points" else score[key]
              for key in ("points", "within", "median", "p90", "rank")}
    return "\"score\": " + json.dumps(values)


def main():
    arguments = sys.argv[1:]
    check = "--check" in arguments
    arguments = [each for each in arguments if each != "--check"]
    if len(arguments) != 1 or arguments[0] in ("-h", "--help"):
        sys.exit(__doc__)
    by_suite = {}
    for score in reached_scores(arguments[0]):
        by_suite.setdefault(score["suite"], []).append(score)
    changed = 0
    for suite, scores in by_suite.items():
        path = os.path.join(ROOT, "data/suites", suite + ".json")
        with open(path, encoding="utf-8") as file:
            text = file.read()
        entries = [each for each in json.loads(text)["tolerances"] if "score" in each]
        reached = {(each["counter"], each["model"], each["group"]): each["reached"] for each in scores}
        blocks = iter(entries)

        def renew(match, blocks=blocks, reached=reached, suite=suite):
            nonlocal changed
            entry = next(blocks)
            key = (entry["counter"], entry.get("model", ""), entry.get("group", ""))
            if key not in reached:
                return match.group(0)
            new = text_of(reached[key])
            if json.loads("{" + new + "}")["score"] != entry["score"]:
                changed += 1
                print(suite, *key, "\n  was", json.dumps(entry["score"]), "\n  is ", new[len("\"score\": "):])
                return new
            return match.group(0)

        text = re.sub(r"\"score\":\s*\{[^}]*\}", renew, text)
        if not check:
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
    print(changed, "scores change")
    sys.exit(1 if check and changed else 0)


if __name__ == "__main__":
    main()
