"""The order of KV blocks in which a deterministic backward pass ends first."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from natten_sim import _core
from natten_sim._error import Error
from natten_sim._tables import TileTables


def block_matrix(tables: TileTables) -> npt.NDArray[np.int8]:
    """0 skipped, 1 partial, 2 full: the mask of schedule()."""
    side = tables["of_q"]
    matrix = np.zeros((tables["q_tiles"], tables["kv_tiles"]), dtype=np.int8)
    rows = np.repeat(np.arange(tables["q_tiles"]), np.diff(side["offsets"]))
    matrix[rows, side["columns"]] = 1 + side["full"]
    return matrix


def table_of(matrix: npt.NDArray[np.int8], order: npt.NDArray[np.int64], heads: int, workers: int) -> dict[str, Any]:
    """KV blocks begin in `order`, each in all heads of a section, take partial blocks first, and add to dQ as they began."""
    q_orders = [np.concatenate([np.nonzero(column == 1)[0], np.nonzero(column == 2)[0]]).tolist()
                for column in matrix.T]
    kv_orders = [order[row[order] > 0].tolist() for row in matrix]
    chains = [{"head": head, "kv_tile": int(kv), "q_order": q_orders[kv]}
              for kv in order if q_orders[kv] for head in range(heads)]
    return {
        "schema": "natten-sim.schedule-table/1",
        "version": _core.version,
        "q_tiles": matrix.shape[0],
        "kv_tiles": matrix.shape[1],
        "heads": heads,
        "heads_per_kv_head": 1,
        "workers": workers,
        "dispatch": "dynamic",
        "mask": ["".join(".+#"[work] for work in row) for row in matrix],
        "chains": chains,
        "dq_order": [{"head": head, "q_tile": q, "kv_order": kv_orders[q]}
                     for head in range(heads) for q in range(matrix.shape[0])],
    }


def candidates(matrix: npt.NDArray[np.int8], costs: dict[str, Any]) -> list[npt.NDArray[np.int64]]:
    """Both plain orders, the longest first, and the launch orders of the schedules that apply."""
    kv_tiles = matrix.shape[1]
    plain = np.arange(kv_tiles)
    longest = np.argsort(-np.count_nonzero(matrix, axis=0), kind="stable")
    orders = [plain, plain[::-1], longest]
    for algorithm in ("spt", "shift", "best"):
        try:
            chains = _core.schedule(mask=matrix, algorithm=algorithm, **costs).table()["chains"]
        except Error:  # it does not apply to this mask
            continue
        begun = list(dict.fromkeys(chain["kv_tile"] for chain in chains))
        orders.append(np.array(begun + sorted(set(range(kv_tiles)) - set(begun))))
    return orders


def makespan_of(
    tables: TileTables, order: npt.NDArray[np.int64], workers: int, costs: dict[str, Any], heads: int
) -> float:
    """When the backward pass ends whose KV blocks begin in `order`."""
    table = table_of(block_matrix(tables), order, heads, workers)
    return float(_core.schedule(table=table, workers=workers, **costs).makespan)


def best_order(
    tables: TileTables, workers: int | None, costs: dict[str, Any], heads: int
) -> tuple[npt.NDArray[np.int64], float]:
    """The candidate that ends first under the kernel's rules, and when; ties go to the earlier one."""
    running = workers or int(tables["kv_tiles"])
    orders = candidates(block_matrix(tables), {**costs, "workers": running, "heads": heads})
    times = [makespan_of(tables, order, running, costs, heads) for order in orders]
    first = times.index(min(times))
    return orders[first], times[first]
