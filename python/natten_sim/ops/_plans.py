"""Prepared launches, kept by everything that they depend on but addresses."""

from __future__ import annotations

import ctypes
import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from natten_sim.ops import _library, _schedules
from natten_sim.ops._layout import struct

_MOST_PLANS = 256


@dataclass(frozen=True)
class Problem:
    """What a plan is for; hashable."""

    device: int
    shape: tuple[int, int, int, int, int, int]  # batch, heads, heads_kv, q_tokens, kv_tokens, head_dim
    fp16: bool
    scale: float
    strides: tuple[tuple[int, int, int], ...]  # q, k, v, o
    left: int = -1
    right: int = -1
    documents: tuple[int, ...] = ()
    axes: tuple[int, ...] = ()
    extra_tokens: int = 0
    extra_strides: tuple[tuple[int, int, int], ...] = ((8, 8, 8), (8, 8, 8))

    def intervals(self) -> npt.NDArray[np.int64] | None:
        """(q_tokens, 2): the keys of each query within its document."""
        if not self.documents:
            return None
        ends = np.cumsum(self.documents)
        token = np.arange(int(ends[-1]))
        document = np.searchsorted(ends, token, side="right")
        begin, end = (ends - self.documents)[document], ends[document]
        if self.left >= 0:
            begin = np.maximum(begin, token - self.left)
        if self.right >= 0:
            end = np.minimum(end, token + self.right + 1)
        return np.ascontiguousarray(np.stack([begin, end], axis=1), dtype=np.int64)

    def struct(self) -> tuple[_library.Attention, list[Any]]:
        """For the library, and what has to live as long."""
        intervals = self.intervals()
        axes = np.asarray(self.axes, dtype=np.int64)
        address = [None if intervals is None else intervals.ctypes.data, axes.ctypes.data if self.axes else None]
        made = _library.Attention(
            *self.shape, int(self.fp16), len(self.axes) // 5, self.scale, *map(struct, self.strides), self.left,
            self.right, *address, self.extra_tokens, *map(struct, self.extra_strides))
        return made, [intervals, axes]


@dataclass
class Plan:
    """An address in the library, freed with this object; what a launch needs besides."""

    address: int
    free: Callable[[int], None]
    workspace_bytes: int
    extra: dict[str, Any] = field(default_factory=dict)

    def __del__(self) -> None:
        self.free(self.address)


class _Kept:
    """The plans that were used last."""

    def __init__(self) -> None:
        self._plans: OrderedDict[Any, Plan] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: Any, make: Callable[[], Plan]) -> Plan:
        with self._lock:
            plan = self._plans.get(key)
            if plan is None:
                plan = self._plans[key] = make()
                if len(self._plans) > _MOST_PLANS:
                    self._plans.popitem(last=False)
            self._plans.move_to_end(key)
            return plan

    def clear(self) -> None:
        with self._lock:
            self._plans.clear()


kept = _Kept()


def forward(problem: Problem) -> Plan:
    """The forward plan of a problem; `extra` has its tiles."""
    return kept.get(("forward", problem), lambda: _new_forward(problem))


def backward(problem: Problem, schedule: str) -> Plan:
    """The backward plan; of a neighborhood `extra` has the places of tokens, as tensors."""
    return kept.get(("backward", problem, schedule), lambda: _new_backward(problem, schedule))


def _new_forward(problem: Problem) -> Plan:
    _library.sms(problem.device)
    given, _alive = problem.struct()
    address = _library.made("forward_plan", problem.device, ctypes.byref(given))
    functions = _library.library()
    q_tile, kv_tile, visits = (_library.INT64 * 4)(), (_library.INT64 * 4)(), _library.INT64()
    functions["forward_tiles"](address, q_tile, kv_tile, ctypes.byref(visits))
    tiles = {"q_tile": tuple(size for size in q_tile if size), "kv_tile": tuple(size for size in kv_tile if size)}
    return Plan(address, functions["forward_free"], functions["forward_workspace"](address), tiles)


def _order(function: str, problem: int, places: int) -> npt.NDArray[np.int64] | None:
    address = _library.library()[function](problem)
    if not address:
        return None
    return np.ctypeslib.as_array(ctypes.cast(address, ctypes.POINTER(_library.INT64)), (places,)).copy()


def _new_backward(problem: Problem, schedule: str) -> Plan:
    workers = _library.sms(problem.device)
    given, _alive = problem.struct()
    address = _library.made("backward_problem", problem.device, ctypes.byref(given))
    try:
        tiles = _library.BackwardTiles()
        _library.call("backward_tiles", address, ctypes.byref(tiles))
        mask = np.empty((tiles.q_tiles, tiles.kv_tiles), dtype=np.uint8)
        _library.call("backward_mask", address, mask.ctypes.data)
        batch, heads, heads_kv = problem.shape[:3]
        all_heads = batch * (heads_kv if tiles.grouped else heads)
        arrays = _schedules.Arrays(_schedules.table_of(schedule, mask, all_heads, workers), mask, all_heads)
        plan = _library.made("backward_plan", address, ctypes.byref(arrays.struct))
        extra = _places(problem, _order("backward_q_order", address, tiles.q_places),
                        _order("backward_kv_order", address, tiles.kv_places - problem.extra_tokens))
    finally:
        _library.library()["backward_problem_free"](address)
    functions = _library.library()
    return Plan(plan, functions["backward_free"], functions["backward_workspace"](plan), extra)


def _places(problem: Problem, q_order: npt.NDArray[np.int64] | None,
            kv_order: npt.NDArray[np.int64] | None) -> dict[str, Any]:
    if q_order is None or kv_order is None:
        return {}
    device = torch.device("cuda", problem.device)

    def on_gpu(values: npt.NDArray[Any]) -> torch.Tensor:
        return torch.from_numpy(np.ascontiguousarray(values)).to(device)

    def inverse(order: npt.NDArray[np.int64], tokens: int) -> torch.Tensor:
        places = np.empty(tokens, dtype=np.int64)
        places[order[order >= 0]] = np.flatnonzero(order >= 0)
        return on_gpu(places)

    return {"q_tokens": on_gpu(np.maximum(q_order, 0)), "kv_tokens": on_gpu(np.maximum(kv_order, 0)),
            "empty": on_gpu(q_order < 0), "q_places": inverse(q_order, problem.shape[3]),
            "kv_places": inverse(kv_order, problem.shape[4])}


def address(tensor: torch.Tensor | None) -> int | None:
    """Where a tensor begins on the GPU."""
    return None if tensor is None else tensor.data_ptr()


def launch(plan: Plan, function: str, tensors: Any, like: torch.Tensor) -> None:
    """On PyTorch's current stream."""
    memory = _library.workspace(plan.workspace_bytes, like)
    _library.call(function, plan.address, ctypes.byref(tensors), memory.data_ptr(), _library.stream_of(like))


def pieces(numbers: Sequence[int], size: int) -> list[tuple[int, ...]]:
    """Of a flat list."""
    return [tuple(numbers[at : at + size]) for at in range(0, len(numbers), size)]
