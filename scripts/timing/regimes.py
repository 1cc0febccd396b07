"""PyTorch's scaled_dot_product_attention, backend by backend (docs/measurements-pytorch.md has the format).

What cannot run is a row with PyTorch's reason, never a gap.
"""

from __future__ import annotations

import argparse
import warnings
from pathlib import Path
from typing import Any

import recording
import torch
from suite_points import dense_run

from natten_sim import measure

#: Kernels of natten_sim.measure, their names in the recording, and how PyTorch's warnings call them.
BACKENDS = {"auto": ("auto", ""), "fa2": ("flash", "flash"), "cudnn": ("cudnn", "cudnn"),
            "efficient": ("efficient", "memory efficient"), "math": ("math", "math")}
HEADS = {64: 32, 96: 16, 128: 16, 160: 16}  # as in the suite `tiles`


def head_of() -> dict[str, Any]:
    clocks, driver = recording.said_by_nvidia_smi()
    return {"schema": "natten-sim.sdpa-recording/1", "device": recording.device_of(), "driver": driver,
            "framework": f"PyTorch {torch.__version__}", "cudnn": str(torch.backends.cudnn.version()),
            "clocks_policy": "untouched", "cache_control": "L2 overwritten before each repetition",
            **({"clocks_before": clocks} if clocks else {})}


def reasons(caught: list[Any], spoken: str) -> list[str]:
    """What PyTorch warned about one backend; it names them all in turn."""
    found, about_it = [], False
    for warning in caught:
        text = str(warning.message).split(" (Triggered")[0].strip()
        if text.endswith("because:"):
            about_it = bool(spoken) and spoken in text.lower()
        elif about_it:
            found.append(text)
    return found


def timed(run: dict[str, Any], clock: Any) -> list[float] | str:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            launch = measure.prepared(run)
            if not bool(launch.forward().isfinite().all()):
                return "wrong: the output is not finite"
            return measure.times_of(run, launch, clock)
        except (measure.Unavailable, RuntimeError, ValueError) as error:
            return " ".join([measure.refusal(error), *reasons(caught, BACKENDS[run["kernel"]][1])])[:400]


def record(arguments: argparse.Namespace) -> None:
    file, clock = recording.File(Path(arguments.out), head_of(), arguments.resume), measure.Clock(arguments.repetitions)
    for head_dim in arguments.head_dims:
        for dtype in ("bf16", "fp16"):
            for causal in (False, True):
                for tokens in arguments.lengths:
                    if dtype == "fp16" and tokens > 16384:
                        continue
                    heads = HEADS.get(head_dim, 16)
                    problem = {"batch": 1, "heads": heads, "heads_kv": heads, "tokens": tokens, "head_dim": head_dim,
                               "dtype": dtype, "causal": causal}
                    for kernel, (backend, _) in BACKENDS.items():
                        if file.has(problem=problem, backend=backend):
                            continue
                        run = dense_run(kernel, tokens, heads=heads, head_dim=head_dim, dtype=dtype,
                                        causal=str(int(causal)))
                        times = timed(run, clock)
                        row = {"problem": problem, "backend": backend}
                        file.add({**row, "status": times} if isinstance(times, str) else
                                 {**row, "status": "measured", "time_ms": recording.spread_of(times)})
                        torch.cuda.empty_cache()
    clocks, _ = recording.said_by_nvidia_smi()
    if clocks:
        file.head["clocks_after"] = clocks
        file.write()
