#!/usr/bin/env python3
"""store_judged_times.py [--check]: puts judged times of backward kernels into data/schedule-costs.

A judged time was predicted in data/predictions before it was recorded in data/recordings: `judged` holds its mask,
algorithm (empty: unordered), tokens, heads of all batches, heads a KV head, predicted and measured milliseconds.
`natten-sim schedule --kernel` makes its intervals of them. --check writes nothing and exits with 1 if a stored file
is not what predictions and recordings give.
"""
import json
import sys
from pathlib import Path
from typing import Any

DATA = Path(__file__).resolve().parent.parent / "data"
MASKS = ("full", "causal", "window")  # of `schedule --kernel`
SUITES = ("backward", "backward-masks")  # backward-costs was fitted, backward-spread has other launches


def rows_of(path: str) -> list[Any]:
    return json.loads((DATA / path).read_text())["rows"]


def median_ms(row: dict[str, Any]) -> float:
    return round(row["time_ms"]["median"], 6)


def judged_ours() -> dict[str, list[list[Any]]]:
    """By name of the costs."""
    judged: dict[str, list[list[Any]]] = {}
    for suite in SUITES:
        predicted = {point: value for point, counter, _, value in rows_of(f"predictions/h200_{suite.replace('-', '_')}.json")
                     if counter == "launch_time_ns"}
        for row in rows_of(f"recordings/nvidia-h200-{suite}.json"):
            point = row["point"]
            name = "{kernel} b{batch} h{heads} s{tokens} d{head_dim} {dtype} {mask} {algorithm} {mode}".format(**point)
            if point["mask"].split(":")[0] not in MASKS:
                continue
            algorithm = "" if point["mode"] == "unordered" else point["algorithm"]
            judged.setdefault(f"ours-h200-d{point['head_dim']}", []).append(
                [point["mask"], algorithm, point["tokens"], point["batch"] * point["heads"], 1,
                 round(predicted[name] * 1e-6, 6), median_ms(row)])
    return judged


def judged_flash_attention() -> dict[str, list[list[Any]]]:
    """FlashAttention-4's, but for those that its costs were fitted to."""
    measured = {}
    for row in rows_of("recordings/nvidia-h200-fa4-backward.json"):
        point = row["point"]
        measured[tuple(point[key] for key in ("head_dim", "tokens", "batch", "heads", "heads_kv", "mask", "mode"))] = median_ms(row)
    judged: dict[str, list[list[Any]]] = {}
    for _, head_dim, tokens, batch, heads, heads_kv, mask, ordered, unordered, _ in rows_of("predictions/h200_fa4_backward.json"):
        fitted = tokens in (2048, 16384) and mask in ("full", "causal") and batch * tokens == 16384 and heads == heads_kv
        if fitted:
            continue
        algorithm = "ascending" if mask == "full" else "spt"
        for mode, order, predicted in (("deterministic", algorithm, ordered), ("unordered", "", unordered)):
            judged.setdefault(f"fa4-h200-d{head_dim}", []).append(
                [mask, order, tokens, batch * heads, heads // heads_kv, predicted,
                 measured[head_dim, tokens, batch, heads, heads_kv, mask, mode]])
    return judged


def judged_draw() -> dict[str, list[list[Any]]]:
    """Those of a draw of FlashAttention-2 and cuDNN; cuDNN has no deterministic launch in PyTorch."""
    measured = {}
    for row in rows_of("recordings/nvidia-h200-schedules-draw.json"):
        if row["status"] == "measured":
            point = row["point"]
            measured[tuple(point[key] for key in ("implementation", "head_dim", "tokens", "batch", "heads", "mask", "mode"))] = median_ms(row)
    judged: dict[str, list[list[Any]]] = {}
    for path in ("predictions/h200_fa2_backward.json", "predictions/h200_cudnn_backward.json"):
        for kernel, head_dim, tokens, batch, heads, heads_kv, mask, ordered, unordered, _ in rows_of(path):
            for mode, order, predicted in (("deterministic", "fa2-split", ordered), ("unordered", "", unordered)):
                if predicted is not None:
                    judged.setdefault(f"{kernel}-h200-d{head_dim}", []).append(
                        [mask, order, tokens, batch * heads, heads // heads_kv, predicted,
                         measured[kernel, head_dim, tokens, batch, heads, mask, mode]])
    return judged


def with_judged(text: str, rows: list[list[Any]]) -> str:
    """The file's text with `rows` as its last member, one a line."""
    lines = ",\n".join("    " + json.dumps(row) for row in rows)
    head = text.split(',\n  "judged": [', maxsplit=1)[0]
    if head == text:
        head = text.rstrip().removesuffix("}").rstrip()
    return f'{head},\n  "judged": [\n{lines}\n  ]\n}}\n'


def main() -> int:
    stale = False
    for name, rows in {**judged_ours(), **judged_flash_attention(), **judged_draw()}.items():
        path = DATA / f"schedule-costs/{name}.json"
        text = path.read_text()
        wanted = with_judged(text, rows)
        if "--check" not in sys.argv[1:]:
            path.write_text(wanted)
            print(f"{name}: {len(rows)} judged times")
        elif text != wanted:
            print(f"{path}: not what predictions and recordings give; run scripts/store_judged_times.py", file=sys.stderr)
            stale = True
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main())
