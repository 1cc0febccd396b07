"""Masks over sequences: where tokens lie, and tables of visited blocks of a mask that is known pair by pair."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from natten_sim._error import Error
from natten_sim._tables import TileSide, TileTables

# Whether query attends to key, of broadcastable arrays of token numbers: (batch, head, query, key) as in FlexAttention.
TokenRule = Callable[[Any, Any, Any, Any], Any]


@dataclasses.dataclass(frozen=True)
class Pairs:
    """What partial blocks hold.

    Attributes:
        number: (Q blocks, KV blocks): the block's place in `attends`; of blocks that are not partial any.
        attends: (partial blocks, tokens of a Q block, tokens of a KV block).
    """

    number: npt.NDArray[np.int32]
    attends: npt.NDArray[np.bool_]


Bounds = tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]


def rule_of_matrix(matrix: Any) -> tuple[TokenRule, int, int]:
    """A boolean matrix (queries, keys) as a rule, and its sizes."""
    mask = np.asarray(matrix)
    if mask.ndim != 2 or mask.dtype != np.bool_ or not mask.size:
        accepted = "a matrix (queries, keys) of booleans"
        given = f"an array {mask.shape} of {mask.dtype}"
        raise Error(f"token_mask: {given} is not valid; accepted: {accepted}", "token_mask", given, accepted)

    def attends(batch: Any, head: Any, query: Any, key: Any) -> Any:
        return mask[query, key]

    return attends, mask.shape[0], mask.shape[1]


def tables_of_rule(
    rule: TokenRule, queries: int, keys: int, q_block: int, kv_block: int
) -> tuple[TileTables, Pairs]:
    """Evaluates the rule for every pair, a row of blocks at a time: O(queries x keys) time, O(keys) memory beside what
    partial blocks hold. A block with padded keys is never full: a kernel that does not mask would read them."""
    q_blocks, kv_blocks = -(-queries // q_block), -(-keys // kv_block)
    works = np.zeros((q_blocks, kv_blocks), dtype=np.int8)
    number = np.zeros((q_blocks, kv_blocks), dtype=np.int32)
    kept: list[npt.NDArray[np.bool_]] = []
    held = 0
    for row in range(q_blocks):
        first, last = row * q_block, min((row + 1) * q_block, queries)
        inside = np.zeros((q_block, kv_blocks * kv_block), dtype=bool)
        inside[: last - first, :keys] = rule(0, 0, np.arange(first, last)[:, None], np.arange(keys)[None])
        blocks = inside.reshape(q_block, kv_blocks, kv_block).transpose(1, 0, 2)
        asked = blocks[:, : last - first]
        works[row] = np.where(asked.all(axis=(1, 2)), 2, asked.any(axis=(1, 2)))
        partial = np.nonzero(works[row] == 1)[0]
        number[row, partial] = held + np.arange(len(partial))
        held += len(partial)
        kept.append(blocks[partial])
    tables: TileTables = {"q_tiles": q_blocks, "kv_tiles": kv_blocks, "of_q": side_of(works), "of_kv": side_of(works.T)}
    return tables, Pairs(number, np.concatenate(kept))


def side_of(works: npt.NDArray[np.int8]) -> TileSide:
    """Visited columns of each row; 1 is partial, 2 full."""
    rows, columns = np.nonzero(works)
    offsets = np.searchsorted(rows, np.arange(works.shape[0] + 1))
    return {"offsets": offsets, "columns": columns.astype(np.int32), "full": (works[rows, columns] == 2).astype(np.uint8)}


def tables_of_bounds(bounds: Bounds, keys: int, q_block: int, kv_block: int) -> TileTables:
    """Of a mask whose queries attend to begin <= key < end: O(queries x KV blocks)."""
    begin, end = bounds
    queries = len(begin)
    q_blocks, kv_blocks = -(-queries // q_block), -(-keys // kv_block)
    first = kv_block * np.arange(kv_blocks)
    works = np.zeros((q_blocks, kv_blocks), dtype=np.int8)
    for row in range(q_blocks):
        rows = np.s_[row * q_block : min((row + 1) * q_block, queries), None]
        some = (begin[rows] < first + kv_block) & (end[rows] > first) & (begin[rows] < end[rows])
        every = (begin[rows] <= first) & (end[rows] >= first + kv_block)
        works[row] = np.where(every.all(axis=0), 2, some.any(axis=0))
    return {"q_tiles": q_blocks, "kv_tiles": kv_blocks, "of_q": side_of(works), "of_kv": side_of(works.T)}


def without_full_padding(tables: TileTables, kv_tokens: npt.NDArray[np.int64], kv_block: int) -> TileTables:
    """The tables with KV blocks that hold padding partial: in a full block a kernel would attend to the padding."""
    padded: npt.NDArray[np.bool_] = np.asarray((kv_tokens.reshape(-1, kv_block) < 0).any(axis=1))
    if not padded.any():
        return tables
    of_q, of_kv = tables["of_q"], tables["of_kv"]
    rows = np.repeat(np.arange(len(padded)), np.diff(of_kv["offsets"]))
    return {
        **tables,
        "of_q": {**of_q, "full": of_q["full"] & ~padded[of_q["columns"]]},
        "of_kv": {**of_kv, "full": of_kv["full"] & ~padded[rows]},
    }


def padded(tokens: int, places: int) -> npt.NDArray[np.int64]:
    """The token at each place, -1 behind the last one."""
    numbers = np.arange(places)
    return np.where(numbers < tokens, numbers, -1)


def bounds_of(mask: str, queries: int, keys: int) -> Bounds:
    """Begin and end of the keys of each query; causal and window align the ends of both sequences."""
    kind, _, rest = mask.partition(":")
    diagonal = np.arange(queries) + keys - queries
    begin, end = np.zeros(queries, dtype=np.int64), np.full(queries, keys, dtype=np.int64)
    if kind == "causal":
        end = diagonal + 1
    elif kind == "window":
        left, right = (int(number) for number in rest.split(","))
        begin, end = diagonal - left, diagonal + right + 1
    elif kind in ("document", "varlen"):
        rule, _, lengths = rest.rpartition(":")
        return bounds_of_documents(rule or "full", lengths.split(","))
    elif kind != "full":
        accepted = "full, causal, window:L,R, document:LEN,.., varlen:RULE:LEN,.., a function, a matrix"
        raise Error(f"mask: '{mask}' has no token rule here; accepted: {accepted}", "mask", mask, accepted)
    return np.maximum(begin, 0), np.minimum(end, keys)


def bounds_of_documents(rule: str, lengths: list[str]) -> Bounds:
    """The rule within each document: LEN tokens, or QxK queries and keys."""
    found: list[Bounds] = []
    first = 0
    for length in lengths:
        sizes = re.fullmatch(r"([1-9]\d*)(?:x([1-9]\d*))?", length)
        if sizes is None:
            accepted = "LEN or QxK tokens a document, as varlen:causal:300,500"
            raise Error(f"mask: a length of '{length}' is not valid; accepted: {accepted}", "mask", length, accepted)
        begin, end = bounds_of(rule, int(sizes[1]), int(sizes[2] or sizes[1]))
        found.append((begin + first, end + first))
        first += int(sizes[2] or sizes[1])
    begins, ends = zip(*found, strict=True)
    return np.concatenate(begins), np.concatenate(ends)


def sequence_axis(
    mask: str, queries: int, keys: int, places: tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """The mask as an axis of a plan: padded queries attend to nothing."""
    begin, end = bounds_of(mask, queries, keys)
    padding = np.zeros(len(places[0]) - queries, dtype=np.int64)
    return np.concatenate([begin, padding]), np.concatenate([end, padding]), places[1]
