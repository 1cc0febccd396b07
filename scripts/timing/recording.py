"""Recordings: what they say of the GPU, their rows, and how they are written."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from pathlib import Path
from typing import Any


def spread_of(values: list[float]) -> dict[str, float]:
    ordered, n = sorted(values), len(values)
    return {"median": (ordered[(n - 1) // 2] + ordered[n // 2]) / 2, "p95": ordered[math.ceil(0.95 * n) - 1],
            "smallest": ordered[0], "largest": ordered[-1], "repetitions": n}


def said_by_nvidia_smi() -> tuple[dict[str, int] | None, str]:
    """Clocks of SMs and memory, where there are any, and the driver's version."""
    command = ["nvidia-smi", "--query-gpu=clocks.sm,clocks.mem,driver_version", "--format=csv,noheader,nounits"]
    try:
        line = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout.splitlines()[0]
        sm, memory, driver = (word.strip() for word in line.split(","))
        return {"sm_mhz": int(sm), "memory_mhz": int(memory)}, driver
    except (OSError, subprocess.SubprocessError, ValueError, IndexError):
        return None, "unknown"


def device_of() -> dict[str, Any]:
    import torch

    device = torch.cuda.get_device_properties(0)
    return {"name": device.name, "sms": device.multi_processor_count, "l2_bytes": device.L2_cache_size,
            "memory_bytes": device.total_memory, "compute_capability": f"{device.major}.{device.minor}"}


def head_of(suite: str, commit: str, policy: str, **other: Any) -> dict[str, Any]:
    """Of natten-sim.recording/1. `policy`: how clocks were treated."""
    import torch

    from natten_sim._check import device_name

    device = device_of()
    device["profile"] = device_name(device["name"])
    return {"schema": "natten-sim.recording/1", "suite": suite, "device": device, "driver": said_by_nvidia_smi()[1],
            "toolkit": f"PyTorch {torch.__version__}, CUDA {torch.version.cuda}", "profiler": "none: times by events",
            "clocks_policy": policy, "cache_control": "L2 overwritten before each repetition", "commit": commit,
            "metrics": {}, **other}


def row_of(point: dict[str, Any], times: list[float] | str, **more: Any) -> dict[str, Any]:
    """`times` in milliseconds, or why there are none."""
    row: dict[str, Any] = {"point": point, "status": "measured", "counters": {}}
    if isinstance(times, str):
        row["status"] = times
    else:
        row["time_ms"] = {**spread_of(times), "inputs": 1, "l2": "flushed", **more}
    return row


class File:
    """A recording that is whole after every row."""

    def __init__(self, path: Path, head: dict[str, Any], resume: bool) -> None:
        self.path, self.head = path, head
        self.rows: list[dict[str, Any]] = []
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.exists():
            if not resume:
                sys.exit(f"{path} is there already: choose another file, or --resume to go on with it")
            there = json.loads(path.read_text(encoding="utf-8"))
            for key in ("schema", "suite", "device", "driver"):
                if there.get(key) != head.get(key):
                    sys.exit(f"{path} is of another {key}: choose another file")
            self.rows = there["rows"]

    def has(self, **members: Any) -> bool:
        return any(all(row.get(key) == value for key, value in members.items()) for row in self.rows)

    def add(self, row: dict[str, Any]) -> None:
        self.rows.append(row)
        shown = row["time_ms"]["median"] if "time_ms" in row else row["status"]
        print(*(each for key, each in row.items() if key in ("point", "problem", "backend")), shown, flush=True)
        self.write()

    def write(self) -> None:
        lines = ",\n    ".join(json.dumps(row, separators=(",", ":")) for row in self.rows)
        partial = f"{self.path}.partial"
        Path(partial).write_text(json.dumps(self.head, indent=2)[:-2] + ',\n  "rows": [\n    ' + lines + "\n  ]\n}\n",
                                 encoding="utf-8")
        os.replace(partial, self.path)
