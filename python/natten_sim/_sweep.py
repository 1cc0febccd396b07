"""One question at many values, on any executor, as one tidy table."""

from __future__ import annotations

import concurrent.futures
import csv
import functools
import importlib
import io
import itertools
import json
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Protocol

from natten_sim._error import Error
from natten_sim._store import Found, Store


class Executor(Protocol):
    """What runs the questions: its futures have result(). Executors of concurrent.futures are, and Dask's Client is."""

    def submit(self, fn: Any, /, *args: Any) -> Any: ...


class Sweep:
    """Answers of sweep(), a row a point, in the order of the points.

    Attributes:
        rows: A dict a point: the values that were swept, `error` (None, or the message of a refusal), the whole
            problem and the whole answer. Nested members are `outer_inner`, and a member of the answer that has
            the name of one of the problem is `result_NAME`, as in `natten-sim sweep`.
        answers: What `to_dict()` of each answer gives, or None where a point was refused.
    """

    def __init__(self, rows: list[dict[str, Any]], answers: list[dict[str, Any] | None]) -> None:
        self.rows = rows
        self.answers = answers

    def __len__(self) -> int:
        return len(self.rows)

    def __repr__(self) -> str:
        refused = sum(row["error"] is not None for row in self.rows)
        return f"Sweep({len(self.rows)} points, {refused} refused)"

    @property
    def columns(self) -> list[str]:
        """The names of all columns, in the order in which rows have them first."""
        return list(dict.fromkeys(column for row in self.rows for column in row))

    def to_csv(self) -> str:
        """The table as text.

        Returns:
            A line of names, then one a point; lists are 4x8x8, and what is not known is empty.
        """
        text = io.StringIO()
        table = csv.writer(text, lineterminator="\n")
        table.writerow(self.columns)
        for row in self.rows:
            table.writerow([_cell(row.get(column)) for column in self.columns])
        return text.getvalue()

    def to_frame(self) -> Any:
        """The table as a DataFrame.

        Returns:
            One of pandas, or of polars if pandas is absent.
        """
        columns = {column: [row.get(column) for row in self.rows] for column in self.columns}
        for library in ("pandas", "polars"):
            try:
                module = importlib.import_module(library)
            except ImportError:
                continue
            return module.DataFrame(columns)
        raise ImportError("to_frame() needs pandas or polars; rows and to_csv() need neither")

    def to_parquet(self, path: Any) -> None:
        """Writes the table as Parquet, for which it needs pyarrow.

        Args:
            path: The file. Columns keep their types: numbers, text, lists of whole numbers.

        Returns:
            Nothing.

        Raises:
            ImportError: pyarrow is absent.
        """
        try:
            arrow = importlib.import_module("pyarrow")
            parquet = importlib.import_module("pyarrow.parquet")
        except ImportError:
            raise ImportError("to_parquet() needs pyarrow; to_csv() does not") from None
        columns = {column: _alike([row.get(column) for row in self.rows]) for column in self.columns}
        parquet.write_table(arrow.table(columns), path)


def sweep(function: str, over: Mapping[str, Iterable[Any]], *, executor: Executor | None = None, chunk: int = 1,
          retries: int = 2, store: str | os.PathLike[str] | None = None, **keywords: Any) -> Sweep:
    """Asks a function of this package at all combinations of values, the last name fastest.

        natten_sim.sweep("reuse", {"seqlen": [65536, 131072], "order": ["cyclic", "sawtooth"]},
                         head_dim=64, device="h200", fidelity="lru").to_csv()

    Args:
        function: Its name: "count", "reuse", "msda" or another that takes keywords and returns an answer.
        over: The values of each keyword that is swept.
        executor: Runs the questions: a ThreadPoolExecutor or ProcessPoolExecutor, a dask.distributed.Client, or
            whatever has submit() and futures with result() [threads, one a core]. Other processes and machines
            need this package too.
        chunk: Points per task, 1 or more. A task costs a cluster about a millisecond, a count a few microseconds.
        retries: How often a task is given out again whose worker was lost, 0 or more.
        store: A folder, made if need be. The answers of each task are written there as one Parquet file as soon as
            they are known, and a later call with the same question asks only what is missing. Needs pyarrow.
        keywords: Those that are the same at every point.

    Returns:
        The answers as a table. A point that is refused has its message in the column `error`.

    Raises:
        TypeError: A keyword is unknown, or both swept and fixed.
        ValueError: There is no such function, or nothing to sweep; `store` holds another sweep.
        ImportError: `store` is given, and pyarrow is absent.
        Exception: What the executor raised for a task, after all retries.

    Source:
        docs/python.md.
    """
    if function not in _functions():
        raise ValueError(f"function: {function!r} is not one of {', '.join(_functions())}")
    names = list(over)
    values = [list(over[name]) for name in names]
    if not names or not all(values):
        raise ValueError("over: a name with values is needed, as {'window': [8, 16]}")
    twice = [name for name in names if name in keywords]
    if twice:
        raise TypeError(f"{twice[0]} is both swept and fixed")
    if chunk < 1 or retries < 0:
        raise ValueError(f"chunk: {chunk} is not 1 or more" if chunk < 1 else f"retries: {retries} is not 0 or more")
    points = [dict(zip(names, point, strict=True)) for point in itertools.product(*values)]
    questions = [{**keywords, **point} for point in points]
    kept = None if store is None else Store(store, function, questions)
    if executor is None:
        with concurrent.futures.ThreadPoolExecutor() as threads:
            found = _asked(function, questions, threads, chunk, retries, kept)
    else:
        found = _asked(function, questions, executor, chunk, retries, kept)
    rows = [_row(point, *each) for point, each in zip(points, found, strict=True)]
    return Sweep(rows, [answer for answer, error in found])


def _asked(function: str, questions: Sequence[dict[str, Any]], executor: Executor, chunk: int, retries: int,
           store: Store | None) -> list[Found]:
    found = {} if store is None else store.read()
    missing = [at for at in range(len(questions)) if at not in found]
    tasks = [missing[first:first + chunk] for first in range(0, len(missing), chunk)]
    submits = [functools.partial(executor.submit, _ask_all, function, [questions[at] for at in task]) for task in tasks]
    futures = [submit() for submit in submits]
    for task, submit, future in zip(tasks, submits, futures, strict=True):
        answers = _result(future, submit, retries)
        found.update(zip(task, answers, strict=True))
        if store is not None:
            store.write(task, answers)
    return [found[at] for at in range(len(questions))]


def _result(future: Any, again: Callable[[], Any], retries: int) -> list[Found]:
    for left in range(retries, -1, -1):
        try:
            answers: list[Found] = future.result()
            return answers
        except (TypeError, ValueError):  # the question's fault: another worker would find the same
            raise
        except Exception:
            if left == 0:
                raise
            future = again()
    raise AssertionError("range() ends at 0")


def _functions() -> tuple[str, ...]:
    return ("count", "search", "time", "advise", "schedule", "reuse", "scatter", "msda")


def _ask_all(function: str, questions: Sequence[dict[str, Any]]) -> list[Found]:
    """Runs where the executor does; what goes there and back is plain."""
    return [_ask(function, keywords) for keywords in questions]


def _ask(function: str, keywords: dict[str, Any]) -> Found:
    package = importlib.import_module("natten_sim")
    try:
        return json.loads(getattr(package, function)(**keywords).to_json()), None
    except Error as error:
        return None, str(error)


def _row(point: dict[str, Any], answer: dict[str, Any] | None, error: str | None) -> dict[str, Any]:
    row = {**point, "error": error}
    for part in ("input", "result"):
        for name, value in _flat((answer or {}).get(part) or {}).items():
            row[f"result_{name}" if part == "result" and name in row else name] = value
    return row


def _flat(members: dict[str, Any], before: str = "") -> dict[str, Any]:
    """Nested members as outer_inner; lists of objects are left out."""
    flat: dict[str, Any] = {}
    for name, value in members.items():
        if isinstance(value, dict):
            flat.update(_flat(value, f"{before}{name}_"))
        elif not (isinstance(value, list) and any(isinstance(each, dict | list) for each in value)):
            flat[before + name] = value
    return flat


def _cell(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return "x".join(json.dumps(each) for each in value)
    return json.dumps(value) if isinstance(value, bool) else value


def _alike(values: list[Any]) -> list[Any]:
    """Values of one type for a column: whole numbers beside others become floats, beside lists lists; what is mixed
    otherwise becomes text."""
    kinds = {type(value) for value in values if value is not None}
    if kinds <= {int, float}:
        return values if len(kinds) < 2 else [None if value is None else float(value) for value in values]
    if kinds == {int, list}:  # one axis, given as a number where a point was refused
        return [[value] if isinstance(value, int) else value for value in values]
    return values if len(kinds) == 1 else [None if value is None else str(_cell(value)) for value in values]
