"""Sweeps by executors of concurrent.futures, and by Dask and Ray where they are installed.

    python executors.py

Each has to find the table that threads find.
"""

from __future__ import annotations

import concurrent.futures
import importlib
import importlib.util
import multiprocessing
from typing import Any

import natten_sim

OVER: dict[str, Any] = {"seqlen": [32768, 65536, 98304, 131072], "order": ["cyclic", "sawtooth"]}
FIXED: dict[str, Any] = {"head_dim": 64, "device": "h200", "fidelity": "lru"}


class RayExecutor:
    """Each question as a task of Ray; ObjectRef.future() is a future of concurrent.futures."""

    def __init__(self, ray: Any) -> None:
        self.ray = ray

    def submit(self, fn: Any, /, *args: Any) -> Any:
        return self.ray.remote(fn).remote(*args).future()


def compare(name: str, executor: Any, expected: natten_sim.Sweep) -> None:
    found = natten_sim.sweep("reuse", OVER, executor=executor, **FIXED)
    assert found.rows == expected.rows, f"{name} finds another table"
    print(f"{name}: {found!r}, the table that threads find")


def main() -> None:
    expected = natten_sim.sweep("reuse", OVER, **FIXED)
    with concurrent.futures.ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("spawn")) as processes:
        compare("ProcessPoolExecutor", processes, expected)
    if importlib.util.find_spec("distributed"):
        distributed = importlib.import_module("distributed")
        with distributed.Client(n_workers=2, threads_per_worker=1, dashboard_address=None) as client:
            compare(f"Dask {distributed.__version__}", client, expected)
    else:
        print("not run: Dask (pip install distributed)")
    if importlib.util.find_spec("ray"):
        ray = importlib.import_module("ray")
        ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
        compare(f"Ray {ray.__version__}", RayExecutor(ray), expected)
        ray.shutdown()
    else:
        print("not run: Ray (pip install ray)")


if __name__ == "__main__":
    main()
