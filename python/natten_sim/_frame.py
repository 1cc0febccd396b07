"""Tidy tables as frames and tables of whichever library is there."""

from __future__ import annotations

import csv
import importlib
import io
import re
from typing import Any

from natten_sim._record import Record

_WHOLE = re.compile(r"-?\d+")
_SHAPE = re.compile(r"\d+(x\d+)*")


def frame(answer: Any) -> Any:
    """The program's CSV, read by pandas, or by polars if pandas is absent."""
    text = io.StringIO(answer.to_csv())
    for library in ("pandas", "polars"):
        try:
            module = importlib.import_module(library)
        except ImportError:
            continue
        return module.read_csv(text)
    raise ImportError("to_frame() needs pandas or polars; to_csv() needs neither")


def _shape_names(value: Any) -> set[str]:
    """Members that are lists of whole numbers, wherever they stand: a size of one axis is one too."""
    names: set[str] = set()
    for record in value if isinstance(value, tuple) else (value,):
        if isinstance(record, Record):
            for name, member in record.items():
                if isinstance(member, tuple) and member and all(type(each) is int for each in member):
                    names.add(name)
                names |= _shape_names(member)
    return names


def _number(cell: str) -> float | None:
    try:
        return float(cell)
    except ValueError:
        return None


def _column(cells: list[str], is_shape: bool) -> list[Any]:
    """Values of one type; an empty cell is None."""
    given = [cell for cell in cells if cell != ""]

    def each(convert: Any) -> list[Any]:
        return [None if cell == "" else convert(cell) for cell in cells]

    if given and set(given) <= {"true", "false"}:
        return each(lambda cell: cell == "true")
    shapes = all(_SHAPE.fullmatch(cell) for cell in given) and (is_shape or any("x" in cell for cell in given))
    if given and shapes:
        return each(lambda cell: [int(size) for size in cell.split("x")])
    if given and all(_WHOLE.fullmatch(cell) and -(2**63) <= int(cell) < 2**63 for cell in given):
        return each(int)
    if given and all(_number(cell) is not None for cell in given):
        return each(float)
    return each(str)


def columns(answer: Any) -> dict[str, list[Any]]:
    """The tidy table by column: truth values, whole numbers, numbers, lists of whole numbers for shapes, text."""
    header, *rows = csv.reader(io.StringIO(answer.to_csv()))
    shapes = _shape_names(answer.input) | _shape_names(answer.result)
    return {name: _column([row[at] for row in rows], name in shapes) for at, name in enumerate(header)}


def _library(name: str, method: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError:
        raise ImportError(f"{method}() needs {name}; to_csv() does not") from None


def arrow(answer: Any) -> Any:
    """A pyarrow.Table."""
    return _library("pyarrow", "to_arrow").table(columns(answer))


def to_pandas(answer: Any) -> Any:
    """A pandas.DataFrame: whole numbers that may be absent are Int64."""
    pandas = _library("pandas", "to_pandas")

    def series(values: list[Any]) -> Any:
        whole = all(value is None or type(value) is int for value in values) and None in values
        return pandas.Series(values, dtype="Int64" if whole and any(value is not None for value in values) else None)

    return pandas.DataFrame({name: series(values) for name, values in columns(answer).items()})


def to_polars(answer: Any) -> Any:
    """A polars.DataFrame."""
    return _library("polars", "to_polars").DataFrame(columns(answer))
