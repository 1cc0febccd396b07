#!/usr/bin/env python3
"""store_judged_answers.py PROGRAM [--check]: judges the shipped recordings anew (minutes).

Writes data/judged/answers.json, which `natten-sim trust` reads: every recorded launch that no constant behind its
answer was fitted to, with the interval that the answer states. And data/judged-launches.json, which widens the
intervals of times: how far measured costs were off on such launches, by kernel, device, head dim, pass and length. Since
intervals stand in the first, PROGRAM is to be built on the second: store, build, and store again after costs changed.
--check writes nothing and exits with 1 if a stored file is not what PROGRAM gives.
"""
import json
import math
import re
import subprocess
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

DATA = Path(__file__).resolve().parent.parent / "data"
LEVEL, FEWEST = 0.9, 9  # fewer errors have no conformal quantile at this level
REGIME = re.compile(r"(.+) (forward|backward), head dim (\d+)(, short)?")


def judged(program: str) -> list[dict[str, Any]]:
    command = [program, "trust", "--recorded", str(DATA / "recordings"), "--answers", "--json", "--quiet"]
    answers: list[dict[str, Any]] = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)["result"]["answers"]
    return answers


def rounded(milliseconds: float) -> float:
    return float(f"{1e6 * milliseconds:.6g}")


def answers_text(answers: list[dict[str, Any]]) -> str:
    groups: dict[tuple[str, ...], list[str]] = defaultdict(list)
    for answer in answers:
        numbers = [rounded(answer[key]) for key in ("predicted_ms", "low_ms", "high_ms", "measured_ms")]
        groups[answer["kind"], answer["device"], answer["regime"], answer["suite"]].append(json.dumps([answer["point"], *numbers]))
    lines = []
    for key, rows in groups.items():
        head = ", ".join(f'"{name}": "{value}"' for name, value in zip(("kind", "device", "regime", "suite"), key))
        lines.append(f'  {{{head}, "answers": [\n    ' + ",\n    ".join(rows) + "]}")
    return '{"schema": "natten-sim.judged-answers/1", "groups": [\n' + ",\n".join(lines) + "\n]}\n"


def conformal(errors: list[float]) -> float:
    """The smallest error that, of exchangeable ones, the next stays below nine times of ten."""
    return sorted(errors)[math.ceil((len(errors) + 1) * LEVEL) - 1]


def summary(rows: list[dict[str, Any]]) -> dict[str, Any]:
    error = conformal([abs(row["measured_ms"] / row["predicted_ms"] - 1) for row in rows])
    return {"points": len(rows), "error": math.ceil(1e4 * error) / 1e4,
            "inside": round(sum(row["inside"] for row in rows) / len(rows), 4)}


def launches_text(answers: list[dict[str, Any]]) -> str:
    cells: dict[tuple[str, str, int, str], dict[str, list[dict[str, Any]]]] = defaultdict(lambda: {"short": [], "long": []})
    for answer in answers:
        if answer["kind"] != "time":
            continue
        found = REGIME.fullmatch(answer["regime"])
        assert found, answer["regime"]
        cells[found[1], answer["device"], int(found[3]), found[2]]["short" if found[4] else "long"].append(answer)
    lines = []
    for (kernel, device, head_dim, part), by_length in sorted(cells.items()):
        rows = by_length["short"] + by_length["long"]
        if len(rows) < FEWEST:
            continue
        cell = {"kernel": kernel, "device": device, "head_dim": head_dim, "pass": part, **summary(rows)}
        if by_length["short"] and by_length["long"]:
            cell |= {length: summary(some) for length, some in by_length.items() if len(some) >= FEWEST}
        lines.append(json.dumps(cell))
    return '{"schema": "natten-sim.judged-launches/1", "cells": [\n  ' + ",\n  ".join(lines) + "\n]}\n"


def main() -> int:
    answers = judged(sys.argv[1])
    stale = False
    for path, text in ((DATA / "judged/answers.json", answers_text(answers)), (DATA / "judged-launches.json", launches_text(answers))):
        if "--check" not in sys.argv[2:]:
            path.write_text(text)
        elif path.read_text() != text:
            print(f"{path}: not what today's models give; run scripts/store_judged_answers.py", file=sys.stderr)
            stale = True
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main())
