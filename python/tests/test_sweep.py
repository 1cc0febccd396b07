"""Sweeps give the program's table, whatever runs them."""

from __future__ import annotations

import concurrent.futures
import csv
import importlib
import io
import multiprocessing
from typing import Any

import natten_sim
import pytest
from conftest import Program

OVER: dict[str, Any] = {"seqlen": [16384, 65536], "order": ["cyclic", "sawtooth"]}
FIXED: dict[str, Any] = {"head_dim": 64, "device": "h200", "fidelity": "lru"}
LINE = "sweep reuse -d 64 --device h200 --fidelity lru --over seqlen=16384:65536:x4 order=cyclic,sawtooth"


@pytest.fixture(scope="module")
def table() -> natten_sim.Sweep:
    return natten_sim.sweep("reuse", OVER, **FIXED)


def test_a_sweep_has_the_programs_rows(program: Program, table: natten_sim.Sweep) -> None:
    theirs = list(csv.DictReader(io.StringIO(program.run(*LINE.split()).stdout)))
    ours = list(csv.DictReader(io.StringIO(table.to_csv())))
    assert len(theirs) == len(ours) == len(table) == 4
    assert list(ours[0]) == list(theirs[0])
    for their, our in zip(theirs, ours, strict=True):
        for column, cell in their.items():
            same = our[column] == cell or float(our[column]) == float(cell)
            assert same, f"{column}: {our[column]} here, {cell} there"


@pytest.mark.parametrize("kind", ["threads", "processes"])
def test_any_executor_finds_the_same_table(kind: str, table: natten_sim.Sweep) -> None:
    executor: concurrent.futures.Executor = concurrent.futures.ThreadPoolExecutor(2)
    if kind == "processes":
        spawn = multiprocessing.get_context("spawn")
        executor = concurrent.futures.ProcessPoolExecutor(2, mp_context=spawn)
    with executor:
        found = natten_sim.sweep("reuse", OVER, executor=executor, **FIXED)
    assert found.rows == table.rows and found.answers == table.answers


def test_a_refused_point_is_a_row_with_its_message() -> None:
    found = natten_sim.sweep("count", {"window": [16, 65]}, input=64)
    assert [row["error"] is None for row in found.rows] == [True, False]
    assert "1..64" in found.rows[1]["error"] and found.answers[1] is None
    assert repr(found) == "Sweep(2 points, 1 refused)"
    assert found.rows[0]["visited_tiles"] == natten_sim.count(input=64, window=16).visited_tiles


def test_what_cannot_be_swept_is_refused() -> None:
    with pytest.raises(ValueError, match="nosuch"):
        natten_sim.sweep("nosuch", {"window": [1]})
    with pytest.raises(ValueError, match="over"):
        natten_sim.sweep("count", {"window": []}, input=64)
    with pytest.raises(TypeError, match="window"):
        natten_sim.sweep("count", {"window": [1]}, input=64, window=2)
    with pytest.raises(TypeError, match="windos"):
        natten_sim.sweep("count", {"windos": [1]}, input=64)


def test_a_table_becomes_parquet_and_back(table: natten_sim.Sweep, tmp_path: Any) -> None:
    path = tmp_path / "table.parquet"
    try:
        parquet: Any = importlib.import_module("pyarrow.parquet")
    except ImportError:
        with pytest.raises(ImportError, match="pyarrow"):
            table.to_parquet(path)
        return
    table.to_parquet(path)
    back = parquet.read_table(path)
    assert back.column_names == table.columns
    assert back["seqlen"].to_pylist() == [row["seqlen"] for row in table.rows]
    assert back["hit_rate"].to_pylist() == [row["hit_rate"] for row in table.rows]
