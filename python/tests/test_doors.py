"""The rows of tests/golden/doors.json by Python's keywords: the answers and the messages of the program. And count()
and time() answer one question alike."""
from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import natten_sim
import pytest
from conftest import Program

TABLE = Path(__file__).parents[2] / "tests" / "golden" / "doors.json"
PROBLEM: dict[str, Any] = {"input": (30, 48, 80), "window": (18, 24, 24), "q_tile": (4, 8, 8), "kv_tile": (2, 8, 8)}
ROWS = json.loads(TABLE.read_text())["spellings"]


def test_the_table_has_forty_rows() -> None:
    assert len(ROWS) >= 40


def message_of(text: str) -> tuple[str, str]:
    """The option that a message names, and what it says of it, as Python spells names."""
    option, _, message = text.removeprefix("natten-sim: error: ").partition(": ")
    return option.replace("-", "_"), message.replace("--", "").replace("-", "_")


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row['key']}={row['value']}")
def test_a_value_is_read_as_the_program_reads_it(row: dict[str, Any], program: Program) -> None:
    key = row["key"].replace("-", "_")
    keywords = {name: value for name, value in PROBLEM.items() if name != row.get("sets")} | {key: row["value"]}
    flags = " ".join(f"--{name.replace('_', '-')} {' '.join(map(str, value))}"
                     for name, value in PROBLEM.items() if name != row.get("sets"))
    line = " ".join(["count", flags, row["words"]])
    if "refused" not in row:
        assert natten_sim.count(**keywords).to_dict()["result"] == program.json(line)["result"]
        return
    refused = program.run(*line.split())
    assert refused.returncode == 2
    _, expected = message_of(refused.stderr.splitlines()[0])
    with pytest.raises(natten_sim.Error) as raised:
        natten_sim.count(**keywords)
    option, told = message_of(str(raised.value))
    assert option in (key, raised.value.parameter)
    assert told.partition("; nearest: ")[0] == expected


def test_two_spellings_of_one_keyword_are_refused() -> None:
    with pytest.raises(natten_sim.Error, match="given twice"):
        natten_sim.count(input=64, window=16, dim=64, head_dim=64)  # type: ignore[call-arg]
    with pytest.raises(natten_sim.Error, match="given twice"):
        natten_sim.count(input=64, kernel_size=16, w=16)  # type: ignore[call-arg]


BOUNDED: dict[str, dict[str, Any]] = {
    "count": {"input": 64, "window": 16},
    "search": {"input": 64, "window": 16, "top": 1},
    "time": {"kernel": "cutlass-fna", "device": "a100", "input": 4096, "window": 512},
    "reuse": {"seqlen": 4096},
    "advise": {"input": (64, 64), "device": "h200"},
    "schedule": {"q_tiles": 4, "algorithm": "spt"},
    "plan": {"input": (16, 16, 16), "window": (4, 8, 8), "device": "h200", "head_dim": 128},
}


@pytest.mark.parametrize("function", BOUNDED)
def test_heads_have_one_bound_in_every_function(function: str) -> None:
    call = getattr(natten_sim, function)
    for keyword in ("heads", "heads_kv", "batch_size"):
        for value in (2**20 + 1, 2**63, str(2**20 + 1)):
            with pytest.raises(natten_sim.Error) as raised:
                call(**BOUNDED[function], **{keyword: value})
            assert raised.value.parameter == keyword and "1..1048576" in str(raised.value)


CELLS = [("hopper-fna", "h200"), ("blackwell-fna", "b200"), ("cutlass-fna", "a100"), ("cutlass-fna", "h200"),
         ("flexattention", "h200"), ("hopper-fmha", "h200"), ("cudnn", "h200"), ("fmha", "h200")]


@pytest.mark.parametrize(("kernel", "device"), CELLS)
@pytest.mark.parametrize("dtype", ["fp16", "fp32"])
@pytest.mark.parametrize("head_dim", [64, 128])
def test_count_and_time_answer_one_question_alike(kernel: str, device: str, dtype: Any, head_dim: int) -> None:
    """The same tiles where neither is given any, the same time, and the same refusal of a type."""
    for shape, window in (((30, 48, 80), (18, 24, 24)), ((64, 64), (16, 16)), ((4096,), (512,))):
        answers = []
        for call in (natten_sim.count, natten_sim.time):
            try:
                answer = call(kernel=kernel, device=device, input=shape, window=window, dtype=dtype, head_dim=head_dim).to_dict()
            except natten_sim.Error as error:
                answers.append((str(error), None, None))
                continue
            own = answer["input"]["q_tile"]  # a dense kernel's tiles are its own: time() names none
            answers.append((answer["result"]["time_ms"], own, answer["input"]["kv_tile"]))
        (counted, *tiles), (timed, *own_tiles) = answers
        assert counted == timed
        assert tiles == own_tiles or own_tiles == [None, None]
        if kernel.endswith("-fna") or kernel == "flexattention":
            assert tiles == own_tiles
