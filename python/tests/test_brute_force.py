"""Counts against the mask applied pair by pair in NumPy."""

from __future__ import annotations

import itertools
from typing import Any

import hypothesis.strategies as st
import natten_sim
import numpy as np
import numpy.typing as npt
from hypothesis import given, settings


ENDS, CAUSAL, CYCLIC = range(3)


def axis_mask(length: int, window: int, stride: int, dilation: int, kind: int) -> npt.NDArray[np.bool_]:
    """Which key each query attends to, along one axis: the definition of generalized neighborhood attention.

    Source: Hassani's dissertation, sections 2.2 and 4.2.2.
    """
    mask = np.zeros((length, length), dtype=bool)
    for query in range(length):
        group = query % dilation
        place, last = query // dilation, (length - group - 1) // dilation
        first = place // stride * stride
        if kind == CYCLIC:
            keys = np.arange(window) + first + stride // 2 - window // 2
            mask[query, group + dilation * (keys % (last + 1))] = True
            continue
        if kind == CAUSAL:
            leader = min(first + stride - 1, last)
            begin, end = max(leader - window + 1, 0), place + 1
        else:
            leader = min(first + stride // 2, last)
            begin = min(max(leader - window // 2, 0), last + 1 - window)
            end = begin + window
        mask[query, group + dilation * np.arange(begin, end)] = True
    return mask


def tiles_of(mask: npt.NDArray[np.bool_], q_tile: int, kv_tile: int) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.bool_]]:
    """Along one axis without dilation: attending pairs of each pair of tiles, and whether all of it attends."""
    rows = range(0, mask.shape[0], q_tile)
    columns = range(0, mask.shape[1], kv_tile)
    blocks = [[mask[row : row + q_tile, column : column + kv_tile] for column in columns] for row in rows]
    return (
        np.array([[block.sum() for block in row] for row in blocks]),
        np.array([[block.all() for block in row] for row in blocks]),
    )


@st.composite
def axes(draw: st.DrawFn, most_dilation: int) -> tuple[int, ...]:
    length = draw(st.integers(2, 20))
    dilation = draw(st.integers(1, min(most_dilation, length // 2)))
    window = draw(st.integers(1, length // dilation))
    stride = draw(st.integers(1, window))
    kinds = [ENDS, CAUSAL, CYCLIC] if length % dilation == 0 else [ENDS, CAUSAL]
    return length, window, stride, dilation, draw(st.sampled_from(kinds)), draw(st.integers(1, 7)), draw(st.integers(1, 7))


def keywords_of(problem: list[tuple[int, ...]]) -> dict[str, Any]:
    names = ("input", "window", "stride", "dilation", "kind", "q_tile", "kv_tile")
    keywords = dict(zip(names, (list(values) for values in zip(*problem, strict=True)), strict=True))
    kinds = keywords.pop("kind")
    return {**keywords, "causal": [kind == CAUSAL for kind in kinds], "cyclic": [kind == CYCLIC for kind in kinds]}


@settings(max_examples=150)
@given(st.lists(axes(most_dilation=1), min_size=1, max_size=3))
def test_tiles_are_those_of_the_mask(problem: list[tuple[int, ...]]) -> None:
    pairs = full = np.ones((1, 1), dtype=np.int64)
    for length, window, stride, dilation, kind, q_tile, kv_tile in problem:
        attending, whole = tiles_of(axis_mask(length, window, stride, dilation, kind), q_tile, kv_tile)
        pairs, full = np.kron(pairs, attending), np.kron(full, whole)
    answer = natten_sim.count(**keywords_of(problem))
    assert answer.attended_pairs == pairs.sum()
    assert answer.visited_tiles == (pairs > 0).sum()
    assert answer.full_tiles == full.sum()
    assert answer.max_tiles_per_q_tile == (pairs > 0).sum(axis=1).max()
    assert answer.dense_tiles == pairs.size


@settings(max_examples=100)
@given(st.lists(axes(most_dilation=3), min_size=1, max_size=3))
def test_attended_pairs_are_those_of_the_mask_with_dilation(problem: list[tuple[int, ...]]) -> None:
    expected = 1
    for length, window, stride, dilation, kind, _, _ in problem:
        expected *= int(axis_mask(length, window, stride, dilation, kind).sum())
    assert natten_sim.count(**keywords_of(problem)).attended_pairs == expected


class Tokens:
    """As much of a PyTorch tensor as the emitted padding uses: (batch, layout.., heads, dim) of token numbers."""

    def __init__(self, numbers: npt.NDArray[np.int64]) -> None:
        self.numbers, self.shape = numbers, numbers.shape

    def narrow(self, dim: int, start: int, length: int) -> Tokens:
        return Tokens(np.take(self.numbers, range(start, start + length), axis=dim))

    @staticmethod
    def cat(parts: list[Tokens], dim: int) -> Tokens:
        return Tokens(np.concatenate([part.numbers for part in parts], axis=dim))


class Natten:
    """`na1d` .. `na3d` that return which tokens each query attends to, sorted."""

    def __getattr__(self, _: str) -> Any:
        return self.attend

    def attend(self, query: Tokens, key: Tokens, _: Tokens, **call: Any) -> npt.NDArray[np.object_]:
        layout = query.shape[1:-2]
        mask = np.ones((1, 1), dtype=bool)
        for axis in zip(layout, call["kernel_size"], call["stride"], call["dilation"], call["is_causal"], strict=True):
            mask = np.kron(mask, axis_mask(*axis))
        out = np.empty(mask.shape[0], dtype=object)
        for row, attends in enumerate(mask):
            out[row] = sorted(key.numbers.reshape(-1)[attends])
        return out.reshape(1, *layout)


@settings(max_examples=60)
@given(st.lists(axes(most_dilation=2).filter(lambda axis: axis[1] > 1), min_size=1, max_size=2))
def test_the_emitted_padding_attends_as_the_cycle_does(problem: list[tuple[int, ...]]) -> None:
    keywords = keywords_of(problem)
    if not any(keywords["cyclic"]):
        return
    del keywords["q_tile"], keywords["kv_tile"]
    numbers = np.arange(np.prod(keywords["input"])).reshape(1, *keywords["input"], 1, 1)
    names: dict[str, Any] = {name: Tokens(numbers) for name in ("query", "key", "value")}
    exec(natten_sim.count(**keywords).emit("natten"), {"torch": Tokens, "natten": Natten()}, names)
    mask = np.ones((1, 1), dtype=bool)
    for length, window, stride, dilation, kind, _, _ in problem:
        mask = np.kron(mask, axis_mask(length, window, stride, dilation, kind))
    expected = [np.flatnonzero(attends).tolist() for attends in mask]
    assert names["output"].reshape(-1).tolist() == expected


def test_the_window_is_shifted_inwards_at_the_borders() -> None:
    # Of 5 tokens with window 3 all attend to 3: the first two to 0..2, the last two to 2..4.
    assert axis_mask(5, 3, 1, 1, False).sum(axis=1).tolist() == [3] * 5
    assert list(itertools.chain(*np.nonzero(axis_mask(5, 3, 1, 1, False)[:1]))) == [0, 0, 0, 0, 1, 2]


def test_tiles_that_nobody_names_are_those_of_one_count() -> None:
    for keywords in ({}, {"device": "h200"}, {"backend": "hopper-fna"}, {"backprop": True}):
        asked: dict[str, Any] = {"input": (64, 64), "cyclic": (True, False), **keywords}
        one = natten_sim.count(window=(9, 9), **asked).result
        counts = natten_sim.count_many(window=np.array([[9, 9]]), **asked)
        assert counts["visited_tiles"][0] == (one.backward if "backprop" in keywords else one).visited_tiles, keywords


@given(st.lists(axes(most_dilation=3), min_size=2, max_size=2).flatmap(st.permutations))
def test_many_counts_are_single_ones(problem: list[tuple[int, ...]]) -> None:
    keywords = keywords_of(problem)
    rows: dict[str, Any] = {name: np.array([values, values[::-1]]) for name, values in keywords.items()}
    counts = natten_sim.count_many(**rows)
    for row, values in enumerate((keywords, {name: values[::-1] for name, values in keywords.items()})):
        result = natten_sim.count(**values).result
        for name, column in counts.items():
            assert name == "valid" or column[row] == result[name], (name, values)
