"""Answers and functions are ordinary objects of Python: pickled, copied, inspected, shown, as tables of types."""

from __future__ import annotations

import concurrent.futures
import copy
import importlib
import inspect
import multiprocessing
import pickle
import subprocess
import sys
from typing import Any

import natten_sim
import pytest

ASKED: list[tuple[str, dict[str, Any]]] = [
    ("count", dict(input=(64, 64), window=(8, 16), causal=(True, False), q_tile=(8, 8), kv_tile=(8, 8))),
    ("count", dict(input=(30, 48, 80), window=(18, 24, 24), device="h200", head_dim=128)),
    ("search", dict(input=(32, 64), window=(16, 16), device="h200", head_dim=128)),
    ("schedule", dict(q_tiles=4, mask="causal")),
    ("schedule", dict(q_tiles=4, mask="causal", algorithm="spt", workers=3)),
    ("reuse", dict(seqlen=4096, head_dim=64, device="h200")),
    ("scatter", dict(updates=1000, rows=100, width=64)),
    ("scatter", dict(distribution=[0, 1, 1], rows=4, width=64)),
    ("advise", dict(preset="flux1-dev-4k", device="h200")),
]
IDS = [f"{name}-{number}" for number, (name, _) in enumerate(ASKED)]


def answered(name: str, keywords: dict[str, Any]) -> Any:
    return getattr(natten_sim, name)(**keywords)


@pytest.mark.parametrize(("name", "keywords"), ASKED, ids=IDS)
def test_an_answer_survives_pickle_and_copy(name: str, keywords: dict[str, Any]) -> None:
    answer = answered(name, keywords)
    again = pickle.loads(pickle.dumps(answer))
    assert type(again) is type(answer) and again == answer and hash(again) == hash(answer)
    assert copy.copy(answer) is answer and copy.deepcopy([answer])[0] is answer  # frozen: it is its own copy
    assert pickle.loads(pickle.dumps(answer.result)) == answer.result


def test_a_catalog_of_ones_own_is_not_lost_unseen() -> None:
    catalog = natten_sim.Catalog()
    answer = natten_sim.count(input=64, window=8, q_tile=8, kv_tile=8, catalog=catalog)
    with pytest.raises(TypeError, match="Catalog"):
        pickle.dumps(answer)


def test_functions_run_in_other_processes() -> None:
    context = multiprocessing.get_context("spawn")
    with concurrent.futures.ProcessPoolExecutor(1, mp_context=context) as processes:
        future = processes.submit(natten_sim.count, input=64, window=8, q_tile=8, kv_tile=8)
        assert future.result() == natten_sim.count(input=64, window=8, q_tile=8, kv_tile=8)


@pytest.mark.parametrize("name", ["count", "search", "time", "schedule", "reuse", "scatter", "msda", "advise"])
def test_signatures_have_the_keywords_that_are_documented(name: str) -> None:
    function = getattr(natten_sim, name)
    parameters = inspect.signature(function).parameters
    assert all(f"    {keyword}: " in function.__doc__ for keyword in parameters)
    assert all(one.default is None for one in parameters.values()) and "catalog" in parameters
    assert function.__module__ == "natten_sim" and function.__name__ == name
    with pytest.raises(TypeError):
        inspect.signature(function).bind(no_such_keyword=1)


def test_all_is_what_there_is() -> None:
    namespace: dict[str, Any] = {}
    exec("from natten_sim import *", namespace)  # noqa: S102
    assert set(natten_sim.__all__) <= set(namespace) and "count" in natten_sim.__all__
    assert len(set(natten_sim.__all__)) == len(natten_sim.__all__)


def test_an_answer_matches_by_position() -> None:
    match answered(*ASKED[0]):
        case natten_sim.Count(asked, result):
            assert asked.window == (8, 16) and result.q_tiles > 0
        case _:
            pytest.fail("no match")


@pytest.mark.parametrize(("name", "keywords", "shown"), [
    (*ASKED[0], ("speedup_mean=", "visited_tiles=")), (*ASKED[1], ("time_ms.total=", "speedup_time=")),
    (*ASKED[3], ("algorithm='descending', makespan=8",)), (*ASKED[4], ("algorithm='spt'", "makespan=")),
    (*ASKED[8], ("devices.0.choices.0.total_ms=",))])
def test_a_repr_is_the_headline(name: str, keywords: dict[str, Any], shown: tuple[str, ...]) -> None:
    text = repr(answered(name, keywords))
    assert all(part in text for part in shown), text
    assert len(text) < 300 and "\n" not in text


@pytest.mark.parametrize(("name", "keywords"), ASKED, ids=IDS)
def test_notebooks_show_every_answer(name: str, keywords: dict[str, Any]) -> None:
    assert answered(name, keywords)._repr_html_().startswith("<pre>")


def test_columns_have_types() -> None:
    arrow = pytest.importorskip("pyarrow")
    table = natten_sim.search(input=(32, 64), window=(16, 16), device="h200", head_dim=128).to_arrow()
    types = {name: table.schema.field(name).type for name in table.column_names}
    assert types["window"] == arrow.list_(arrow.int64())
    assert types["speedup_mean"] == arrow.float64()
    one_axis = natten_sim.search(input=4096, window=256, device="h200", head_dim=128).to_arrow()
    assert one_axis.schema.field("window").type == arrow.list_(arrow.int64())


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_frames_have_the_rows_of_the_table(library: str) -> None:
    pytest.importorskip(library)
    answer = natten_sim.search(input=(32, 64), window=(16, 16), device="h200", head_dim=128)
    frame = getattr(answer, f"to_{library}")()
    assert list(frame.columns) == answer.to_csv().splitlines()[0].split(",")
    assert list(frame["window"][0]) == list(answer.candidates[0].window)


def test_an_absent_library_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    real = importlib.import_module

    def absent(name: str, *arguments: Any) -> Any:
        if name in ("pyarrow", "pandas", "polars"):
            raise ImportError(name)
        return real(name, *arguments)

    monkeypatch.setattr(importlib, "import_module", absent)
    answer = natten_sim.count(input=64, window=8, q_tile=8, kv_tile=8)
    for method, library in (("to_arrow", "pyarrow"), ("to_pandas", "pandas"), ("to_polars", "polars")):
        with pytest.raises(ImportError, match=library):
            getattr(answer, method)()


def test_the_module_is_the_program() -> None:
    line = [sys.executable, "-m", "natten_sim", "--version"]
    done = subprocess.run(line, capture_output=True, text=True, check=False)
    assert done.returncode == 0 and done.stdout.startswith("natten-sim ")
    wrong = subprocess.run([*line[:3], "no-such-command"], capture_output=True, text=True, check=False)
    assert wrong.returncode == 2


def test_rows_may_be_a_list() -> None:
    listed = natten_sim.scatter(distribution=[0, 3, 3, 1], rows=4, width=64)
    array = importlib.import_module("numpy").asarray([0, 3, 3, 1])
    assert listed == natten_sim.scatter(distribution=array, rows=4, width=64)
    with pytest.raises(natten_sim.Error, match="distribution"):
        natten_sim.scatter(distribution=[0.5, 1.5], rows=4, width=64)  # type: ignore[list-item]


def test_operators_without_a_gpu_say_what_is_missing() -> None:
    torch = pytest.importorskip("torch")
    if not hasattr(torch, "library"):
        pytest.skip("needs PyTorch")
    from natten_sim import ops

    with pytest.raises((ops.HardwareAbsent, NotImplementedError)):
        ops.attention(*(torch.zeros(1, 1, 8, 64, dtype=torch.float16) for _ in range(3)))


@pytest.mark.parametrize("hook", ["early_config_prune", "perf_model"])
def test_the_hooks_of_triton_say_whose_rates_they_take(hook: str) -> None:
    from natten_sim import triton

    assert "[the GPU that PyTorch would run on]" in (inspect.getdoc(getattr(triton, hook)) or "")
