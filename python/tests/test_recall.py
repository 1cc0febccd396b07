"""Recall of windows, and the choice of a window for each head: against all pairs of tokens and all choices."""

from __future__ import annotations

import itertools
import math
from pathlib import Path
from typing import Any

import natten_sim
import numpy as np
import numpy.typing as npt
import pytest
from conftest import Program
from natten_sim import recall
from test_brute_force import ENDS, axis_mask

Floats = npt.NDArray[np.float64]


def mask_of(layout: tuple[int, ...], window: tuple[int, ...], stride: tuple[int, ...]) -> npt.NDArray[np.bool_]:
    """All pairs of tokens."""
    mask = np.ones((1, 1), dtype=bool)
    for sizes in zip(layout, window, stride):
        mask = np.kron(mask, axis_mask(*sizes, 1, ENDS))
    return mask


def offsets(layout: tuple[int, ...]) -> npt.NDArray[np.int64]:
    """(tokens, tokens, axes): where the offset of each pair stands in a table."""
    places = np.stack(np.unravel_index(np.arange(math.prod(layout)), layout), axis=-1)
    result: npt.NDArray[np.int64] = places[None, :] - places[:, None] + np.array(layout) - 1
    return result


def recall_of_pairs(table: Floats, layout: tuple[int, ...], mask: npt.NDArray[np.bool_]) -> float:
    """The attention at an offset goes in equal parts to the pairs that have it."""
    at = tuple(np.moveaxis(offsets(layout), -1, 0))
    pairs = np.zeros(table.shape)
    np.add.at(pairs, at, 1)
    return float((table / pairs)[at][mask].sum() / table.sum())


def random_problem(random: np.random.Generator) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
    layout = tuple(int(random.integers(1, most)) for most in [(20,), (8, 7), (4, 5, 4)][random.integers(3)])
    window = tuple(int(random.integers(1, length + 1)) for length in layout)
    return layout, window, tuple(int(random.integers(1, size + 1)) for size in window)


def test_recall_is_the_attention_of_the_pairs_that_a_window_keeps() -> None:
    random = np.random.default_rng(41)
    for _ in range(200):
        layout, window, stride = random_problem(random)
        tables = random.random((2, *(2 * length - 1 for length in layout)))
        found = recall.recall(tables, layout, window, stride)
        mask = mask_of(layout, window, stride)
        for table, value in zip(tables, found):
            assert value == pytest.approx(recall_of_pairs(table, layout, mask))


def test_a_product_over_the_axes_has_the_recall_of_its_table() -> None:
    random = np.random.default_rng(42)
    for _ in range(100):
        layout, window, stride = random_problem(random)
        axes = tuple(random.random((3, 2 * length - 1)) for length in layout)
        table: Any = axes[0]
        for axis in axes[1:]:
            table = table[..., None] * axis.reshape(3, *[1] * (table.ndim - 1), -1)
        assert recall.recall(recall.Separable(axes), layout, window, stride) == pytest.approx(
            recall.recall(table, layout, window, stride))


def test_attention_that_is_alike_everywhere_is_kept_as_pairs_are() -> None:
    layout = (6, 8)
    nothing = np.zeros((2, 48, 4))
    table = recall.record(nothing, nothing, layout, samples=48)
    # Of the pairs with an offset each has 1 / tokens, so that the table is their number over tokens squared.
    pairs = np.multiply.outer(6 - np.abs(np.arange(-5, 6)), 8 - np.abs(np.arange(-7, 8)))
    assert table[0] == pytest.approx(pairs / 48**2)
    count = natten_sim.count(input=layout, window=(3, 4), stride=(1, 2), q_tile=(2, 2), kv_tile=(2, 2))
    assert recall.recall(table, layout, (3, 4), (1, 2))[1] == pytest.approx(1 - count.sparsity)
    # A sample of 12 queries: each adds up to its share.
    assert recall.record(nothing, nothing, layout, samples=12, seed=3).sum(axis=(1, 2)) == pytest.approx([1, 1])


def test_attention_to_oneself_is_at_offset_zero() -> None:
    sharp = 100 * np.eye(30)[None]
    table = recall.record(sharp, sharp, (5, 6), samples=7, seed=1)
    assert table[0, 4, 5] == pytest.approx(1)
    assert recall.recall(table, (5, 6), (1, 1))[0] == pytest.approx(1)


class Tensor:
    """As much of a tensor of PyTorch as record() uses."""

    def __init__(self, values: Floats) -> None:
        self.values, self.shape = values, values.shape

    def __getitem__(self, index: Any) -> Tensor:
        return Tensor(self.values[index])

    def detach(self) -> Tensor:
        return self

    float = cpu = detach

    def numpy(self) -> Floats:
        return self.values


def test_tensors_are_recorded_as_arrays_are() -> None:
    random = np.random.default_rng(5)
    query, key = random.normal(size=(2, 3, 20, 8))
    table = recall.record(query, key, (4, 5), samples=9, seed=2)
    assert (recall.record(Tensor(query), Tensor(key), (4, 5), samples=9, seed=2) == table).all()
    # By the definition, one query after the other.
    drawn = np.sort(np.random.default_rng(2).permutation(20)[:9])
    expected = np.zeros_like(table)
    for head, token in itertools.product(range(3), drawn):
        weights = np.exp(key[head] @ query[head, token] / math.sqrt(8))
        for other, weight in enumerate(weights / weights.sum()):
            expected[head, 3 + other // 5 - token // 5, 4 + other % 5 - token % 5] += weight / 9
    assert table == pytest.approx(expected)


def candidates(random: np.random.Generator, number: int) -> list[recall.Candidate]:
    return [recall.Candidate((int(random.integers(1, 12)),), (1,), float(random.random() + 0.2)) for _ in range(number)]


@pytest.mark.parametrize("per", ["head", "layer"])
def test_no_choice_as_quick_keeps_more_and_none_that_keeps_as_much_is_quicker(per: str) -> None:
    random = np.random.default_rng(6)
    for _ in range(60):
        table = recall.Separable((random.random((2, 2, 23)) ** 3,))
        among = candidates(random, 5)
        recalls = np.stack([recall.recall(table, (12,), each.window, each.stride) for each in among], axis=-1)
        costs = np.array([each.ms for each in among]) / 2
        every = []
        for heads in itertools.product(range(5), repeat=4):
            if per == "layer" and (heads[0] != heads[1] or heads[2] != heads[3]):
                continue
            kept = [recalls[index // 2, index % 2, candidate] for index, candidate in enumerate(heads)]
            every.append((float(costs[list(heads)].sum()), float(np.mean(kept))))
        budget = min(cost for cost, _ in every) * (1 + random.random())
        wish = max(kept for _, kept in every) * (0.7 + 0.3 * random.random())
        chosen = recall.choose(table, (12,), among, budget_ms=budget, per=per)
        assert chosen.ms <= budget * (1 + 1e-9)
        assert chosen.recall == pytest.approx(max(kept for cost, kept in every if cost <= chosen.ms * (1 + 1e-9)))
        cheap = recall.choose(table, (12,), among, least_recall=wish, per=per)
        assert cheap.recall >= wish * (1 - 1e-9)
        assert cheap.ms == pytest.approx(min(cost for cost, kept in every if kept >= cheap.recall * (1 - 1e-9)))
        for choice in (chosen, cheap):
            assert sorted((each.layer, head) for each in choice.launches for head in each.heads) == [
                (0, 0), (0, 1), (1, 0), (1, 1)]
            for each in choice.launches:
                found = recall.recall(table, (12,), each.candidate.window, each.candidate.stride)
                assert each.recall == pytest.approx(found[each.layer, list(each.heads)].mean())


def test_heads_that_look_far_get_the_windows_of_a_search() -> None:
    layout = (16, 24)
    answer = natten_sim.search(input=layout, heads=2, head_dim=128, device="h100", sparsity=(0.3, 0.95), top=40)
    among = recall.candidates(answer)
    assert [each.ms for each in among] == [each.to_dict()["total_ms"] for each in answer.candidates]
    reach = np.array([1.0, 9.0])[:, None]
    axes = tuple(np.exp(-np.abs(np.arange(1 - length, length)) / reach) for length in layout)
    chosen = recall.choose(recall.Separable(axes), layout, among, least_recall=0.8)
    of_head = {head: launch.candidate for launch in chosen.launches for head in launch.heads}
    assert math.prod(of_head[1].window) > math.prod(of_head[0].window)
    with pytest.raises(natten_sim.Error):
        recall.candidates(natten_sim.search(input=layout, top=1))


def test_the_program_keeps_what_this_module_does(program: Program, tmp_path: Path) -> None:
    random = np.random.default_rng(8)
    whole, factors = random.random((2, 3, 23, 31)) ** 4, random.random((3, 54)) ** 2 + 1e-3
    parts = recall.Separable((factors[:, :23], factors[:, 23:]))
    for name, stored, table in (("whole", whole, whole), ("factors", factors, parts)):
        path = tmp_path / f"{name}.npy"
        np.save(path, stored)
        line = f"search -i 12 16 -n 3 -d 128 --device h200 --recall {path}"
        result = program.json(line)["result"]
        for each, window in zip(result["candidates"], result["recall"]["windows"]):
            expected = recall.recall(table, (12, 16), each["window"], each["stride"])
            assert np.array(window["head_recalls"]).reshape(expected.shape) == pytest.approx(expected)
        chosen = program.json(f"{line} --least-recall 0.6")["result"]
        kept = sum(launch["recall"] * len(launch["heads"]) for launch in chosen["recall"]["launches"])
        assert kept / (3 * chosen["recall"]["layers"]) == pytest.approx(chosen["recall"]["recall"])
        for launch in chosen["recall"]["launches"]:
            one = chosen["candidates"][launch["candidate"]]
            expected = recall.recall(table, (12, 16), one["window"], one["stride"]).reshape(-1, 3)
            assert launch["recall"] == pytest.approx(expected[launch["layer"], launch["heads"]].mean())


@pytest.mark.parametrize(("parameter", "call"), [
    ("query", lambda: recall.record(np.zeros((1, 5, 2)), np.zeros((1, 5, 2)), (4,))),
    ("samples", lambda: recall.record(np.zeros((1, 4, 2)), np.zeros((1, 4, 2)), (4,), samples=0)),
    ("window", lambda: recall.kept(4, 5)),
    ("stride", lambda: recall.kept(4, 3, 4)),
    ("table", lambda: recall.recall(np.ones(6), (4,), (2,))),
    ("window", lambda: recall.recall(np.ones(7), (4,), (2, 2))),
    ("budget_ms", lambda: recall.choose(np.ones((1, 7)), (4,), [recall.Candidate((2,), (1,), 1.0)], budget_ms=0.5)),
    ("budget_ms", lambda: recall.choose(np.ones((1, 7)), (4,), [recall.Candidate((2,), (1,), 1.0)])),
    ("least_recall", lambda: recall.choose(np.ones((1, 7)), (4,), [recall.Candidate((2,), (1,), 1.0)], least_recall=0.9)),
    ("per", lambda: recall.choose(np.ones((1, 7)), (4,), [], budget_ms=1, per="model")),
    ("table", lambda: recall.choose(np.ones(7), (4,), [recall.Candidate((2,), (1,), 1.0)], budget_ms=2)),
])
def test_what_makes_no_sense_is_refused_by_name(parameter: str, call: Any) -> None:
    with pytest.raises(natten_sim.Error) as error:
        call()
    assert error.value.parameter == parameter
