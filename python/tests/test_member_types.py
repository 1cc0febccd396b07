"""The types that checkers and editors read (_members.pyi) are those that answers have."""

from __future__ import annotations

import ast
import keyword
import pathlib
import subprocess
import sys
from typing import Any

import natten_sim
import pytest
from hypothesis import given, settings
from test_program import SAME, questions

STUB = pathlib.Path(natten_sim.__file__).parent / "_members.pyi"


def classes() -> dict[str, dict[str, ast.expr]]:
    """Annotations of the members of each class, its bases' included."""
    found: dict[str, dict[str, ast.expr]] = {}
    for node in ast.parse(STUB.read_text()).body:
        if isinstance(node, ast.ClassDef):
            members: dict[str, ast.expr] = {}
            for base in node.bases:
                members |= found.get(ast.unparse(base), {})
            for member in node.body:
                if isinstance(member, ast.AnnAssign) and isinstance(member.annotation, ast.Subscript):
                    members[ast.unparse(member.target)] = member.annotation.slice  # of Final[..]
            found[node.name] = members
    return found


CLASSES = classes()
PLAIN: dict[str, type | tuple[type, ...]] = {"bool": bool, "int": int, "float": (int, float), "str": str}


def fits(value: Any, annotation: ast.expr) -> str:
    """Why a value is not of a type; empty: it is."""
    if isinstance(annotation, ast.BinOp):
        sides = [fits(value, side) for side in (annotation.left, annotation.right)]
        return "" if "" in sides else min(sides, key=len)
    text = ast.unparse(annotation)
    if text == "Any":
        return ""
    if isinstance(annotation, ast.Constant):
        return "" if value is None else f"{value!r} is not None"
    if isinstance(annotation, ast.Subscript):  # tuple[T, ...]
        element = annotation.slice.elts[0]  # type: ignore[attr-defined]
        return next(filter(None, (fits(one, element) for one in value)), "") if isinstance(value, list) else f"{value!r} is no tuple"
    if text in PLAIN:
        good = isinstance(value, PLAIN[text]) and (isinstance(value, bool) == (text == "bool"))
        return "" if good else f"{value!r} is no {text}"
    if not isinstance(value, dict):
        return f"{value!r} is no {text}"
    if text == "Record":
        return ""
    members = CLASSES[text]
    return next((f"{text}.{name}: {why}" for name, member in value.items() if not keyword.iskeyword(name)
                 if (why := fits(member, members[name]) if name in members else "not declared")), "")


def check(answer: natten_sim.Answer) -> None:
    whole, kind = answer.to_dict(), type(answer).__name__
    for part, type_name in (("input", f"{kind}Input"), ("result", f"{kind}Result")):
        why = fits(whole[part], ast.Name(type_name))
        assert not why, why


@pytest.mark.parametrize(("function", "keywords", "line"), SAME, ids=[line for _, _, line in SAME])
def test_members_of_an_answer_are_of_their_types(function: str, keywords: dict[str, Any], line: str) -> None:
    check(getattr(natten_sim, function)(**keywords))


@settings(max_examples=300)
@given(questions())
def test_members_of_random_counts_are_of_their_types(question: dict[str, Any]) -> None:
    try:
        answer = natten_sim.count(**question)
    except natten_sim.Error:
        return
    check(answer)


@pytest.mark.parametrize("table", ["presets", "backends", "devices", "kernels"])
def test_entries_of_catalogs_are_of_their_types(table: str) -> None:
    for entry in getattr(natten_sim, table)():
        assert not fits(entry.to_dict(), ast.Name(f"{table[:-1].capitalize()}Entry"))


def test_a_wrong_type_is_found() -> None:
    """The check above can fail."""
    assert "visited_tiles" in fits({"visited_tiles": "many"}, ast.Name("CountResult"))
    assert "not declared" in fits({"visited": 3}, ast.Name("CountResult"))
    assert fits({"kernel": 3}, ast.Name("CountResult"))


def test_a_checker_knows_members_and_refuses_others(tmp_path: pathlib.Path) -> None:
    script = tmp_path / "asks.py"
    script.write_text(
        "import natten_sim\n"
        "answer = natten_sim.count(input=64, window=8)\n"
        "reveal_type(answer.visited_tiles)\n"
        "reveal_type(answer.result.flops.dense)\n"
        "reveal_type(natten_sim.presets()[0].name)\n"
        "answer.visited\n"
        "answer.visited_tiles = 3\n"
        "natten_sim.count(input=64, dtype='fp17')\n")
    command = [sys.executable, "-m", "mypy", "--strict", "--config-file", "", str(script)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)
    found = [line.split(":", 1)[1].split("  [")[0] for line in done.stdout.splitlines()[:-1]]
    assert found[:3] == ['3: note: Revealed type is "int"', '4: note: Revealed type is "int | None"', '5: note: Revealed type is "str"'], found
    assert '"Count" has no attribute "visited"' in found[3]
    assert "visited_tiles" in found[4] and "final" in found[4].lower()
    assert 'incompatible type "Literal[\'fp17\']"' in found[5]


def test_any_stands_only_where_nothing_is_known() -> None:
    """JSON of any schema, tensors of libraries that may be absent, and what tuners call a configuration."""
    stub = pathlib.Path(natten_sim.__file__).parent / "_core.pyi"
    with_any = [line.strip() for line in stub.read_text().splitlines() if "Any" in line and "import" not in line and "def " in line]
    allowed = ("def to_dict", "def to_frame", "def table", "def costs", "def tile_tables", "def sequence_tables", "def __init__", "def calibrate",
               "def msda", "def search", "def scatter", "def schedule", "def reuse", "def to_arrow", "def to_pandas", "def to_polars",
               "def __reduce__", "def __deepcopy__", "def mask")
    assert not [line for line in with_any if not line.startswith(allowed)]
    members = STUB.read_text()
    assert ": Final[Any]" not in members and members.count("class ") > 60
