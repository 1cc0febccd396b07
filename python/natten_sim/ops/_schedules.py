"""Schedules of a deterministic backward pass: by name, or as a table."""

from __future__ import annotations

import ctypes
import json
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

import natten_sim
from natten_sim.ops import _library
from natten_sim.ops._layout import refuse

# What decides between orders, in microseconds: data/schedule-costs/ours-h200-*.json, rounded.
_COSTS: dict[str, Any] = {"compute": 2, "compute_partial": 2, "reduce": 0.9, "tax": 0.7, "handoff": 0.6,
                          "prologue": 3, "epilogue": 3, "overlap": "async:2"}
_FULL, _CAUSAL, _ANY = "shift", "symmetric-shift", ("best", "spt")
_SPREAD = (_FULL, _CAUSAL)  # their chains begin as far apart as a dQ tile takes to be handed on
_TASKS_TO_SEARCH = 20_000

_tables: dict[str, dict[str, Any]] = {}


def name_of(schedule: Any) -> str:
    """A schedule as operators take it: a name, or the key of a table that is kept.

    Args:
        schedule: "auto", the name of an algorithm, what schedule() answers, or its table().
    """
    if isinstance(schedule, str):
        return schedule
    table = schedule if isinstance(schedule, Mapping) else schedule.table()
    if table.get("schema") != "natten-sim.schedule-table/1":
        raise refuse("schedule", table.get("schema"), "a name, or a table of schema natten-sim.schedule-table/1")
    key = "table:" + str(hash(json.dumps(table, sort_keys=True)))
    _tables[key] = dict(table)
    return key


def _is_causal(mask: npt.NDArray[np.uint8]) -> bool:
    """Whether work only ever grows along the sequence, to all of it: a triangle of tiles."""
    reach = (mask > 0).sum(axis=1)
    return bool((np.diff(reach.astype(np.int64)) >= 0).all() and reach[-1] == mask.shape[1] and (mask[:, 0] > 0).all())


def _names(mask: npt.NDArray[np.uint8], heads: int) -> tuple[str, ...]:
    """Which algorithms are tried, the first that applies wins."""
    if (mask > 0).all():
        return (_FULL, "ascending")
    if _is_causal(mask):
        return (_CAUSAL, "spt", "ascending")
    tasks = int((mask > 0).sum()) * heads
    return (*(_ANY if tasks <= _TASKS_TO_SEARCH else _ANY[1:]), "ascending")


def table_of(schedule: str, mask: npt.NDArray[np.uint8], heads: int, workers: int) -> dict[str, Any]:
    """The table that a backward pass of this mask runs.

    Raises:
        Error: The algorithm does not apply to the mask, or the table is another problem's.
    """
    if schedule.startswith("table:"):
        return _tables[schedule]
    names = _names(mask, heads) if schedule == "auto" else (schedule,)
    for name in names:
        try:
            answer = natten_sim.schedule(mask=mask.astype(np.int8), algorithm=name, heads=heads, workers=workers,
                                         dispatch="static" if name == "best" else None,
                                         walk="spread" if schedule == "auto" and name in _SPREAD else None, **_COSTS)
            table: dict[str, Any] = answer.table()
            return table
        except natten_sim.Error:
            if name == names[-1]:
                raise
    raise AssertionError("some schedule applies to every mask")


class Arrays:
    """A table as the library takes it; keeps the arrays alive."""

    def __init__(self, table: dict[str, Any], mask: npt.NDArray[np.uint8], heads: int) -> None:
        q_tiles, kv_tiles = mask.shape
        if (table["q_tiles"], table["kv_tiles"], table["heads"]) != (q_tiles, kv_tiles, heads):
            given = f"{table['q_tiles']} x {table['kv_tiles']} tiles, {table['heads']} heads"
            raise refuse("schedule", given, f"{q_tiles} x {kv_tiles} tiles, {heads} heads (batch times heads)")
        chains = table["chains"]
        self._kept: list[Any] = []
        by_cell: list[list[int]] = [[]] * (heads * q_tiles)
        for order in table["dq_order"]:
            by_cell[order["head"] * q_tiles + order["q_tile"]] = order["kv_order"]
        static = table["dispatch"] == "static"
        self.struct = _library.Schedule(
            table["workers"], len(chains),
            self._array([chain["head"] for chain in chains], np.int32),
            self._array([chain["kv_tile"] for chain in chains], np.int32),
            self._array([chain["worker"] for chain in chains], np.int32) if static else None,
            *self._lists([chain["q_order"] for chain in chains]), *self._lists(by_cell))

    def _array(self, values: Any, dtype: Any) -> Any:
        array = np.ascontiguousarray(values, dtype=dtype)
        self._kept.append(array)
        return array.ctypes.data_as(ctypes.c_void_p)

    def _lists(self, lists: list[list[int]]) -> tuple[Any, Any]:
        offsets = np.concatenate([[0], np.cumsum([len(each) for each in lists])])
        flat = np.fromiter((value for each in lists for value in each), np.int32, int(offsets[-1]))
        return self._array(offsets, np.int64), self._array(flat, np.int32)
