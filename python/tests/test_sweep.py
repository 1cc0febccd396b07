"""Sweeps give the program's table, whatever runs them."""

from __future__ import annotations

import concurrent.futures
import csv
import importlib
import io
import multiprocessing
import os
import signal
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


class Unreliable:
    """Loses the worker of the first `losses` tasks, and counts what it was given."""

    def __init__(self, losses: int) -> None:
        self.losses, self.tasks = losses, 0

    def submit(self, fn: Any, /, *args: Any) -> concurrent.futures.Future[Any]:
        self.tasks += 1
        future: concurrent.futures.Future[Any] = concurrent.futures.Future()
        if self.tasks <= self.losses:
            future.set_exception(RuntimeError("the worker is gone"))
            return future
        try:
            future.set_result(fn(*args))
        except TypeError as error:
            future.set_exception(error)
        return future


@pytest.mark.parametrize("chunk", [1, 3, 4, 9])
def test_points_are_given_out_in_chunks(chunk: int, table: natten_sim.Sweep) -> None:
    executor = Unreliable(0)
    found = natten_sim.sweep("reuse", OVER, executor=executor, chunk=chunk, **FIXED)
    assert found.rows == table.rows and executor.tasks == -(-4 // chunk)


def test_a_task_whose_worker_was_lost_is_given_out_again(table: natten_sim.Sweep) -> None:
    executor = Unreliable(2)
    assert natten_sim.sweep("reuse", OVER, executor=executor, retries=1, **FIXED).rows == table.rows
    assert executor.tasks == 4 + 2
    with pytest.raises(RuntimeError, match="gone"):
        natten_sim.sweep("reuse", OVER, executor=Unreliable(9), retries=1, **FIXED)
    wrong = Unreliable(0)
    with pytest.raises(TypeError, match="windos"):
        natten_sim.sweep("count", {"windos": [1]}, executor=wrong, input=64)
    assert wrong.tasks == 1


def test_a_sweep_that_ended_early_goes_on(table: natten_sim.Sweep, tmp_path: Any) -> None:
    pytest.importorskip("pyarrow")
    store = tmp_path / "answers"

    class Ending(Unreliable):
        def submit(self, fn: Any, /, *args: Any) -> concurrent.futures.Future[Any]:
            self.losses = self.tasks + 1 if self.tasks >= 3 else 0
            return super().submit(fn, *args)

    with pytest.raises(RuntimeError):
        natten_sim.sweep("reuse", OVER, executor=Ending(0), retries=0, store=store, **FIXED)
    assert len(list(store.glob("part-*.parquet"))) == 3
    (store / "part-000000099.parquet.new").write_text("a process ended here")
    rest = Unreliable(0)
    assert natten_sim.sweep("reuse", OVER, executor=rest, store=store, **FIXED).rows == table.rows
    assert rest.tasks == 1
    again = Unreliable(0)
    found = natten_sim.sweep("reuse", OVER, executor=again, store=store, **FIXED)
    assert found.rows == table.rows and found.answers == table.answers and again.tasks == 0
    with pytest.raises(ValueError, match="another sweep"):
        natten_sim.sweep("reuse", {**OVER, "seqlen": [4096]}, store=store, **FIXED)


def test_refusals_are_stored_too(tmp_path: Any) -> None:
    pytest.importorskip("pyarrow")
    first = natten_sim.sweep("count", {"window": [16, 65]}, input=64, store=tmp_path)
    second = natten_sim.sweep("count", {"window": [16, 65]}, input=64, store=tmp_path, executor=Unreliable(99))
    assert second.rows == first.rows and "1..64" in second.rows[1]["error"]


def test_a_cluster_that_loses_a_worker_finds_the_same_table() -> None:
    distributed: Any = pytest.importorskip("distributed")
    fixed: dict[str, Any] = {"input": (4096, 4096, 64), "heads": 24}
    over: dict[str, Any] = {"window": [(each, each, 8) for each in range(8, 65)], "stride": [1, 2, 4, 8]}
    expected = natten_sim.sweep("count", over, **fixed)
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster:
        with distributed.Client(cluster) as client:
            victim = next(iter(client.run(os.getpid).values()))

            class Killing:
                tasks = 0

                def submit(self, fn: Any, /, *args: Any) -> Any:
                    Killing.tasks += 1
                    if Killing.tasks == 8:
                        os.kill(victim, signal.SIGKILL)
                    return client.submit(fn, *args, pure=False)

            found = natten_sim.sweep("count", over, executor=Killing(), chunk=8, **fixed)
            left = set(client.run(os.getpid).values())
    assert found.rows == expected.rows and victim not in left and Killing.tasks >= 28


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
    with pytest.raises(ValueError, match="chunk"):
        natten_sim.sweep("count", {"window": [1]}, input=64, chunk=0)
    with pytest.raises(ValueError, match="retries"):
        natten_sim.sweep("count", {"window": [1]}, input=64, retries=-1)


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
