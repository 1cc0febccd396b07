"""Many problems at once against one after the other."""

from __future__ import annotations

import math
import signal
import threading
import time
from collections.abc import Callable
from typing import Any

import natten_sim
import numpy as np
import pytest
from natten_sim._sweep import _flat

LAYOUT = (12, 16, 20)
ROWS = 60
TILES: dict[str, list[list[tuple[int, int, int]]]] = {
    "hopper-fna": [[(4, 4, 8), (4, 4, 8)], [(2, 8, 8), (2, 8, 8)]],
    "flexattention": [[(4, 4, 8), (4, 4, 8)], [(2, 8, 8), (2, 4, 8)]],
    "cutlass-fna": [[(4, 4, 4), (4, 4, 8)], [(2, 8, 4), (2, 8, 8)]],
    "gna": [[(2, 8, 8), (2, 8, 8)], [(4, 4, 8), (4, 4, 8)]],
}

HOPPER_BACKWARD = [[(4, 4, 4), (4, 4, 8)], [(2, 4, 8), (2, 8, 8)]]


def masks(seed: int, rows: int = ROWS) -> dict[str, Any]:
    """Windows, strides and causal axes, of which some occur twice."""
    random = np.random.default_rng(seed)
    window = np.stack([random.integers(1, length + 1, rows) for length in LAYOUT], axis=1)
    stride = np.where(random.random((rows, 3)) < 0.5, 1, random.integers(1, window + 1))
    causal = random.random((rows, 3)) < 0.1
    for array in (window, stride, causal):
        array[rows // 2 : rows // 2 + 5] = array[:5]
    return {"window": window, "stride": stride, "causal": causal}


def of_row(keywords: dict[str, Any], columns: dict[str, Any], row: int) -> dict[str, Any]:
    values = {name: column[row] for name, column in columns.items()}
    return {**keywords, **{name: value.tolist() if hasattr(value, "tolist") else value for name, value in values.items()}}


def require_same(found: Any, expected: Any, what: object) -> None:
    """A number of an array, beside that of one answer: none is nan."""
    if expected is None:
        assert found == "" or math.isnan(found), what
    else:
        assert found == expected, what


def require_rows(function: Callable[..., Any], many: Callable[..., Any], keywords: dict[str, Any], columns: dict[str, Any],
                 rows: int, answers: Callable[[Any], dict[str, Any]], least: int, besides: tuple[str, ...] = ()) -> None:
    """Every member of every row but those `besides`, whatever the number of threads."""
    found = many(**keywords, **columns, threads=1)
    both = many(**keywords, **columns, threads=2)
    assert list(found) == list(both)
    assert found.valid.all()
    compared = 0
    for row in range(rows):
        asked = of_row(keywords, columns, row)
        expected = answers(function(**asked))
        for name, column in found.items():
            np.testing.assert_array_equal(both[name][row], column[row])
            if name not in ("valid", *besides):
                require_same(column[row], expected.get(name), (name, asked))
                compared += expected.get(name) is not None
    assert compared >= least * rows


def result_of(answer: Any) -> dict[str, Any]:
    return _flat(answer.to_dict()["result"])


@pytest.mark.parametrize("phase", ["forward", "backward"])
@pytest.mark.parametrize("kernel", list(TILES))
def test_many_times_are_those_of_one_question(kernel: str, phase: str) -> None:
    seed = 7
    columns = masks(seed)
    chosen = np.random.default_rng(seed).integers(0, 2, ROWS)
    pairs = HOPPER_BACKWARD if (kernel, phase) == ("hopper-fna", "backward") else TILES[kernel]
    columns["q_tile"] = np.array([pairs[pair][0] for pair in chosen])
    columns["kv_tile"] = np.array([pairs[pair][1] for pair in chosen])
    keywords = {"kernel": kernel, "phase": phase, "device": "h100" if kernel == "gna" else "h200", "input": LAYOUT,
                "heads": 3, "head_dim": 128}
    require_rows(natten_sim.time, natten_sim.time_many, keywords, columns, ROWS, result_of, 0 if kernel == "gna" else 4)


@pytest.mark.parametrize("backprop", [False, True])
def test_many_counts_on_a_device_have_its_times(backprop: bool) -> None:
    columns = masks(8)
    tiles: dict[str, Any] = {"q_tile": (4, 4, 4), "kv_tile": (4, 4, 8)}
    keywords = {"device": "h200", "input": LAYOUT, "heads": 3, "head_dim": 128}
    if backprop:
        def one(**asked: Any) -> Any:
            del asked["backprop"]
            return natten_sim.count(**asked, backward_q_tile=tiles["q_tile"], backward_kv_tile=tiles["kv_tile"])
        def many(**asked: Any) -> Any:
            return natten_sim.count_many(**asked, **tiles)
        require_rows(one, many, {**keywords, "backprop": True}, columns, ROWS,
                     lambda answer: _flat(answer.to_dict()["result"]["backward"]), 15, ("attended_pairs", "sparsity", "speedup_flop"))
    else:
        require_rows(natten_sim.count, natten_sim.count_many, {**keywords, "q_tile": (4, 4, 8), "kv_tile": (4, 4, 8)},
                     columns, ROWS, result_of, 20)


def test_whatever_a_keyword_names_may_differ_by_row() -> None:
    columns: dict[str, Any] = {
        "kernel": ["hopper-fna", "cudnn", "flexattention", "fmha", "hopper-fna", "fa4"] * 4,
        "device": (["h100"] * 3 + ["h200"] * 3) * 4, "heads": np.arange(24) % 4 + 1,
        "head_dim": np.array([64, 128] * 12), "dtype": ["bf16", "fp16", "bf16"] * 8,
        "phase": (["forward"] * 5 + ["backward"]) * 4, "rest_ms": np.array([0, 1.5, 100] * 8),
        "window": np.array([[17, 24], [64, 64], [9, 64], [64, 64], [33, 8], [64, 64]] * 4),
    }
    require_rows(natten_sim.time, natten_sim.time_many, {"input": (64, 64)}, columns, 24, result_of, 5)


def test_tiles_that_are_left_out_are_those_of_each_row() -> None:
    for kernel in ("flexattention", "hopper-fna", None):
        keywords = {"device": "h200", "input": LAYOUT, "heads": 2, "head_dim": 64, "kernel": kernel}
        columns = masks(9, 12)
        if kernel is None:  # what NATTEN runs: no windows of one token
            columns = {"window": np.maximum(columns["window"], 2)}
        require_rows(natten_sim.time, natten_sim.time_many, keywords, columns, 12, result_of, 5)


def test_bounds_enclose_the_simulated_times_and_are_those_times_where_workgroups_are_alike() -> None:
    columns = masks(10, 300)
    keywords: dict[str, Any] = {"device": "h200", "input": LAYOUT, "heads": 24, "head_dim": 128, "kernel": "hopper-fna",
                                "q_tile": (4, 4, 8), "kv_tile": (4, 4, 8)}
    simulated = natten_sim.time_many(**keywords, **columns)
    bounded = natten_sim.time_many(**keywords, **columns, waves="bounded")
    assert (bounded.time_ms_low <= simulated.time_ms_low * (1 + 1e-9)).all()
    assert (bounded.time_ms_high >= simulated.time_ms_high * (1 - 1e-9)).all()
    assert (bounded.time_ms_total != simulated.time_ms_total).any()
    # Windows and strides of whole tiles, which divide the layout: all Q tiles have the same work.
    whole = natten_sim.time_many(**{**keywords, "input": (16, 16, 32)}, window=[[8, 8, 16], [4, 8, 8]],
                                 stride=[[8, 8, 16], [4, 8, 8]], waves="bounded")
    for row, shape in enumerate(((8, 8, 16), (4, 8, 8))):
        one = natten_sim.time(**{**keywords, "input": (16, 16, 32)}, window=shape, stride=shape).time_ms
        assert one is not None
        np.testing.assert_allclose([whole.time_ms_total[row], whole.time_ms_high[row]], [one.total, one.high], rtol=1e-9)


def test_rows_of_other_functions_are_their_answers() -> None:
    require_rows(natten_sim.schedule, natten_sim.schedule_many, {"heads": 2},
                 {"q_tiles": np.array([4, 8, 12, 8]), "kv_tiles": np.array([4, 8, 6, 8]),
                  "algorithm": ["spt", "ascending", "descending", "spt"], "reduce": np.array([0.5, 1, 2, 1])},
                 4, result_of, 8)
    require_rows(natten_sim.reuse, natten_sim.reuse_many, {"device": "h200", "head_dim": 64},
                 {"seqlen": np.array([[4096], [65536], [131072], [4096]]), "order": ["cyclic", "sawtooth", "cyclic", "sawtooth"],
                  "heads": np.array([1, 2, 3, 4])}, 4, result_of, 10)
    require_rows(natten_sim.scatter, natten_sim.scatter_many, {"device": "h200", "updates": 5000},
                 {"rows": np.array([100, 1000, 100]), "distribution": ["uniform", "zipf:1.1", "hot:4"],
                  "dtype": ["fp32", "bf16", "fp32"]}, 3, result_of, 6)


def test_rows_that_are_alike_are_asked_about_once() -> None:
    heard: list[float] = []
    answers = natten_sim.schedule_many(q_tiles=np.full(100_000, 6), kv_tiles=np.full(100_000, 6), algorithm="shift",
                                       progress=heard.append)
    assert (answers.makespan == natten_sim.schedule(q_tiles=6, kv_tiles=6, algorithm="shift").makespan).all()
    assert len(answers.makespan) == 100_000


def test_refused_rows_are_named_or_left_out() -> None:
    good: dict[str, Any] = {"kernel": "hopper-fna", "device": "h200", "input": (64, 64), "q_tile": (16, 8), "kv_tile": (16, 8)}
    wrong: list[tuple[Callable[..., Any], dict[str, Any], str]] = [
        (natten_sim.time_many, {**good, "window": [[8, 8], [8, 65], [8, 8]]}, "window[1]"),
        (natten_sim.time_many, {**good, "heads": [1, 2, 0]}, "heads[2]"),
        (natten_sim.time_many, {**good, "device": ["h200", "h100", "h200"], "heads": [4, 4, 4], "heads_kv": [1, 3, 4]}, "heads_kv[1]"),
        (natten_sim.count_many, {**good, "kernel": ["hopper-fna", "flexattention", "hopper-fna"], "stride": [[1, 1], [1, 1], [1, 70]]},
         "stride[2]"),
        (natten_sim.schedule_many, {"q_tiles": [8, 8, 0], "kv_tiles": 8, "algorithm": "spt"}, "q_tiles[2]"),
        (natten_sim.reuse_many, {"seqlen": [[1024], [0], [4096]], "device": "h200"}, "seqlen[1]"),
        (natten_sim.scatter_many, {"rows": [10, 0, 10], "updates": 100, "device": "h200"}, "rows[1]"),
    ]
    for function, keywords, parameter in wrong:
        row = int(parameter[-2])
        for threads in (1, 2):
            with pytest.raises(natten_sim.Error) as raised:
                function(**keywords, threads=threads)
            assert raised.value.parameter == parameter, function
            skipped = function(**keywords, errors="skip", threads=threads)
            assert skipped.valid.tolist() == [number != row for number in range(3)], function
            for name, column in skipped.items():
                if name != "valid" and column.dtype.kind == "f":
                    assert np.isnan(column[row]), (function, name)


def test_what_cannot_be_is_refused_at_once() -> None:
    with pytest.raises(natten_sim.Error, match="2 rows"):
        natten_sim.time_many(kernel="cudnn", device="h200", input=[[8], [8], [8]], heads=[1, 2])
    with pytest.raises(natten_sim.Error, match="integers"):
        natten_sim.time_many(kernel="cudnn", device="h200", input=64, heads=[1.5, 2.5])
    with pytest.raises(natten_sim.Error, match="time_ms_total"):
        natten_sim.time_many(kernel="cudnn", device="h200", input=[[64], [128]], members=["time_ms_totals"])
    with pytest.raises(natten_sim.Error, match="cudnn"):
        natten_sim.time_many(kernel=["cudnn", "cudn"], device="h200", input=64)
    with pytest.raises(natten_sim.Error, match="bounded"):
        natten_sim.time_many(kernel="cudnn", device="h200", input=64, waves="closed")  # type: ignore[arg-type]
    with pytest.raises(natten_sim.Error, match="time_many"):
        natten_sim.count_many(kernel="cudnn", device="h200", input=[[64], [128]])
    with pytest.raises(natten_sim.Error) as raised:
        natten_sim.time_many(kernel="cudnn", device="h200", input=(64, 64), window=[[64, 64], [64, 8]])
    assert raised.value.parameter == "kernel[1]"
    with pytest.raises(natten_sim.Error) as raised:
        natten_sim.time_many(kernel="cudnn", input=64)
    assert raised.value.parameter == "device[0]"


def test_members_that_are_asked_for_are_all_that_is_answered() -> None:
    asked: dict[str, Any] = {"device": "h200", "input": (64, 64), "window": [[8, 8], [9, 9]], "q_tile": (16, 8), "kv_tile": (16, 8),
                             "head_dim": 128}
    some = natten_sim.count_many(**asked, members=["visited_tiles", "time_ms_total"])
    assert list(some) == ["visited_tiles", "time_ms_total", "valid"]
    every = natten_sim.count_many(**asked)
    assert (some.time_ms_total == every.time_ms_total).all() and (some.visited_tiles == every.visited_tiles).all()
    assert list(natten_sim.schedule_many(q_tiles=[4, 5], kv_tiles=4, algorithm="spt", members=["makespan"])) == ["makespan", "valid"]


def test_other_threads_run_meanwhile_and_an_interrupt_ends_it() -> None:
    random = np.random.default_rng(3)
    window = np.stack([random.integers(1, length + 1, 20_000) for length in LAYOUT], axis=1)
    asked: dict[str, Any] = {"kernel": "flexattention", "device": "h200", "input": LAYOUT, "heads": 2000, "head_dim": 64,
                             "q_tile": (4, 4, 8), "kv_tile": (4, 4, 8), "window": window}
    turns = []

    def interrupt() -> None:
        for _ in range(20):
            turns.append(time.monotonic())
            time.sleep(0.005)
        signal.raise_signal(signal.SIGINT)

    other = threading.Thread(target=interrupt)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background job ignores interrupts
    try:
        other.start()
        with pytest.raises(KeyboardInterrupt):
            while True:
                natten_sim.time_many(**asked)
        other.join()
    finally:
        signal.signal(signal.SIGINT, before)
    assert len(turns) == 20
