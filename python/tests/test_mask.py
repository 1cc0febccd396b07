"""natten_sim.mask(): rules, arrays of blocks, and what FlexAttention's BlockMask holds."""

from __future__ import annotations

import pickle
import random
from types import SimpleNamespace
from typing import Any

import natten_sim
import numpy as np
import pytest


class Lists:
    """Of a tensor what is read: its nested lists."""

    def __init__(self, values: Any) -> None:
        self.values = values

    def tolist(self) -> Any:
        return self.values


def block_mask(tiles: Any) -> Any:
    """A BlockMask of tiles (heads, Q, KV) with 0 skipped, 1 partial, 2 full."""
    def lists(kind: int) -> tuple[Lists, Lists]:
        rows = [[[int(at) for at in np.flatnonzero(row == kind)] for row in head] for head in tiles]
        width = tiles.shape[-1]
        return (Lists([[[len(row) for row in head] for head in rows]]),
                Lists([[[row + [0] * (width - len(row)) for row in head] for head in rows]]))
    partial, full = lists(1), lists(2)
    return SimpleNamespace(kv_num_blocks=partial[0], kv_indices=partial[1], full_kv_num_blocks=full[0], full_kv_indices=full[1],
                           BLOCK_SIZE=(128, 128), seq_lengths=(128 * tiles.shape[1], 128 * tiles.shape[2]))


@pytest.mark.parametrize("seed", range(5))
def test_a_block_mask_counts_as_its_array(seed: int) -> None:
    draw = random.Random(seed)
    heads, q, kv = draw.randint(1, 3), draw.randint(1, 6), draw.randint(1, 6)
    tiles = np.array([[[draw.randint(0, 2) for _ in range(kv)] for _ in range(q)] for _ in range(heads)], dtype=np.int8)
    of_array = natten_sim.mask(mask=tiles, heads=6)
    of_mask = natten_sim.mask(mask=block_mask(tiles), heads=6)
    assert of_array.visited_tiles == np.count_nonzero(tiles) == of_mask.visited_tiles
    assert of_array.full_tiles == np.count_nonzero(tiles == 2) == of_mask.full_tiles
    assert of_array.masks == heads == of_mask.masks
    assert of_array.row.longest == np.count_nonzero(tiles, axis=-1).max() == of_mask.row.longest


def test_a_rule_counts_its_pairs() -> None:
    answer = natten_sim.mask(mask="window:16,0|prefix:4&causal", seqlen_q=256, q_tile=32, kv_tile=32)
    query, key = np.arange(256)[:, None], np.arange(256)
    attends = (key <= query) & ((query - key <= 16) | (key < 4))
    assert answer.pairs == np.count_nonzero(attends)
    blocks = attends.reshape(8, 32, 8, 32).sum((1, 3))
    assert answer.visited_tiles == np.count_nonzero(blocks)
    assert answer.full_tiles == np.count_nonzero(blocks == 32 * 32)


@pytest.mark.parametrize("given", ["document:300,724&causal", block_mask(np.array([[[2, 0], [1, 2]]], dtype=np.int8)),
                                   np.array([[2, 1], [0, 2]], dtype=np.int8)])
def test_count_takes_a_mask_in_place_of_its_window(given: Any) -> None:
    """As the program's `count --mask` does: by the names of count, with the answer of mask."""
    common: dict[str, Any] = {"mask": given, "heads": 4, "head_dim": 128, "dtype": "bf16", "kernel": "fa4", "device": "h200"}
    of_count, of_mask = (call(**common, backprop=True) for call in (natten_sim.count, natten_sim.mask))
    assert of_count.result == of_mask.result
    assert of_count.to_dict() == of_mask.to_dict()
    causal: dict[str, Any] = {"mask": "causal", "q_tile": 64}
    again = pickle.loads(pickle.dumps(natten_sim.count(**causal, input=(16, 64))))
    # Two Q blocks of 64 see as many KV blocks of 128: 1, .. 8.
    assert again.visited_tiles == 2 * sum(range(1, 9)) == natten_sim.mask(**causal, seqlen_q=1024).visited_tiles


def test_a_mask_and_a_window_are_two_questions() -> None:
    causal: dict[str, Any] = {"mask": "causal"}
    with pytest.raises(natten_sim.Error) as raised:
        natten_sim.count(**causal, input=4096, window=512)
    assert raised.value.parameter == "mask" and "window" in str(raised.value)
    with pytest.raises(natten_sim.Error):
        natten_sim.count(**causal)
    absent: dict[str, Any] = {"mask": None}
    assert natten_sim.count(**absent, input=64, window=16).result == natten_sim.count(input=64, window=16).result


def test_what_is_no_mask_is_refused() -> None:
    for wrong in (np.zeros((2, 2), dtype=np.int8) + 3, np.zeros(4, dtype=bool), 7, {"indptr": [0]}):
        with pytest.raises(natten_sim.Error):
            natten_sim.mask(mask=wrong)
