"""The notebooks of docs/course: solutions pass the checks, and an exercise that nobody has solved does not."""

from __future__ import annotations

import ast
import json
import pathlib
import re
from typing import Any

import pytest

COURSE = pathlib.Path(__file__).resolve().parents[2] / "docs" / "course"
NOTEBOOKS = sorted(COURSE.glob("*.ipynb"))


def cells(notebook: pathlib.Path) -> list[tuple[str, str]]:
    """Each cell's kind (markdown, code, exercise, solution or check) and text."""
    found = []
    for cell in json.loads(notebook.read_text())["cells"]:
        tags = cell["metadata"].get("tags", [])
        found.append((tags[0] if tags else cell["cell_type"], "".join(cell["source"])))
    return found


def test_there_are_five_notebooks() -> None:
    assert [notebook.stem for notebook in NOTEBOOKS] == ["atomics", "caches", "counting", "orders", "time"]


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda notebook: notebook.stem)
def test_a_notebook_runs_with_its_solutions_and_its_checks_fail_without(notebook: pathlib.Path) -> None:
    names: dict[str, Any] = {}
    exercise = solution = ""
    checked = 0
    for kind, text in cells(notebook):
        if kind == "exercise":
            exercise = text
        elif kind == "solution":
            solution = text
        elif kind == "check":
            unsolved = dict(names)
            exec(exercise, unsolved)
            with pytest.raises((AssertionError, LookupError, StopIteration, TypeError, ValueError)):
                exec(text, unsolved)
            exec(solution, names)
            exec(text, names)
            exercise = solution = ""
            checked += 1
        elif kind == "code":
            exec(text, names)
    assert checked >= 8


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda notebook: notebook.stem)
def test_every_exercise_has_a_solution_that_does_not_run_by_itself(notebook: pathlib.Path) -> None:
    raw = json.loads(notebook.read_text())["cells"]
    kinds = [kind for kind, _ in cells(notebook) if kind in ("exercise", "solution", "check")]
    assert kinds == ["exercise", "solution", "check"] * (len(kinds) // 3)
    for cell in raw:
        assert not cell.get("outputs") and cell.get("execution_count") is None
        if "solution" in cell["metadata"].get("tags", []):
            assert cell["cell_type"] == "raw" and cell["metadata"]["jupyter"]["source_hidden"]
    for kind, text in cells(notebook):
        if kind in ("exercise", "solution"):
            ast.parse(text)
        if kind == "exercise":
            assert "..." in text


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda notebook: notebook.stem)
def test_links_of_a_notebook_lead_to_pages(notebook: pathlib.Path) -> None:
    linked = [link for kind, text in cells(notebook) if kind == "markdown" for link in re.findall(r"\]\(([^)#]+)", text)]
    assert linked and all((COURSE / link).exists() for link in linked)
