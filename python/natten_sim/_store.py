"""Answers of a sweep in a folder, one Parquet file a task, so that a sweep that ended early goes on."""

from __future__ import annotations

import hashlib
import importlib
import json
import os
import pathlib
from collections.abc import Sequence
from typing import Any

Found = tuple[dict[str, Any] | None, str | None]
"""What a point gave: its answer as to_dict() has it, or the message of its refusal."""


class Store:
    """A folder of one sweep: `sweep.json` names its questions, `part-N.parquet` has answers from point N on.

    A part has the columns `point`, `error` and `answer`, which is JSON. It is written under another name first, so
    that a part is whole or absent, whenever the process ends.
    """

    def __init__(self, folder: str | os.PathLike[str], function: str, questions: Sequence[dict[str, Any]]) -> None:
        try:
            self._arrow = importlib.import_module("pyarrow")
            self._parquet = importlib.import_module("pyarrow.parquet")
        except ImportError:
            raise ImportError("store: a folder needs pyarrow") from None
        self._folder = pathlib.Path(folder)
        self._folder.mkdir(parents=True, exist_ok=True)
        asked = json.dumps([function, list(questions)], default=str, sort_keys=True)
        mine = {"function": function, "points": len(questions), "sha256": hashlib.sha256(asked.encode()).hexdigest()}
        head = self._folder / "sweep.json"
        if head.exists():
            if json.loads(head.read_text()) != mine:
                raise ValueError(f"store: {self._folder} holds another sweep; give a folder of its own to each")
        else:
            self._replace(head, lambda path: path.write_text(json.dumps(mine) + "\n"))

    def read(self) -> dict[int, Found]:
        """The answers that earlier calls have left, by point."""
        found: dict[int, Found] = {}
        for part in sorted(self._folder.glob("part-*.parquet")):
            columns = self._parquet.read_table(part).to_pydict()
            for point, error, answer in zip(columns["point"], columns["error"], columns["answer"], strict=True):
                found[point] = (None if answer is None else json.loads(answer), error)
        return found

    def write(self, points: Sequence[int], answers: Sequence[Found]) -> None:
        """Keeps the answers of a task."""
        arrow = self._arrow
        table = arrow.table({
            "point": arrow.array(points, arrow.int64()),
            "error": arrow.array([error for answer, error in answers], arrow.string()),
            "answer": arrow.array([None if answer is None else json.dumps(answer) for answer, error in answers],
                                  arrow.string()),
        })
        self._replace(self._folder / f"part-{points[0]:09d}.parquet",
                      lambda path: self._parquet.write_table(table, path))

    @staticmethod
    def _replace(path: pathlib.Path, write: Any) -> None:
        fresh = path.with_name(path.name + ".new")
        write(fresh)
        fresh.replace(path)
