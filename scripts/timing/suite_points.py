"""Points of suites, and the runs of natten_sim.measure that time them."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

DATA = Path(__file__).resolve().parents[2] / "data"
Point = dict[str, Any]


def suite_of(name: str) -> dict[str, Any]:
    """A suite of data/suites, or a file."""
    path = Path(name) if name.endswith(".json") else DATA / f"suites/{name}.json"
    return json.loads(path.read_text(encoding="utf-8"))  # type: ignore[no-any-return]


def points_of(suite: dict[str, Any]) -> Iterator[Point]:
    """Every combination of each sweep's lists."""
    for sweep in suite["sweeps"]:
        values = [value if isinstance(value, list) else [value] for value in sweep.values()]
        for chosen in itertools.product(*values):
            yield dict(zip(sweep, chosen, strict=True))


def dense_run(kernel: str, tokens: int, **more: Any) -> dict[str, Any]:
    """Attention of a sequence to itself."""
    return {"kernel": kernel, "input": str(tokens), "window": str(tokens), "q_tile": "128", "kv_tile": "128", **more}


def run_of(point: Point) -> dict[str, Any]:
    """The columns of a point that names a launch of attention; KeyError for others."""
    named: dict[str, Any] = {key: point[key] for key in ("batch", "heads", "heads_kv", "head_dim", "dtype", "pass")
                             if key in point}
    if point["kernel"] in ("natten", "flex", "beside"):
        axes: dict[str, Any] = {key: point[key] for key in ("input", "window", "stride", "dilation", "causal", "q_tile",
                                                            "kv_tile") if key in point}
        rest = {"rest_ms": point["rest_us"] / 1000} if "rest_us" in point else {}
        return {"kernel": point.get("runs", "flexattention"), **named, **axes, **rest}
    if point["kernel"] == "sdpa":
        return dense_run(point["implementation"], point["tokens"], causal=str(int(point["causal"])), **named)
    mask = point["mask"]  # of flash_attention_backward
    more: dict[str, Any] = {"causal": str(int(mask == "causal")), "mode": point["mode"]}
    if mask.startswith("window:"):
        more["band"] = [int(side) for side in mask.removeprefix("window:").split(",")]
    return dense_run(point["implementation"], point["tokens"], **{**named, "pass": "backward"}, **more)


def shared_tensors(point: Point) -> tuple[Any, ...]:
    """Points that take turns are of the same size."""
    return tuple(point.get(key) for key in ("input", "tokens", "batch", "heads", "heads_kv", "head_dim", "dtype",
                                            "pass", "mask"))
