"""Recorded attention of whole models against tables by the definition; with PyTorch itself where it is installed."""

from __future__ import annotations

import math
import subprocess
import sys
from pathlib import Path
from typing import Any

import natten_sim
import numpy as np
import numpy.typing as npt
import pytest
import torch
import torch.nn.functional as functional
from conftest import ABSENT, FAKES
from natten_sim import recall
from natten_sim.record_attention import Recorder, main

Floats = npt.NDArray[np.float32]
ATTENTION = functional.scaled_dot_product_attention  # as models import it


def tensors(shape: tuple[int, ...], seed: int) -> tuple[Any, Any, Any]:
    random = np.random.default_rng(seed)
    return tuple(torch.from_numpy(random.normal(size=shape).astype(np.float32)) for _ in range(3))


def table_of(query: Floats, key: Floats, layout: tuple[int, ...], hidden: Any = None) -> Floats:
    """Of one batch element, by the definition: (heads, tokens, dim)."""
    places = np.stack(np.unravel_index(np.arange(math.prod(layout)), layout), axis=-1)
    table = np.zeros((len(query), *(2 * length - 1 for length in layout)))
    for head in range(len(query)):
        logits = query[head] @ key[head * len(key) // len(query)].T / math.sqrt(query.shape[-1])
        if hidden is not None:
            logits = logits + hidden
        weights = np.exp(logits - logits.max(axis=1, keepdims=True))
        weights /= weights.sum(axis=1, keepdims=True)
        for at, row in enumerate(weights):
            for other, weight in enumerate(row):
                table[(head, *(places[other] - places[at] + np.array(layout) - 1))] += weight / len(places)
    return table.astype(np.float32)


def test_each_layer_is_recorded_from_either_way_of_calling() -> None:
    layout = (3, 4)
    first, second = tensors((2, 3, 12, 8), 1), tensors((2, 3, 12, 8), 2)
    text = tensors((2, 3, 5, 8), 3)
    with Recorder(layout, layers=2, samples=12) as recorder:
        for _ in range(2):  # passes
            functional.scaled_dot_product_attention(*first)
            ATTENTION(first[0], *text[1:])  # cross-attention
            ATTENTION(*second)
    expected = [np.mean([table_of(q, k, layout) for q, k in zip(np.asarray(query), np.asarray(key))], axis=0)
                for query, key, _ in (first, second)]
    assert recorder.tables() == pytest.approx(np.array(expected), abs=1e-6)
    assert (recorder.seen, recorder.others) == (4, 2)
    before = recorder.seen
    ATTENTION(*first)  # outside
    assert recorder.seen == before


@pytest.mark.skipif("torch" not in ABSENT, reason="the made-up module's function")
def test_a_composite_function_that_leaves_the_mode_is_seen_once() -> None:
    values = tensors((1, 2, 12, 8), 4)
    with Recorder((12,), samples=12) as recorder:
        functional.multi_head_attention_forward(*values)
    assert recorder.seen == 1


def test_one_of_several_passes_a_sample_and_no_result_is_changed() -> None:
    values = tensors((1, 2, 30, 8), 5)
    plain = np.asarray(ATTENTION(*values))
    with Recorder((5, 6), layers=1, samples=7, every=3) as recorder:
        for _ in range(7):
            assert (np.asarray(functional.scaled_dot_product_attention(*values)) == plain).all()
    assert recorder.recorded == 3
    table = recorder.tables()
    assert table.shape == (1, 2, 9, 11)
    assert table.sum(axis=(2, 3)) == pytest.approx(np.ones((1, 2)), abs=1e-5)


def test_grouped_heads_masks_and_a_text_behind_the_layout() -> None:
    layout, text = (4, 3), 5
    random = np.random.default_rng(6)
    query, key, value = (torch.from_numpy(random.normal(size=(1, heads, 17, 8)).astype(np.float32)) for heads in (4, 2, 2))
    mask = random.random((17, 17)) < 0.7
    mask[:, :12] |= np.eye(17, 12, dtype=bool)
    with Recorder(layout, samples=12, extra_tokens=text) as recorder:
        functional.scaled_dot_product_attention(query, key, value, attn_mask=torch.from_numpy(mask), enable_gqa=True)
    hidden = np.where(mask[:12, :12], 0, -np.inf)
    expected = table_of(np.asarray(query)[0, :, :12], np.asarray(key)[0, :, :12], layout, hidden)
    assert recorder.tables()[0] == pytest.approx(expected, abs=1e-6)
    with Recorder(layout, samples=12, extra_tokens=text, first_token=5) as recorder:  # behind the text
        functional.scaled_dot_product_attention(query, key, value, enable_gqa=True)
    expected = table_of(np.asarray(query)[0, :, 5:], np.asarray(key)[0, :, 5:], layout)
    assert recorder.tables()[0] == pytest.approx(expected, abs=1e-6)
    values = tensors((1, 2, 9, 8), 7)
    with Recorder((9,), samples=9) as recorder:
        functional.scaled_dot_product_attention(*values, is_causal=True)
    assert recorder.tables()[0, :, 9:] == pytest.approx(np.zeros((2, 8)))  # nothing after the query
    hidden = np.where(np.tri(9, dtype=bool), 0, -np.inf)
    expected = table_of(np.asarray(values[0])[0], np.asarray(values[1])[0], (9,), hidden)
    assert recorder.tables()[0] == pytest.approx(expected, abs=1e-6)


def test_the_recorder_agrees_with_record_of_one_layer() -> None:
    query, key, value = tensors((1, 2, 20, 8), 8)
    with Recorder((4, 5), samples=20) as recorder:
        ATTENTION(query, key, value)
    assert recorder.tables()[0] == pytest.approx(recall.record(np.asarray(query)[0], np.asarray(key)[0], (4, 5), 20), abs=1e-6)


MODEL = """
import sys
import numpy as np
import torch
from torch.nn.functional import scaled_dot_product_attention as attention

random = np.random.default_rng(int(sys.argv[1]))
for layer in range(3):
    attention(*(torch.from_numpy(random.normal(size=(1, 2, 48, 8)).astype(np.float32)) for _ in range(3)))
"""


def test_the_command_runs_a_program_and_search_reads_its_table(tmp_path: Path) -> None:
    (tmp_path / "model.py").write_text(MODEL)
    code = f"import sys; sys.path.append({str(FAKES)!r}); import natten_sim.record_attention as r; r.main()" if ABSENT else \
        "import natten_sim.record_attention as r; r.main()"
    words = ["--layout", "6x8", "--layers", "3", "--samples", "48", "--output", "table.npy", "model.py", "3"]
    done = subprocess.run([sys.executable, "-c", code, *words], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout == "table.npy: 3 layers of 2 heads from 3 calls; 0 calls of other sequences were left alone\n"
    table = np.load(tmp_path / "table.npy")
    assert table.shape == (3, 2, 11, 15)
    found = natten_sim.search(input=(6, 8), heads=2, head_dim=64, device="h200", recall=str(tmp_path / "table.npy"),
                              least_recall=0.5).to_dict()["result"]["recall"]
    assert (found["layers"], found["heads"]) == (3, 2)
    assert found["recall"] >= 0.5


def test_what_makes_no_sense_is_refused(tmp_path: Path) -> None:
    for parameter, keywords in (("layout", {"layout": ()}), ("layers", {"layout": (4,), "layers": 0}),
                                ("samples", {"layout": (4,), "samples": 0}), ("every", {"layout": (4,), "every": 0}),
                                ("first_token", {"layout": (4,), "first_token": 1})):
        with pytest.raises(natten_sim.Error) as error:
            Recorder(**keywords)
        assert error.value.parameter == parameter
    with pytest.raises(natten_sim.Error), Recorder((4,)) as recorder:
        ATTENTION(*tensors((1, 1, 5, 8), 9))
        recorder.tables()
    (tmp_path / "nothing.py").write_text("")
    with pytest.raises(SystemExit, match="0 had its tokens"):
        main(["--layout", "4", str(tmp_path / "nothing.py")])
