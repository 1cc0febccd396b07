"""Kernels of files, which every function that takes a kernel's name takes too."""

from __future__ import annotations

import json
import pathlib

import natten_sim
import numpy as np
import pytest

KERNEL = {"name": "mine", "title": "a test's kernel", "q_tile": 128, "kv_tiles": [{"head_dim": 128, "kv_tile": 64, "stages": 2}],
          "schedule": "grid", "order": "descending", "ctas_per_sm": 1, "dtype": "bf16", "names": ["_attn_fwd"],
          "grid": ["q-tiles", "heads"], "rates": [], "source": "this test"}


@pytest.fixture(name="kernel")
def kernel_file(tmp_path: pathlib.Path) -> pathlib.Path:
    path = tmp_path / "mine.json"
    path.write_text(json.dumps({"schema": "natten-sim.attention-kernels/1", "kernels": [KERNEL]}))
    return path


def test_count_time_mask_and_reuse_take_the_tiles_of_a_kernel_file(kernel: pathlib.Path) -> None:
    counted = natten_sim.count(input=8192, heads=4, head_dim=128, dtype="bf16", device="h200", kernel=kernel)
    assert counted.visited_tiles == 64 * 128
    timed = natten_sim.time(kernel=kernel, device="h200", input=8192, heads=4, head_dim=128, dtype="bf16")
    assert timed.time_ms is not None and counted.time_ms is not None
    assert timed.time_ms.total == counted.time_ms.total
    assert natten_sim.mask(mask="causal", seqlen_q=8192, head_dim=128, kernel=str(kernel)).visited_tiles == 64 * 65
    reused = natten_sim.reuse(seqlen=8192, head_dim=128, kernel=str(kernel))
    assert reused.input["kernel"] == str(kernel)
    assert list(reused.input["kv_tile"]) == [64]
    assert reused.input["order"] == "descending"


def test_search_and_calibrate_take_a_kernel_file(kernel: pathlib.Path) -> None:
    found = natten_sim.search(input=(32, 32), window=(16, 16), heads=4, head_dim=128, dtype="bf16", device="h200",
                              kernel=[str(kernel), "flexattention"], top=20)
    assert "mine" in {candidate.kernel_timed for candidate in found.candidates}
    runs = [{"input": tokens, "window": tokens, "q_tile": 128, "kv_tile": 64, "heads": 8, "ms": 9.3 * (tokens / 32768)**2}
            for tokens in (8192, 16384, 32768)]
    fitted = natten_sim.calibrate(runs, kernel=str(kernel), device="h200")
    assert fitted.kernels[0].kernel == "mine"


def test_what_a_kernel_file_lacks_is_asked_for_by_its_member(kernel: pathlib.Path) -> None:
    with pytest.raises(natten_sim.Error, match="backward"):
        natten_sim.schedule(kernel=str(kernel), device="h200", seqlen_q=8192)
    with pytest.raises(natten_sim.Error, match="nowhere.json"):
        natten_sim.count(input=8192, kernel="nowhere.json")


def test_reuse_takes_the_masks_that_mask_takes() -> None:
    tiles = np.zeros((1, 2, 4, 4), dtype=np.uint8)
    tiles[0, 0, :, 0] = 2
    tiles[0, 1] = 1
    answer = natten_sim.reuse(mask=tiles, heads=2, head_dim=64, tile=128)
    assert answer.sectors.k == (4 + 16) * 128 * 64 * 2 // 32
    assert natten_sim.reuse(mask="document:256,256", head_dim=64, tile=128).sectors.k == 2 * 2 * 256 * 64 * 2 // 32
