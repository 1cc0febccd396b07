"""A launch's output against the definition of attention, in float64 on the CPU."""

from __future__ import annotations

import math
import random
from typing import Any

import numpy as np

QUERIES, TOLERANCE = 64, 2e-2


def sizes(text: str) -> list[int]:
    return [int(word) for word in text.split("x")]


def attended(at: int, length: int, window: int, stride: int, dilation: int, causal: int) -> range:
    """Coordinates that a query attends to along an axis: NATTEN's rule."""
    residue, i = at % dilation, at // dilation
    count = -(-(length - residue) // dilation)
    group = i // stride
    if causal:
        begin, end = max(min(group * stride + stride - 1, count - 1) - (window - 1), 0), i + 1
    else:
        leader = min(group * stride + stride // 2, count - 1)
        begin = min(max(leader - window // 2, 0), count - window)
        end = begin + window
    return range(residue + dilation * begin, residue + dilation * (end - 1) + 1, dilation)


def keys_of(token: int, run: dict[str, Any]) -> np.ndarray[Any, Any]:
    """Numbers of the tokens that a token attends to."""
    lengths = sizes(run["input"])
    if run.get("band"):
        before, after = run["band"]
        return np.arange(max(0, token - before), min(lengths[0], token + after + 1))
    rules = zip(lengths, *(sizes(run.get(name) or "x".join([absent] * len(lengths))) for name, absent in
                           (("window", ""), ("stride", "1"), ("dilation", "1"), ("causal", "0"))), strict=True)
    keys = np.zeros(1, dtype=np.int64)
    for at, rule in zip(np.unravel_index(token, lengths), rules, strict=True):
        keys = (keys[:, None] * rule[0] + np.array(attended(int(at), *rule))).reshape(-1)
    return keys


def error_of(run: dict[str, Any], launch: Any) -> float:
    """|output - softmax(q k) v| / |softmax(q k) v| over some queries of the first batch's last head."""
    def rows(tensor: Any) -> np.ndarray[Any, Any]:
        return np.asarray(launch.last_head(tensor.detach()).float().cpu().numpy(), dtype=np.float64)

    q, k, v = map(rows, launch.inputs)
    found = rows(launch.forward())
    picked = random.Random(1).choices(range(len(q)), k=QUERIES)
    expected = []
    for token in picked:
        keys = keys_of(token, run)
        logits = k[keys] @ q[token] / math.sqrt(q.shape[1])
        weights = np.exp(logits - logits.max())
        expected.append(weights @ v[keys] / weights.sum())
    return float(np.linalg.norm(found[picked] - np.array(expected)) / np.linalg.norm(expected))


def wrong(run: dict[str, Any], launch: Any) -> str | None:
    """Why the launch is not timed, if it is wrong: its output, or the bits of a second deterministic launch."""
    error = error_of(run, launch)
    if not error <= TOLERANCE:
        return f"wrong: relative error {error:.2e}"
    if run.get("mode") == "deterministic":
        first, second = ([each.detach().float().cpu().numpy() for each in launch.work()] for _ in range(2))
        if not all(map(np.array_equal, first, second)):
            return "wrong: other bits the second time"
    return None
