"""Shapes of the arrays that tile_tables() and sequence_tables() return."""

from __future__ import annotations

from typing import TypedDict

import numpy as np
import numpy.typing as npt

Places = npt.NDArray[np.int64]


class TileSide(TypedDict):
    """The tiles of each row in compressed rows: those of row r are columns[offsets[r] : offsets[r + 1]], ascending.

    Attributes:
        offsets: (rows + 1,).
        columns: (visited tiles,).
        full: (visited tiles,): 1 where every pair attends, 0 for a partial tile.
    """

    offsets: npt.NDArray[np.int64]
    columns: npt.NDArray[np.int32]
    full: npt.NDArray[np.uint8]


class TileTables(TypedDict):
    """Which KV tiles each Q tile visits, and the other way round.

    Attributes:
        q_tiles, kv_tiles: Rows of `of_q` and of `of_kv`.
        of_q: The KV tiles of each Q tile.
        of_kv: The Q tiles of each KV tile.
    """

    q_tiles: int
    kv_tiles: int
    of_q: TileSide
    of_kv: TileSide


class NeighborhoodTables(TileTables):
    """The tables of neighborhood attention, and where its tokens lie in tiles.

    Attributes:
        q_tile, kv_tile: Tokens of a tile.
        q_tokens: (q_tiles * q_tile,): the token at each place, -1 for padding.
        kv_tokens: (kv_tiles * kv_tile,): likewise.
        axes: For each axis (begin, end, key): the query at place p attends to keys with begin[p] <= key < end[p].
        turns: Of each axis, tokens of a cycle, which the query attends to a turn before and after too; 0: no cycle.
    """

    q_tile: int
    kv_tile: int
    q_tokens: Places
    kv_tokens: Places
    axes: list[tuple[Places, Places, Places]]
    turns: list[int]
