"""Answers of many problems as arrays."""

from __future__ import annotations

import importlib
from typing import Any

from natten_sim._record import Record


class Columns(Record):
    """The members of answers as NumPy arrays (rows,), and `valid`, of booleans.

    >>> import natten_sim
    >>> counts = natten_sim.count_many(input=(64, 64), window=[[8, 8], [16, 16]], q_tile=(8, 8), kv_tile=(8, 8))
    >>> counts.visited_tiles.tolist(), len(counts.valid)
    ([484, 484], 2)
    """

    __slots__ = ()

    def to_frame(self) -> Any:
        """The arrays as columns of a DataFrame.

        Returns:
            A pandas.DataFrame, or a polars.DataFrame if pandas is absent: one row a problem.

        Raises:
            ImportError: Neither is installed.
        """
        for library in ("pandas", "polars"):
            try:
                module = importlib.import_module(library)
            except ImportError:
                continue
            return module.DataFrame(dict(self))
        raise ImportError("to_frame() needs pandas or polars")
