"""The rows of tests/golden/doors.json by Python's keywords: the values that their types allow, with the answers and
messages of the program."""
from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import natten_sim
import pytest
from conftest import Program

TABLE = Path(__file__).parents[2] / "tests" / "golden" / "doors.json"
PROBLEM: dict[str, Any] = {"input": (30, 48, 80), "window": (18, 24, 24), "q_tile": (4, 8, 8), "kv_tile": (2, 8, 8)}
# Keywords of count() and the values that they are typed for; other names are refused with the one that is meant.
SIZES = ("input", "window", "stride", "q_tile", "kv_tile")
INTEGERS = ("heads", "head_dim", "add_kv", "batch_size")
OTHERS = ("causal", "backprop", "attention_share", "dtype", "kv_tiling", "device", "rest_ms", "dense_steps")


def is_typed(key: str, value: Any) -> bool:
    """Whether a checker of types accepts the value."""
    if value is None:
        return True
    if key in SIZES:
        return isinstance(value, str) or (type(value) is int) or (isinstance(value, list) and all(type(one) is int for one in value))
    if key in INTEGERS:
        return type(value) is int
    if key in ("causal", "backprop"):
        return all(type(one) in (bool, int) for one in (value if isinstance(value, list) else [value]))
    if key in ("attention_share", "rest_ms"):
        return type(value) in (int, float)
    return isinstance(value, str)


ROWS = [row for row in json.loads(TABLE.read_text())["spellings"]
        if row["key"].replace("-", "_") in (*SIZES, *INTEGERS, *OTHERS) and is_typed(row["key"].replace("-", "_"), row["value"])]


def test_the_table_has_rows_for_python() -> None:
    assert len(ROWS) >= 20


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row['key']}={row['value']}")
def test_a_value_is_read_as_the_program_reads_it(row: dict[str, Any], program: Program) -> None:
    keywords = {**PROBLEM, row["key"].replace("-", "_"): row["value"]}
    flags = [f"--{name.replace('_', '-')} {' '.join(map(str, value))}" for name, value in PROBLEM.items() if name != row.get("sets")]
    if "refused" in row:
        with pytest.raises(natten_sim.Error) as raised:
            natten_sim.count(**keywords)
        # The value as Python spells it; what is accepted in the same words.
        accepted = row["refused"].split("accepted: ")[-1]
        if "accepted: " in row["refused"] and row["key"] not in ("attention_share", "dense_steps"):
            assert accepted.lower() in str(raised.value).lower()
        return
    told = program.json(" ".join(["count", *flags, row["words"]]))
    assert natten_sim.count(**keywords).to_dict()["result"] == told["result"]
