"""Answers are frozen values that print, draw and convert themselves; errors say what is wrong."""

from __future__ import annotations

import copy
import csv
import io
import json
import pathlib
import pickle
import sys
import xml.etree.ElementTree
from typing import Any

import natten_sim
import numpy as np
import pytest
from conftest import ROOT

SMALL: dict[str, Any] = {"input": (64, 64), "window": (16, 16), "q_tile": (8, 8), "kv_tile": (8, 8)}


def test_members_are_attributes_and_cannot_be_set() -> None:
    answer = natten_sim.count(**SMALL)
    # 8 x 8 tiles; a window of 16 reaches 3 tiles an axis, and 2 at each border: 8 * 3 - 2 = 22 an axis.
    assert (answer.q_tiles, answer.dense_tiles, answer.visited_tiles) == (64, 4096, 22 * 22)
    assert answer.input.window == (16, 16)
    assert answer.flops["dense"] == answer.flops.dense
    assert "visited_tiles" in dir(answer)
    targets: list[Any] = [answer, answer.result, answer.input]
    for target in targets:
        with pytest.raises(AttributeError):
            target.visited_tiles = 1
    with pytest.raises(AttributeError, match="no member 'visited'; there are: q_tiles"):
        _ = answer.visited  # type: ignore[attr-defined]


def test_answers_show_themselves() -> None:
    answer = natten_sim.count(**SMALL)
    assert repr(answer).startswith("Count(speedup_mean=") and "visited_tiles=484" in repr(answer)
    assert "visited tiles" in str(answer)
    assert "<th>visited_tiles</th><td>484</td>" in answer._repr_html_()  # type: ignore[attr-defined]
    assert answer._repr_svg_() == answer.svg()  # type: ignore[attr-defined]
    assert answer.svg().startswith("<svg ")
    assert not hasattr(answer, "_repr_png_")
    # Four axes cannot be drawn: a notebook then shows none, and svg() says why.
    four = natten_sim.count(input=(4, 4, 4, 4), window=(2, 2, 2, 2), q_tile=(2, 2, 2, 2), kv_tile=(2, 2, 2, 2))
    assert four._repr_svg_() is None  # type: ignore[attr-defined]
    with pytest.raises(natten_sim.Error):
        four.svg()


EACH = [
    natten_sim.count(**SMALL),
    natten_sim.search(input=(64, 64), window_range=(4, 8), top=3),
    natten_sim.search(preset="hunyuan-video", device=["h200", "b200"], top=2),
    natten_sim.advise(preset="hunyuan-video", device="h200"),
    natten_sim.plan(preset="hunyuan-video", device="h200", window=(18, 24, 24)),
    natten_sim.time(kernel="hopper-fna", device="h200", input=4096, window=512, q_tile=128, kv_tile=128, head_dim=128),
    natten_sim.calibrate(ROOT / "data" / "kernel-runs" / "natten-h200.csv"),
    natten_sim.schedule(q_tiles=7, mask="causal", algorithm="best"),
    natten_sim.reuse(seqlen=4096, device="h200", fidelity="lru"),
    natten_sim.reuse(sweep=(1024, 4096, 1024), device="h200"),
    natten_sim.scatter(updates=1000),
    natten_sim.msda(config="B1_640_d256_L4"),
    natten_sim.msda(config="B1_640_d256_L4", phase="backward"),
    natten_sim.compare(recorded=str(ROOT / "data" / "recordings"), suites=["stream"]),
]


@pytest.mark.parametrize("answer", EACH, ids=lambda answer: type(answer).__name__)
def test_each_answer_converts_and_shows_itself(answer: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The whole of study/: dict, text, table, page and pictures of every kind of answer."""
    assert answer.to_dict() == json.loads(answer.to_json())
    assert set(answer.result.to_dict()) == set(answer.to_dict()["result"])
    page = answer._repr_html_()
    assert page.startswith("<pre>") and all(f"<th>{name}</th>" in page for name in answer.result)
    rows = list(csv.DictReader(io.StringIO(answer.to_csv())))
    assert rows and all(None not in row and None not in row.values() for row in rows), "as many cells as columns"
    monkeypatch.setitem(sys.modules, "pandas", type("Pandas", (), {"read_csv": staticmethod(csv.DictReader)}))
    assert list(answer.to_frame()) == rows
    assert answer.pictures and len(set(answer.pictures)) == len(answer.pictures)
    assert answer._repr_svg_() == answer.svg() == answer.svg(answer.pictures[0])
    for name in answer.pictures:
        try:
            picture = answer.svg(name)
        except natten_sim.Error as error:  # a view of other recordings
            assert type(answer).__name__ == "Comparison" and "suite" in str(error), error
            continue
        assert xml.etree.ElementTree.fromstring(picture).tag.endswith("svg")
    with pytest.raises(natten_sim.Error, match="picture"):
        answer.svg("no-such")
    with pytest.raises(AttributeError):
        answer.result = None
    assert str(answer) and repr(answer).startswith(type(answer).__name__)


def test_a_tile_map_is_drawn_at_a_q_tile() -> None:
    answer = natten_sim.count(**SMALL)
    first, last = answer.tile_map((0, 0)), answer.tile_map((7, 7))
    assert first != last and answer.tile_map() == answer.svg("tiles")
    with pytest.raises(natten_sim.Error):
        answer.tile_map((8, 0))


def test_recordings_have_views_and_a_page() -> None:
    answer = natten_sim.compare(recorded=str(ROOT / "data" / "recordings"), suites=["stream", "reuse"])
    misses = answer.view("misses")
    assert misses and misses[0].cyclic_misses >= 1
    assert answer.page().startswith("<!") and "<svg" in answer.page()
    with pytest.raises(natten_sim.Error, match="misses"):
        answer.view("miss")


def test_equal_questions_have_equal_answers() -> None:
    answer, again, other = natten_sim.count(**SMALL), natten_sim.count(**SMALL), natten_sim.count(input=64)
    assert answer == again and hash(answer) == hash(again) and answer != other
    assert answer.result == again.result and hash(answer.result) == hash(again.result)
    assert copy.deepcopy(answer.result) == pickle.loads(pickle.dumps(answer.result)) == answer.result


def test_frames_are_the_tidy_table(monkeypatch: pytest.MonkeyPatch) -> None:
    class Pandas:
        @staticmethod
        def read_csv(text: Any) -> list[str]:
            return list(text)

        @staticmethod
        def DataFrame(columns: dict[str, Any]) -> list[str]:  # noqa: N802
            return list(columns)

    answer = natten_sim.count(**SMALL)
    many = natten_sim.count_many(**{**SMALL, "window": [[8, 8]]})
    for name in ("pandas", "polars"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(ImportError, match="pandas or polars"):
        answer.to_frame()
    with pytest.raises(ImportError, match="pandas or polars"):
        many.to_frame()
    monkeypatch.setitem(sys.modules, "polars", Pandas)
    assert answer.to_frame() == answer.to_csv().splitlines(keepends=True)
    assert many.to_frame()[0] == "q_tiles"


@pytest.mark.parametrize(("keywords", "parameter", "part"), [
    ({"input": (30, 48, 80), "window": (31, 24, 24)}, "window", "31 on axis 0"),
    ({"preset": "hunyuan-vide"}, "preset", "hunyuan-video"),
    ({"input": (64,), "heads": 0}, "heads", "1.."),
    ({"input": (64,), "heads": 2.5}, "heads", "2.5"),
    ({"input": (64,), "heads": True}, "heads", "'true'"),
    ({"input": (1, 2, 3, 4, 5)}, "input", "1 to 4 values, one an axis"),
    ({"input": ()}, "input", "1 to 4 values, one an axis"),
    ({"input": "8xtwo"}, "input", "two"),
    ({"input": 2**70}, "input", str(2**70)),
    ({"input": None}, "input", "preset"),
    ({"input": (64,), "dtype": "fp17"}, "dtype", "fp16"),
    ({"input": (64,), "attention_share": float("nan")}, "attention_share", "a fraction in 0..1"),
    ({"input": (64,), "dense_steps": "3"}, "dense_steps", "K/N"),
])
def test_a_bad_value_raises_a_value_error_that_names_it(keywords: dict[str, Any], parameter: str, part: str) -> None:
    with pytest.raises(ValueError) as raised:
        natten_sim.count(**keywords)
    error = raised.value
    assert isinstance(error, natten_sim.Error)
    assert error.parameter == parameter
    assert part in str(error)
    assert error.accepted
    assert "--" not in str(error), "keywords are not options"
    assert pickle.loads(pickle.dumps(error)).parameter == parameter


def test_an_unknown_keyword_is_a_type_error_with_the_closest_one() -> None:
    with pytest.raises(TypeError, match="unexpected keyword argument 'windw'; did you mean 'window'"):
        natten_sim.count(input=64, windw=8)  # type: ignore[call-arg]
    for theirs, ours in (("BLOCK_M", "q_tile"), ("gpu", "device"), ("model", "preset"), ("shape", "input")):
        with pytest.raises(TypeError, match=f"'{theirs}'; did you mean '{ours}'"):
            natten_sim.count(**{theirs: 8})  # type: ignore[arg-type]
    for theirs, ours in (("kernel_size", "window"), ("num_heads", "heads"), ("dim", "head_dim")):  # other spellings
        by_spelling: list[dict[str, Any]] = [{"input": 64, theirs: 8}, {"input": 64, ours: 8}]
        assert natten_sim.count(**by_spelling[0]) == natten_sim.count(**by_spelling[1])
    assert natten_sim.count(input=64, device="H100") == natten_sim.count(input=64, device="h100")
    with pytest.raises(natten_sim.Error, match="; nearest: h100"):
        natten_sim.count(input=64, device="HH100")
    with pytest.raises(natten_sim.Error, match="^dense_axes: "):
        natten_sim.search(input=(64, 64), window=(8, 8), dense_axes=[0])
    with pytest.raises(TypeError, match="answer of count"):
        natten_sim.natten.kwargs(natten_sim.search(input=64, top=1).candidates[0])  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="catalog"):
        natten_sim.count(input=64, catalog="h200")  # type: ignore[arg-type]


def test_numpy_numbers_are_numbers() -> None:
    answer = natten_sim.count(input=np.array([64, 64]), window=[np.int32(16), np.uint8(16)], q_tile=(8, 8),
                              kv_tile=(8, 8), causal=np.array([True, False]), heads=np.int64(2))
    assert answer.input.causal == (True, False) and answer.input.heads == 2
    assert natten_sim.count(input=64, window=16, causal=np.bool_(True)).input.causal == (True,)  # type: ignore[arg-type]
    assert natten_sim.count(input=64, backprop=np.int64(1)) == natten_sim.count(input=64, backprop=True)  # type: ignore[arg-type]
    with pytest.raises(natten_sim.Error, match="'0' is not valid"):
        natten_sim.count(input=64, heads=np.int64(0))


def test_arrays_of_rows_are_read_where_they_lie() -> None:
    rows = np.random.default_rng(7).integers(0, 100, 5000)
    expected = natten_sim.scatter(distribution=rows.astype(np.int32), rows=100).result
    assert natten_sim.scatter(distribution=rows, rows=100).result == expected
    counts = np.bincount(rows, minlength=100)
    assert expected.max_multiplicity == counts.max()
    with pytest.raises(natten_sim.Error, match="rows in 0..49"):
        natten_sim.scatter(distribution=rows, rows=50)
    with pytest.raises(natten_sim.Error, match="int32, uint32 or int64"):
        natten_sim.scatter(distribution=rows.astype(np.float64), rows=100)


def test_a_matrix_of_tiles_is_a_mask() -> None:
    tiles = np.tril(np.full((7, 7), 2)) - np.eye(7, dtype=np.int64)  # full below the diagonal, partial on it
    keywords: dict[str, Any] = {"algorithm": "spt", "compute": 7, "compute_partial": 5, "reduce": 2}
    mine = natten_sim.schedule(mask=tiles, **keywords)
    assert mine.result == natten_sim.schedule(q_tiles=7, mask="causal", **keywords).result
    full = natten_sim.schedule(mask=np.ones((4, 4), dtype=bool), **keywords)
    assert full.makespan == natten_sim.schedule(q_tiles=4, **keywords).makespan
    with pytest.raises(natten_sim.Error, match="0 skipped, 1 partial, 2 full"):
        natten_sim.schedule(mask=np.full((2, 2), 3))


def test_a_schedules_table_runs_again() -> None:
    best = natten_sim.schedule(q_tiles=9, heads=3, workers=7, mask="window:3,0", compute=7, reduce=2, algorithm="best")
    table = best.table()
    assert table["schema"] == "natten-sim.schedule-table/1"
    again = natten_sim.schedule(table=table, compute=7, reduce=2)
    assert again.makespan == best.makespan == best.lower_bound
    assert '"traceEvents"' in best.trace()
    with pytest.raises(natten_sim.Error, match="one algorithm"):
        natten_sim.schedule(q_tiles=4).table()


@pytest.mark.parametrize(("keywords", "parameter", "part"), [
    ({"kernel": "fa4", "device": "h200", "seqlen_q": 8192, "q_tiles": 4}, "q_tiles", "the kernel says the rest"),
    ({"kernel": "fa4", "seqlen_q": 8192}, "kernel", "needs device"),
    ({"kernel": "fa4", "device": "h200", "seqlen_q": 8192, "mask": np.ones((4, 4), dtype=bool)}, "mask", "a window"),
    ({"kernel": "fa5", "device": "h200", "seqlen_q": 8192}, "kernel", "fa4"),
    ({"q_tiles": 4, "costs": "fa4-h200-d128", "reduce": 2}, "costs", "costs cannot be combined with reduce"),
    ({"q_tiles": 4, "costs": "fa4"}, "costs", "fa4-h200-d128"),
    ({"table": natten_sim.schedule(q_tiles=2, algorithm="spt").table(), "q_tiles": 4}, "q_tiles", "the table says the rest"),
])
def test_schedules_refuse_keywords_that_say_it_twice(keywords: dict[str, Any], parameter: str, part: str) -> None:
    with pytest.raises(natten_sim.Error, match=part) as raised:
        natten_sim.schedule(**keywords)
    assert raised.value.parameter == parameter


def test_a_kernels_schedule_has_milliseconds_and_draws_its_deterministic_run() -> None:
    answer = natten_sim.schedule(kernel="fa4", device="h200", seqlen_q=8192, heads=16, mask="causal")
    ordered, unordered = answer.kernel.deterministic, answer.kernel.unordered
    # Two products of the pairs of a causal mask make half of 8192 x 8192: five products in all, two FLOPs a pair and dim.
    flops = 5 * 2 * 16 * 128 * 8192**2 / 2
    assert ordered.tflops and ordered.time_ms and unordered.time_ms
    assert ordered.tflops == pytest.approx(flops / ordered.time_ms / 1e9, rel=1e-12)
    assert unordered.time_ms < ordered.time_ms and answer.kernel.ratio == pytest.approx(unordered.time_ms / ordered.time_ms)
    for ask in (answer.table, answer.header, answer.binary):
        with pytest.raises(natten_sim.Error, match="one algorithm"):
            ask()
    assert answer._repr_svg_() == answer.svg() == answer.gantt()  # type: ignore[attr-defined]
    small = natten_sim.schedule(kernel="fa4@4.0.0b36", device="h200", seqlen_q=1024, mask="causal")
    assert small.gantt().startswith("<svg ") and "traceEvents" in small.trace()
    with pytest.raises(natten_sim.Error, match="sm90"):
        natten_sim.schedule(kernel="fa3", device="b200", seqlen_q=1024)


def test_a_schedules_repr_is_its_headline() -> None:
    kernel = natten_sim.schedule(kernel="fa4", device="h200", seqlen_q=1024, mask="causal")
    assert "fa4, spt" in kernel.svg()
    assert repr(kernel).startswith("Schedule(kernel.name='fa4', kernel.deterministic.time_ms=")
    every = natten_sim.schedule(q_tiles=8, heads=2, mask="causal")
    ordered = [each.makespan for each in every.algorithms if each.ordered and each.makespan is not None]
    assert min(ordered) < max(ordered)
    assert f"makespan={min(ordered):.6g}, " in repr(every) and repr(every).startswith("Schedule(algorithm=")
    assert repr(natten_sim.mask(mask="causal", seqlen_q=4096, device="h200")).startswith("Mask(time_ms.total=0.0")
    untimed = natten_sim.schedule(kernel="natten", device="h200", seqlen_q=1024)
    with pytest.raises(natten_sim.Error, match="a kernel with deterministic times"):
        untimed.svg()


def test_schedule_and_mask_take_counts_names() -> None:
    keywords: dict[str, Any] = {"kernel": "fa4", "device": "h200", "heads": 4}
    assert (natten_sim.schedule(input=512, head_dim=64, **keywords).result  # type: ignore[call-arg]
            == natten_sim.schedule(seqlen_q=512, dim=64, **keywords).result)
    assert (natten_sim.mask(mask="causal", input=4096).result  # type: ignore[call-arg]
            == natten_sim.mask(mask="causal", seqlen_q=4096).result)


def test_time_takes_the_kernel_that_natten_runs() -> None:
    keywords: dict[str, Any] = {"device": "h100", "input": (30, 48, 80), "window": (18, 24, 24), "stride": (16, 8, 8),
                                "heads": 24, "head_dim": 128}
    own = natten_sim.time(**keywords)
    assert own.input.kernel == "hopper-fna"
    assert own.time_ms == natten_sim.count(**keywords).time_ms
    assert natten_sim.time(**{**keywords, "device": "a100"}).input.kernel == "cutlass-fna"
    assert natten_sim.time(device="h100", input=4096).input.kernel == "hopper-fmha"


def test_costs_of_a_file_schedule_as_its_numbers_do(root: pathlib.Path) -> None:
    file = str(root / "data" / "schedule-costs" / "fa4-h200-d128.json")
    keywords: dict[str, Any] = {"seqlen_q": 8192, "q_tile": 64, "mask": "causal", "algorithm": "spt", "heads": 4, "workers": 132}
    named, read = (natten_sim.schedule(costs=costs, **keywords) for costs in ("fa4-h200-d128", file))
    assert named.result == read.result and read.svg() == named.svg()


def test_dicts_of_runs_are_calibrated_as_their_table() -> None:
    # Tiles of 64 x 64 tokens, one CTA an SM, that cost 2 us each and a launch of 4: what the costs give back, from four sizes.
    def run(tokens: int) -> dict[str, Any]:
        return {"kernel": "hopper-fna", "device": "h200", "input": (tokens, tokens), "window": (tokens // 4, tokens // 4),
                "stride": [1, 1], "q_tile": (8, 8), "kv_tile": (8, 8), "heads": np.int64(4), "head_dim": 128, "causal": (False, True),
                "ms": natten_sim.count(input=(tokens, tokens), window=(tokens // 4, tokens // 4), q_tile=(8, 8), kv_tile=(8, 8),
                                       causal=(False, True)).visited_tiles * 4 * 2e-3 / 132 + 4e-3}

    runs = [run(tokens) for tokens in (128, 160, 192, 256)]
    answer = natten_sim.calibrate(runs, source="made up")
    assert [row.measured_ms for row in answer.runs] == [one["ms"] for one in runs]
    for row in answer.runs:
        assert row.predicted_ms == pytest.approx(row.measured_ms, rel=0.1)
    catalog = natten_sim.Catalog(costs=answer.costs())
    asked = {name: value for name, value in runs[0].items() if name != "ms"}
    timed = natten_sim.time(**asked, catalog=catalog)
    # Costs are stored with four digits; copies, which these runs do not time, keep the device's shipped rate.
    assert timed.time_ms and timed.time_ms.kernel == pytest.approx(answer.runs[0].predicted_ms, rel=1e-3)
    assert timed.time_ms.permutation is not None and timed.time_ms.permutation > 0
    for wrong in ([], [3], None, [{"input": 8}]):
        with pytest.raises(natten_sim.Error):
            natten_sim.calibrate(wrong)  # type: ignore[arg-type]


def test_a_missing_calibration_says_what_to_measure() -> None:
    answer = natten_sim.time(kernel="hopper-fna", device="h100", input=(8, 8), window=(4, 4), q_tile=(2, 2), kv_tile=(2, 2))
    assert answer.time_ms is None and "measured" in answer.time_missing
    timed = natten_sim.time(kernel="hopper-fna", device="h200", input=(30, 48, 80), window=(18, 24, 24),
                            q_tile=(2, 8, 8), kv_tile=(2, 8, 8), heads=24, head_dim=128)
    assert timed.time_ms and timed.time_ms.low < timed.time_ms.total < timed.time_ms.high


def test_times_are_those_of_count() -> None:
    common: dict[str, Any] = {"device": "h200", "input": (30, 48, 80), "window": (18, 24, 24), "heads": 24, "head_dim": 128}
    tiles: dict[str, Any] = {"q_tile": (2, 8, 8), "kv_tile": (2, 8, 8)}
    counted = natten_sim.count(**common, **tiles, dtype="bf16")
    assert counted.kernel
    timed = natten_sim.time(**common, **tiles, kernel=counted.kernel.name)
    assert timed.time_ms == counted.time_ms
    # What neither says, both take alike: tiles and element type.
    for kernel in ("hopper-fna", "flexattention", "cudnn"):
        asked = common | ({"window": None} if kernel == "cudnn" else {})  # a dense kernel has no windows
        counted = natten_sim.count(**asked, kernel=kernel)
        timed = natten_sim.time(**asked, kernel=kernel)
        assert timed.time_ms == counted.time_ms
        assert timed.to_dict()["input"]["dtype"] == counted.to_dict()["input"]["dtype"]
        if kernel != "cudnn":
            assert timed.to_dict()["input"]["q_tile"] == counted.to_dict()["input"]["q_tile"]


def test_rows_that_are_not_valid_are_named_or_skipped() -> None:
    windows = [[8, 8], [65, 8], [8, 8]]
    with pytest.raises(natten_sim.Error) as raised:
        natten_sim.count_many(**{**SMALL, "window": windows})
    assert raised.value.parameter == "window[1]"
    counts = natten_sim.count_many(**{**SMALL, "window": windows}, errors="skip")
    assert counts.valid.tolist() == [True, False, True]
    assert counts.visited_tiles[1] == 0 and np.isnan(counts.speedup_mean[1])
    with pytest.raises(natten_sim.Error, match="2 rows"):
        natten_sim.count_many(input=[[8], [8], [8]], window=[[2], [2]])
    with pytest.raises(ValueError, match="read-only"):
        counts.visited_tiles[0] = 1
