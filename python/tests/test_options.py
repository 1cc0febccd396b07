"""Every option of the program is a keyword here, or a method of the answer; whatever is neither is named with its reason."""

from __future__ import annotations

import inspect
import json
import re
from typing import Any

import natten_sim
import pytest
from conftest import Program
from test_docstrings import parameters, signature

FUNCTIONS = {"count": "count", "search": "search", "advise": "advise", "plan": "plan", "mask": "mask", "calibrate": "calibrate", "schedule": "schedule",
             "reuse": "reuse", "atomics": "scatter", "msda": "msda", "explain": "explain"}

# Where answers have what an option writes.
METHODS: dict[str, str] = {
    "json": "to_json", "csv": "to_csv", "ascii": "__str__", "emit": "emit", "at_q_tile": "tile_map", "emit_table": "table",
    "emit_header": "header", "emit_binary": "binary", "perfetto": "trace", "recorded_run": "gantt", "picture": "svg", "picture_kind": "svg",
    "no_conclusion": "conclusion", "save": "costs",
}
# Of what a function takes under another name.
OTHERS: dict[str, str] = {
    "preset_file": "catalog", "device_file": "catalog", "costs": "catalog", "measured_only": "catalog", "as": "family", "dim": "head_dim", "input_size": "input",
    "window_size": "window", "stride_max": "stride_range", "workload": "config", "for": "for_",
}
REASONS: dict[str, str] = {
    "help": "help(natten_sim.count)",
    "output": "text is returned, not written", "quiet": "nothing is printed", "color": "nothing is printed",
    "max_memory": "the process is the caller's", "max_time": "the process is the caller's",
    "config": "keywords come from wherever the caller keeps them", "options": "likewise: msda's name of --config",
    "estimate": "the program's alone", "picture_width": "svg() is text that scales", "picture_font": "likewise", "picture_scheme": "svg() follows the reader",
    "table": "to_frame() is typeset by pandas", "answer_table": "likewise", "table_columns": "columns of to_frame()", "batch": "count_many(), or a loop", "with_input": "to_dict() has it",
    "columns": "attributes, and columns of sweep()'s table", "timing": "time.perf_counter()",
    "checkpoint": "for long runs of the program that may be killed",
    "predictions": "a case of validate, whose predictions compare() shows",
}
UNLIKE: dict[tuple[str, str], str] = {
    ("calibrate", "plan"): "python -m natten_sim.measure plans, runs and fits",
    ("calibrate", "script"): "likewise",
    ("search", "emit"): "count(**candidate).emit() makes the call of a candidate",
    ("count", "mask"): "mask(), which counts the tiles of a given mask",
}


def options(program: Program, command: str) -> list[list[str]]:
    """The long names of each option, with underscores."""
    lines = program.run(command, "--help").stdout.splitlines()
    names = [re.findall(r"--([a-z][a-z0-9-]*)", line[:28 if len(line) > 28 and line[27] == " " else 40]) for line in lines
             if re.match(r"  -", line)]
    return [[name.replace("-", "_") for name in one] for one in names if one]


@pytest.mark.parametrize("command", FUNCTIONS)
def test_an_option_is_a_keyword_or_a_method(program: Program, command: str) -> None:
    function = getattr(natten_sim, FUNCTIONS[command])
    keywords = set(parameters(signature(function)))
    returned = getattr(natten_sim, signature(function).rsplit("-> ", 1)[1])
    found = options(program, command)
    assert len(found) > 8
    for names in found:
        known = [name for name in names if name in keywords or OTHERS.get(name) in keywords]
        known += [name for name in names if hasattr(returned, METHODS.get(name, ""))]
        known += [name for name in names if name in REASONS or (command, name) in UNLIKE]
        assert known, f"{command}: {names}"


@pytest.mark.parametrize(("keywords", "line"), [
    ({"seqlen_q": 900, "q_tile": 64, "kv_tile": 64, "mask": "varlen:causal:300,600", "algorithm": "best", "workers": 7},
     "schedule -i 900 --q-tile 64 --kv-tile 64 --mask varlen:causal:300,600 --algorithm best --workers 7"),
    ({"q_tiles": 8, "heads": 8, "heads_kv": 2, "gqa_chains": "kv-heads", "algorithm": "ascending"},
     "schedule --q-tiles 8 -n 8 --heads-kv 2 --gqa-chains kv-heads --algorithm ascending"),
    ({"q_tiles": 8, "mask": "causal", "release": "after-next", "early_exit": 2, "algorithm": "spt", "ctas_per_chain": 2},
     "schedule --q-tiles 8 --mask causal --release after-next --early-exit 2 --algorithm spt --ctas-per-chain 2"),
])
def test_later_options_of_schedules_are_there_too(program: Program, keywords: dict[str, Any], line: str) -> None:
    assert natten_sim.schedule(**keywords).to_json() == program.text(line)


def test_the_seed_of_a_timed_run_is_a_keyword(program: Program) -> None:
    keywords: dict[str, Any] = {"kernel": "fa2", "seqlen": 65536, "head_dim": 128, "causal": True, "device": "h200", "fidelity": "timed"}
    line = "reuse --kernel fa2 -i 65536 -d 128 --causal --device h200 --fidelity timed --seed"
    for seed in (1, 7):
        assert natten_sim.reuse(**keywords, seed=seed).to_json() == program.text(f"{line} {seed}")


@pytest.mark.parametrize("fidelity", ["closed-form", "lru", "timed"])
def test_causal_axes_that_differ_are_a_keyword(program: Program, fidelity: str) -> None:
    keywords: dict[str, Any] = {"seqlen": (6, 8, 8), "q_tile": (2, 4, 4), "kv_tile": (2, 4, 4), "device": "h200",
                                "fidelity": fidelity}
    line = f"reuse -i 6 8 8 --q-tile 2 4 4 --kv-tile 2 4 4 --device h200 --fidelity {fidelity} --causal"
    answer = natten_sim.reuse(**keywords, causal=(True, False, False))
    assert answer.to_json() == program.text(f"{line} 1 0 0")
    assert answer.input.causal == (True, False, False)
    for every in (True, (True, True, True)):
        assert natten_sim.reuse(**keywords, causal=every).to_json() == program.text(line)


def test_constructs_of_deformable_attention_are_a_keyword(program: Program) -> None:
    answer = natten_sim.msda(config="B1_640_d256_L4", phase="backward", dtype="fp32", construct="cuda-atomicadd-float")
    line = "msda --workload B1_640_d256_L4 --phase backward --dtype fp32 --construct cuda-atomicadd-float"
    assert answer.to_json() == program.text(line)


def test_files_of_a_schedule_are_the_programs(program: Program, tmp_path: Any) -> None:
    answer = natten_sim.schedule(q_tiles=6, mask="causal", algorithm="best", compute=7, reduce=2)
    table, header, binary, trace = (tmp_path / name for name in ("table.json", "table.hpp", "table.bin", "trace.json"))
    line = "schedule --q-tiles 6 --mask causal --algorithm best --compute 7 --reduce 2"
    done = program.run(*line.split(), "--emit-table", table, "--emit-header", header, "--emit-binary", binary, "--perfetto", trace)
    assert done.returncode == 0, done.stderr
    assert answer.header() == header.read_text() and answer.binary() == binary.read_bytes()
    assert answer.trace() == trace.read_text()
    assert answer.table() == json.loads(table.read_text())


def test_a_recorded_run_stands_below_its_schedule(root: Any) -> None:
    """docs/backward-run-spt.json is the schedule that an H200 ran, .csv the times of its tasks."""
    table, run = root / "docs" / "backward-run-spt.json", root / "docs" / "backward-run-spt.csv"
    answer = natten_sim.schedule(table=table)
    plain, recorded = answer.gantt(), answer.gantt(recorded_run=run)
    assert plain == answer.svg() and len(recorded) > len(plain)
    assert '"process_name"' in answer.trace(run) and len(answer.trace(run)) > len(answer.trace())
    with pytest.raises(natten_sim.Error):
        natten_sim.schedule(q_tiles=3, algorithm="spt").gantt(run)


def test_help_names_every_keyword() -> None:
    for function in (*FUNCTIONS.values(), "time", "count_many", "compare", "compare_profile"):
        doc = inspect.getdoc(getattr(natten_sim, function)) or ""
        for keyword in parameters(signature(getattr(natten_sim, function))):
            assert re.search(rf"^ {{4}}{keyword}: ", doc, re.MULTILINE), f"{function}({keyword})"
