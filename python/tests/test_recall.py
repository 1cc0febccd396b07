"""Tables of attention, and what search() says windows keep of them: against all pairs of tokens."""

from __future__ import annotations

import itertools
import math
from pathlib import Path
from typing import Any

import natten_sim
import numpy as np
import numpy.typing as npt
import pytest
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


def saved(folder: Path, table: Floats) -> str:
    np.save(folder / "attention.npy", table)
    return str(folder / "attention.npy")


def test_search_and_advise_say_what_pairs_of_tokens_keep(tmp_path: Path) -> None:
    random = np.random.default_rng(8)
    layout = (12, 16)
    whole, factors = random.random((2, 3, 23, 31)) ** 4, random.random((3, 54)) ** 2 + 1e-3
    product = factors[:, :23, None] * factors[:, None, 23:]
    for stored, tables in ((whole, whole), (factors, product[None])):
        question: dict[str, Any] = {"input": layout, "heads": 3, "head_dim": 128, "device": "h200",
                                    "recall": saved(tmp_path, stored)}
        result = natten_sim.search(**question, top=4).to_dict()["result"]
        chosen = natten_sim.search(**question, least_recall=0.6).to_dict()["result"]
        for each, window in zip(result["candidates"], result["recall"]["windows"]):
            mask = mask_of(layout, tuple(each["window"]), tuple(each["stride"]))
            expected = [[recall_of_pairs(table, layout, mask) for table in layer] for layer in tables]
            assert np.array(window["head_recalls"]) == pytest.approx(np.array(expected))
        kept = 0.0
        for launch in chosen["recall"]["launches"]:
            one = chosen["candidates"][launch["candidate"]]
            mask = mask_of(layout, tuple(one["window"]), tuple(one["stride"]))
            of_heads = [recall_of_pairs(tables[launch["layer"], head], layout, mask) for head in launch["heads"]]
            assert launch["recall"] == pytest.approx(np.mean(of_heads))
            kept += float(np.sum(of_heads))
        assert chosen["recall"]["recall"] == pytest.approx(kept / tables[..., 0, 0].size)
        assert chosen["recall"]["recall"] >= 0.6
        advice = natten_sim.advise(**question, least_recall=0.6).to_dict()["result"]
        assert advice["devices"][0]["recall"] == chosen["recall"]


def test_attention_to_one_place_is_kept_by_the_windows_that_reach_it(tmp_path: Path) -> None:
    """Each query of head h finds one key alone, h + 1 places on in a circle of rows: a known table, a known recall."""
    layout, heads = (6, 8), 3
    place = np.arange(48) % 8
    circle = np.stack([np.cos(2 * np.pi * place / 8), np.sin(2 * np.pi * place / 8)], axis=-1)
    row = np.eye(6)[np.arange(48) // 8]
    query, key = [], []
    for head in range(heads):
        turned = np.roll(circle.reshape(6, 8, 2), -(head + 1), axis=1).reshape(48, 2)
        query.append(2000 * np.concatenate([turned, row], axis=-1))
        key.append(np.concatenate([circle, row], axis=-1))
    table = recall.record(np.array(query), np.array(key), layout, samples=48)
    for head in range(heads):
        expected = np.zeros((11, 15))
        expected[5, 7 + head + 1] = (8 - head - 1) / 8  # the others find it at the start of the row
        expected[5, 7 + head + 1 - 8] = (head + 1) / 8
        assert table[head] == pytest.approx(expected)
    found = natten_sim.search(input=layout, heads=heads, head_dim=64, device="h200", window=(3, 5), stride=(1, 1), top=1,
                              recall=saved(tmp_path, table)).to_dict()["result"]["recall"]["windows"][0]
    mask = mask_of(layout, (3, 5), (1, 1))
    assert found["head_recalls"][0] == pytest.approx([recall_of_pairs(each, layout, mask) for each in table])
    # A window of 5 reaches two places on: of the queries that have a key there, those at the left end see it too. Three
    # places on see the two queries whose window stands at the left end.
    assert found["head_recalls"][0] == pytest.approx([7 / 8, 6 / 8, 5 / 8 * 2 / 5])


def test_attention_that_is_alike_everywhere_is_kept_as_pairs_are() -> None:
    layout = (6, 8)
    nothing = np.zeros((2, 48, 4))
    table = recall.record(nothing, nothing, layout, samples=48)
    # Of the pairs with an offset each has 1 / tokens, so that the table is their number over tokens squared.
    pairs = np.multiply.outer(6 - np.abs(np.arange(-5, 6)), 8 - np.abs(np.arange(-7, 8)))
    assert table[0] == pytest.approx(pairs / 48**2)
    # A sample of 12 queries: each adds up to its share.
    assert recall.record(nothing, nothing, layout, samples=12, seed=3).sum(axis=(1, 2)) == pytest.approx([1, 1])


def test_attention_to_oneself_is_at_offset_zero() -> None:
    sharp = 100 * np.eye(30)[None]
    table = recall.record(sharp, sharp, (5, 6), samples=7, seed=1)
    assert table[0, 4, 5] == pytest.approx(1)


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


@pytest.mark.parametrize(("parameter", "call"), [
    ("query", lambda: recall.record(np.zeros((1, 5, 2)), np.zeros((1, 5, 2)), (4,))),
    ("samples", lambda: recall.record(np.zeros((1, 4, 2)), np.zeros((1, 4, 2)), (4,), samples=0)),
    ("least_recall", lambda: natten_sim.search(input=(8, 8), heads=1, head_dim=64, device="h200", least_recall=0.5)),
])
def test_what_makes_no_sense_is_refused_by_name(parameter: str, call: Any) -> None:
    with pytest.raises(natten_sim.Error) as error:
        call()
    assert error.value.parameter == parameter
