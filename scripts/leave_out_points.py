#!/usr/bin/env python3
"""leave_out_points.py PROGRAM: predicts each published time that fa3-h100-d128 is fitted to from the others.

Prints the rows of data/left-out-times.json, of which `natten-sim schedule --kernel fa3` makes its
intervals: mask, algorithm (empty: unordered), tokens, heads of all batches, heads a KV head, predicted and measured milliseconds.
The fit is that of the file: least squares of logarithms, with the priors that its `assumed` lists. A makespan is linear in what
a chain's tasks cost; PROGRAM says the slopes. Two rows are no fits: the unordered call of another H100, which no cost was
fitted to, and its deterministic call, the only one that the turn is fitted to, with FlashAttention-4's turn.
"""
import json
import math
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

COSTS = Path(__file__).resolve().parent.parent / "data/schedule-costs"
BATCH, HEADS, HEAD_DIM = 4, 48, 128
FLOPS = 5 * 2 * HEAD_DIM  # a pair of tokens
CAUSAL_US = {1024: 709.66, 2048: 1631.26, 4096: 4643.46, 8192: 15308.16}
FULL_TFLOPS = {1024: 313, 2048: 436, 4096: 527, 8192: 564}
ERROR = .015  # of a published time; a fit to all is then near the stored costs
# compute and prologue (also epilogue) of full and causal masks, launch, slowdown: mean, and width as a share of it.
PRIORS = [(2.6, .15), (11, .3), (2.1, .15), (12, .3), (16, .6), (.04, .5)]
STEP = 1.02

Row = tuple[str, int, float]


def run(program: str, costs: dict[str, Any], mask: str, tokens: int, batch: int, heads: int) -> dict[str, Any]:
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        json.dump(costs, file)
        file.flush()
        out = subprocess.run([program, "schedule", "--kernel", "fa3", "--device", "h100", "--costs", file.name, "-i", str(tokens), "-b",
                              str(batch), "-n", str(heads), "-d", str(HEAD_DIM), "--mask", mask, "--json"], check=True, capture_output=True)
    return json.loads(out.stdout)["result"]["kernel"]


def with_tasks(costs: dict[str, Any], changes: dict[str, float]) -> dict[str, Any]:
    changed = json.loads(json.dumps(costs)) | {"name": "changed"}
    for task in changed["tasks"]:
        for key, factor in changes.items():
            task[key] *= factor
    return changed


def solved(matrix: list[list[float]], right: list[float]) -> list[float]:
    """Gauss elimination; the matrix is positive definite."""
    rows = [line + [value] for line, value in zip(matrix, right)]
    for i, pivot in enumerate(rows):
        for other in rows[i + 1:]:
            factor = other[i] / pivot[i]
            other[:] = [a - factor * b for a, b in zip(other, pivot)]
    found = [0.0] * len(rows)
    for i in reversed(range(len(rows))):
        found[i] = (rows[i][-1] - sum(rows[i][j] * found[j] for j in range(i + 1, len(rows)))) / rows[i][i]
    return found


class Fit:
    def __init__(self, program: str, costs: dict[str, Any]) -> None:
        self.costs = costs
        self.slopes: dict[tuple[str, int], tuple[float, float]] = {}
        for mask in ("full", "causal"):
            task = next(task for task in costs["tasks"] if mask in task["masks"])
            for tokens in CAUSAL_US:
                spans = [run(program, with_tasks(costs, changes), mask, tokens, BATCH, HEADS)["unordered"]["makespan_us"] for changes in
                         ({}, {"compute_us": STEP, "compute_partial_us": STEP}, {"prologue_us": STEP, "epilogue_us": STEP})]
                self.slopes[mask, tokens] = ((spans[1] - spans[0]) / (STEP - 1) / task["compute_us"],
                                             (spans[2] - spans[0]) / (STEP - 1) / task["prologue_us"])

    def ms(self, parameters: list[float], mask: str, tokens: int) -> float:
        """As `call_us` adds it up: 14 bytes an element of Q around the kernel."""
        at = 0 if mask == "full" else 2
        compute, chain = self.slopes[mask, tokens]
        around = 14 * BATCH * HEADS * tokens * HEAD_DIM / self.costs["other_bytes_per_s"] * 1e6
        us = compute * parameters[at] + chain * parameters[at + 1] + parameters[4] + around
        return us * (1 + parameters[5] * us / (us + 1000 * self.costs["slowdown_ms"])) / 1000

    def parameters(self, points: list[Row]) -> list[float]:
        """Gauss-Newton from the priors."""
        found = [mean for mean, _ in PRIORS]
        for _ in range(50):
            residuals, slopes = [], []
            for mask, tokens, measured in points:
                now = self.ms(found, mask, tokens)
                residuals.append(math.log(measured / now) / ERROR)
                slopes.append([math.log(self.ms([*found[:i], found[i] * 1.001, *found[i + 1:]], mask, tokens) / now) / (.001 * found[i]) / ERROR
                               for i in range(len(found))])
            for i, (mean, width) in enumerate(PRIORS):
                residuals.append((mean - found[i]) / (width * mean))
                slopes.append([1 / (width * mean) if j == i else 0.0 for j in range(len(found))])
            size = range(len(found))
            normal = [[sum(line[i] * line[j] for line in slopes) for j in size] for i in size]
            step = solved(normal, [sum(line[i] * value for line, value in zip(slopes, residuals)) for i in size])
            found = [value + change for value, change in zip(found, step)]
        return found


def main() -> int:
    program = sys.argv[1]
    costs = json.loads((COSTS / "fa3-h100-d128.json").read_text())
    fit = Fit(program, costs)
    points: list[Row] = [("causal", tokens, us / 1000) for tokens, us in CAUSAL_US.items()]
    points += [("full", tokens, FLOPS * tokens**2 * BATCH * HEADS / rate / 1e9) for tokens, rate in FULL_TFLOPS.items()]
    print("fitted to all:", [round(value, 4) for value in fit.parameters(points)], file=sys.stderr)
    for point in points:
        mask, tokens, measured = point
        predicted = fit.ms(fit.parameters([each for each in points if each is not point]), mask, tokens)
        print(json.dumps([mask, "", tokens, BATCH * HEADS, 1, round(predicted, 6), round(measured, 6)]))
    # Pull request 1893: 2 batches of 16 heads, causal, 8,192 tokens; 575 TFLOP/s, and 474 when deterministic.
    turn = next(task["turn_us"] for task in json.loads((COSTS / "fa4-h200-d128.json").read_text())["tasks"] if "causal" in task["masks"])
    own = next(task["turn_us"] for task in costs["tasks"] if "causal" in task["masks"])
    other = run(program, with_tasks(costs, {"turn_us": turn / own}), "causal", 8192, 2, 16)
    for mode, algorithm, rate in (("unordered", "", 575), ("deterministic", "spt", 474)):
        print(json.dumps(["causal", algorithm, 8192, 32, 1, round(other[mode]["time_ms"], 6),
                          round(FLOPS * 8192**2 / 2 * 32 / rate / 1e9, 6)]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
