"""FlexAttention: block masks from tile tables, without a mask of all token pairs.

`plan(...)` takes the keywords of count() for neighborhood attention in 1 to 4 dimensions, or a `mask` over
sequences. Its tokens are copied into tiles, which makes blocks of boxes; `BlockMask` then holds the partial and the
full blocks apart, for both passes.

>>> import natten_sim
>>> p = natten_sim.flex.plan(input=(8, 16), window=(4, 8), q_tile=(4, 8), kv_tile=(4, 8))
>>> p.q_block, p.kv_block, p.visited, p.full
(32, 32, 16, 0)
"""

from __future__ import annotations

import dataclasses
import inspect
import operator
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Literal, SupportsIndex

import numpy as np
import numpy.typing as npt

from natten_sim import _core
from natten_sim._error import Error
from natten_sim._tables import TileTables
from natten_sim._token_rules import (
    Pairs, TokenRule, bounds_of, padded, rule_of_matrix, sequence_axis, tables_of_bounds, tables_of_rule,
    without_full_padding)

Integers = npt.NDArray[np.integer[Any]]
DqOrder = Literal["ascending", "descending", "best"] | Sequence[int] | Integers
Tile = SupportsIndex | Iterable[SupportsIndex] | str

# A table this wide is as wide as PyTorch's own: `to_dense()` and pictures then work too.
_WIDEST_TABLE = 1 << 26


@dataclasses.dataclass(frozen=True)
class Blocks:
    """The blocks of one kind of every row, padded to the longest row.

    Attributes:
        counts: (rows,): how many columns of each row are blocks.
        columns: (rows, width): their numbers, ascending; 0 behind them.
    """

    counts: npt.NDArray[np.int32]
    columns: npt.NDArray[np.int32]


@dataclasses.dataclass(frozen=True)
class DqWriteOrder:
    """In which order the KV blocks add to each dQ block, for a deterministic backward pass.

    Attributes:
        kv_order: (KV blocks,): KV blocks in the order in which their work begins, a permutation.
        partial: (KV blocks, width): for each Q block of `Plan.blocks("kv", full=False)`, how many KV blocks add to
            its dQ before this one.
        full: (KV blocks, width): likewise for full blocks.
        makespan: Of the backward pass, in the costs given; None if it was not simulated.
    """

    kv_order: npt.NDArray[np.int32]
    partial: npt.NDArray[np.int32]
    full: npt.NDArray[np.int32]
    makespan: float | None = None


@dataclasses.dataclass(frozen=True)
class Plan:
    """Which blocks attend, where tokens lie in them, and what a partial block masks.

    Attributes:
        q_block, kv_block: Tokens of a block.
        q_tokens, kv_tokens: (blocks * tokens of a block,): the token at each place, -1 for padding.
        axes: Arrays (places,), for each axis (begin, end, key): the query at place p attends to keys with begin[p] <= key < end[p].
        tables: The visited blocks of each Q block and of each KV block, in compressed rows (natten_sim._tables).
        pairs: Of a mask that is known pair by pair: which pairs of its partial blocks attend.
            Without axes and pairs blocks are all that is known, and all of their pairs attend.
        turns: Of each axis that is cyclic, the tokens of a turn; 0 for others, and empty without any. A query attends to
            keys of its range a turn before and after too; padding, with key -1, attends to nothing.
    """

    q_block: int
    kv_block: int
    q_tokens: npt.NDArray[np.int64]
    kv_tokens: npt.NDArray[np.int64]
    axes: tuple[tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], npt.NDArray[np.int64]], ...]
    tables: TileTables = dataclasses.field(repr=False)
    pairs: Pairs | None = None
    turns: tuple[int, ...] = ()

    @property
    def q_blocks(self) -> int:
        """Q blocks of one head: rows of the table."""
        return int(self.tables["q_tiles"])

    @property
    def kv_blocks(self) -> int:
        """KV blocks of one head: columns of the table."""
        return int(self.tables["kv_tiles"])

    @property
    def visited(self) -> int:
        """Pairs of blocks that attend."""
        return len(self.tables["of_q"]["columns"])

    @property
    def full(self) -> int:
        """Visited pairs of which every pair of tokens attends, and whose KV block has no padding."""
        return int(np.count_nonzero(self.tables["of_q"]["full"]))

    def blocks(self, of: Literal["q", "kv"] = "q", *, full: bool, compact: bool | None = None) -> Blocks:
        """The KV blocks of each Q block, or the Q blocks of each KV block.

        Args:
            of: q: a row a Q block; kv: a row a KV block.
            full: Those of which every pair attends, or the partial ones.
            compact: As wide as the longest row, not as all columns [for tables above 2^26 entries].

        Returns:
            Counts (rows,) and columns (rows, width), int32.

        Raises:
            MemoryError: There is no room for the table.
        """
        side = self.tables["of_q"] if of == "q" else self.tables["of_kv"]
        rows = len(side["offsets"]) - 1
        chosen = side["full"].astype(bool) == full
        row_of = np.repeat(np.arange(rows), np.diff(side["offsets"]))[chosen]
        columns = side["columns"][chosen]
        counts = np.bincount(row_of, minlength=rows).astype(np.int32)
        width = self.kv_blocks if of == "q" else self.q_blocks
        if compact or (compact is None and rows * width > _WIDEST_TABLE):
            width = max(1, int(counts.max(initial=0)))
        table = np.zeros((rows, width), dtype=np.int32)
        first = np.cumsum(counts) - counts
        table[row_of, np.arange(len(row_of)) - first[row_of]] = columns
        return Blocks(counts, table)

    def dense_mask(self) -> npt.NDArray[np.bool_]:
        """Which key each query attends to. For tests: it is as large as the mask.

        Returns:
            (queries, keys) of booleans, tokens in row-major order.
        """
        attends = np.ones((len(self.q_tokens), len(self.kv_tokens)), dtype=bool)
        for (begin, end, key), turn in zip(self.axes, self._turns(), strict=True):
            attends &= _in_range(begin[:, None], end[:, None], key, turn)
        if not self.axes:
            attends = self._pairs_of_blocks()
        mask = np.zeros((self.q_tokens.max() + 1, self.kv_tokens.max() + 1), dtype=bool)
        queries, keys = self.q_tokens >= 0, self.kv_tokens >= 0
        mask[np.ix_(self.q_tokens[queries], self.kv_tokens[keys])] = attends[np.ix_(queries, keys)]
        return mask

    def _pairs_of_blocks(self) -> npt.NDArray[np.bool_]:
        side = self.tables["of_q"]
        rows = np.repeat(np.arange(self.q_blocks), np.diff(side["offsets"]))
        inside = np.zeros((self.q_blocks, self.kv_blocks, self.q_block, self.kv_block), dtype=bool)
        inside[rows, side["columns"]] = True
        if self.pairs is not None:
            partial = side["full"] == 0
            rows, columns = rows[partial], side["columns"][partial]
            inside[rows, columns] = self.pairs.attends[self.pairs.number[rows, columns]]
        return inside.transpose(0, 2, 1, 3).reshape(len(self.q_tokens), len(self.kv_tokens))

    def _turns(self) -> tuple[int, ...]:
        return self.turns or (0,) * len(self.axes)

    def permute(self, query: Any, key: Any, value: Any) -> tuple[Any, Any, Any]:
        """Copies tokens into tiles; padding repeats the first token.

        Args:
            query: Tensor (.., tokens, head dim), tokens in row-major order.
            key: Tensor (.., keys, head dim).
            value: Tensor (.., keys, head dim of V).

        Returns:
            The three tensors (.., places, head dim).

        Raises:
            IndexError: The tensors have fewer tokens than the plan.
        """
        q_index, kv_index = (self._index(tokens, query.device) for tokens in (self.q_tokens, self.kv_tokens))
        return query.index_select(-2, q_index), key.index_select(-2, kv_index), value.index_select(-2, kv_index)

    def unpermute(self, output: Any) -> Any:
        """Copies tokens back from tiles.

        Args:
            output: Tensor (.., places, head dim).

        Returns:
            Tensor (.., tokens, head dim), tokens in row-major order.

        Raises:
            IndexError: The tensor has fewer places than the plan.
        """
        places = np.empty(self.q_tokens.max() + 1, dtype=np.int64)
        kept = np.nonzero(self.q_tokens >= 0)[0]
        places[self.q_tokens[kept]] = kept
        return output.index_select(-2, self._index(places, output.device))

    def mask_mod(self, device: Any = "cuda") -> Callable[[Any, Any, Any, Any], Any]:
        """FlexAttention's mask function on places: it decides within partial blocks.

        Args:
            device: Of the tensors that it reads, as PyTorch takes one.

        Returns:
            A function of integer tensors (batch, head, query, key) that returns a tensor of booleans.

        Raises:
            ImportError: PyTorch is not installed.
        """
        import torch

        def tensor(values: npt.NDArray[np.int64]) -> Any:
            return torch.from_numpy(values.astype(np.int32)).to(device)

        axes = [tuple(tensor(values) for values in axis) for axis in self.axes]
        turns = self._turns()
        if self.pairs is not None:
            return self._mask_mod_of_pairs(device)

        def attends(batch: Any, head: Any, query: Any, key: Any) -> Any:
            inside = query >= 0
            for (begin, end, place), turn in zip(axes, turns, strict=True):
                inside = inside & _in_range(begin[query], end[query], place[key], turn)
            return inside

        return attends

    def _mask_mod_of_pairs(self, device: Any) -> Callable[[Any, Any, Any, Any], Any]:
        import torch

        assert self.pairs is not None
        number = torch.from_numpy(self.pairs.number).to(device)
        # Blocks that are not partial are not asked; where there is none, the tensor still needs a row.
        held = self.pairs.attends if len(self.pairs.attends) else np.ones((1, self.q_block, self.kv_block), dtype=bool)
        pairs = torch.from_numpy(held).to(device)

        def attends(batch: Any, head: Any, query: Any, key: Any) -> Any:
            block = number[query // self.q_block, key // self.kv_block]
            return pairs[block, query % self.q_block, key % self.kv_block]

        return attends

    def block_mask(
        self,
        device: Any = "cuda",
        *,
        mask_mod: Callable[[Any, Any, Any, Any], Any] | None = None,
        dq_order: DqOrder | None = None,
        workers: int | None = None,
        compact: bool | None = None,
    ) -> Any:
        """PyTorch's BlockMask of both passes, from the tables: no mask of token pairs is ever made.

        Args:
            device: Where its tensors live, as PyTorch takes one.
            mask_mod: Instead of `mask_mod(device)`, for partial blocks of your own.
            dq_order: Order of a deterministic backward pass, where this PyTorch takes one: see dq_write_order().
            workers: Workgroups that run at a time, for dq_order="best" [one a KV block].
            compact: Tables as wide as their longest row [for tables above 2^26 entries].

        Returns:
            torch.nn.attention.flex_attention.BlockMask of one head and batch element, which PyTorch broadcasts.

        Raises:
            Error: This PyTorch takes no order, or there is no such order.
            ImportError: PyTorch is not installed.
        """
        import torch
        from torch.nn.attention.flex_attention import BlockMask

        def tensors(of: Literal["q", "kv"], full: bool) -> tuple[Any, Any]:
            blocks = self.blocks(of, full=full, compact=compact)
            counts, columns = torch.from_numpy(blocks.counts), torch.from_numpy(blocks.columns)
            return counts[None, None].to(device), columns[None, None].to(device)

        order: dict[str, Any] = {}
        if dq_order is not None:
            _require_dq_order(BlockMask)
            found = self.dq_write_order(dq_order, workers=workers, compact=compact)
            tables = {"dq_write_order": found.partial, "dq_write_order_full": found.full}
            if isinstance(dq_order, str) and dq_order != "best":  # which kernels know by name
                order["dq_kv_order_spt"] = dq_order == "descending"
            else:
                tables["dq_kv_order"] = found.kv_order
            for name, values in tables.items():
                order[name] = torch.from_numpy(values)[None, None].to(device)
        return BlockMask(
            (len(self.q_tokens), len(self.kv_tokens)),
            *tensors("q", full=False),
            *tensors("q", full=True),
            *tensors("kv", full=False),
            *tensors("kv", full=True),
            BLOCK_SIZE=(self.q_block, self.kv_block),
            mask_mod=mask_mod or self.mask_mod(device),
            **order,
        )

    def kernel_options(self) -> dict[str, int]:
        """FlexAttention's `kernel_options` with tiles that divide these blocks.

        PyTorch chooses its tiles without looking at the mask, and then refuses blocks that they do not divide: give
        these for blocks below 128 tokens.

        Returns:
            Tokens of the tiles of both passes, by PyTorch's names.

        Raises:
            Error: A block is not a multiple of 16 tokens, the least tile.
        """
        q, kv = (min(64, block & -block) for block in (self.q_block, self.kv_block))
        for name, block, tile in (("q_tile", self.q_block, q), ("kv_tile", self.kv_block, kv)):
            if tile < 16:
                raise Error(f"{name}: {block} tokens is not valid; accepted: a multiple of 16 tokens", name, str(block),
                            "a multiple of 16 tokens", str(max(16, round(block / 16) * 16)))
        both = min(q, kv)
        return {"BLOCK_M": q, "BLOCK_N": kv, **dict.fromkeys(("BLOCK_M1", "BLOCK_N1", "BLOCK_M2", "BLOCK_N2"), both)}

    def dq_write_order(
        self,
        order: DqOrder = "best",
        *,
        workers: int | None = None,
        compute: float = 1,
        reduce: float = 1,
        heads: int = 1,
        compact: bool | None = None,
    ) -> DqWriteOrder:
        """Ranks of the additions to dQ when KV blocks begin in some order, and each takes its partial blocks first.

        No such order can hang: a KV block waits only for blocks that began before it.

        Args:
            order: ascending, descending, a permutation of the KV blocks, or best: whichever of those that
                schedule() makes ends first under these rules.
            workers: Workgroups that run at a time; with them every order is simulated [one a KV block].
            compute, reduce: Costs of a block's products and of its addition, in any unit, 0 or more.
            heads: Heads of a section of the launch, 1 or more: each KV block begins in all of them before the next,
                as FlashAttention-4 launches heads that its L2 holds.
            compact: Tables as wide as their longest row [for tables above 2^26 entries].

        Returns:
            Arrays of int32; the makespan is in the unit of the costs.

        Raises:
            Error: The order is none of these.
        """
        from natten_sim._dq_order import best_order, makespan_of

        costs = {"compute": compute, "reduce": reduce}
        timed = None
        if isinstance(order, str) and order == "best":
            permutation, timed = best_order(self.tables, workers, costs, heads)
        elif isinstance(order, str):
            if order not in ("ascending", "descending"):
                raise Error(f"dq_order: unknown name '{order}'; accepted: ascending, descending, best, a permutation",
                            "dq_order", order, "ascending, descending, best, a permutation")
            permutation = np.arange(self.kv_blocks)[:: 1 if order == "ascending" else -1]
        else:
            permutation = np.asarray(order)
            if sorted(permutation.tolist()) != list(range(self.kv_blocks)):
                accepted = f"a permutation of 0..{self.kv_blocks - 1}"
                raise Error(f"dq_order: accepted: {accepted}", "dq_order", str(order), accepted)
        if timed is None and workers is not None:
            timed = makespan_of(self.tables, permutation, workers, costs, heads)
        begins = np.empty(self.kv_blocks, dtype=np.int64)
        begins[permutation] = np.arange(self.kv_blocks)
        ranks = _ranks(self.tables, begins)
        partial, full = (self._beside_blocks(ranks, is_full, compact) for is_full in (False, True))
        return DqWriteOrder(permutation.astype(np.int32), partial, full, timed)

    def _beside_blocks(self, ranks: Integers, full: bool, compact: bool | None) -> npt.NDArray[np.int32]:
        side = self.tables["of_kv"]
        blocks = self.blocks("kv", full=full, compact=compact)
        chosen = side["full"].astype(bool) == full
        row_of = np.repeat(np.arange(self.kv_blocks), np.diff(side["offsets"]))[chosen]
        first = np.cumsum(blocks.counts) - blocks.counts
        table = np.zeros_like(blocks.columns)
        table[row_of, np.arange(len(row_of)) - first[row_of]] = ranks[chosen]
        return table

    @staticmethod
    def _index(tokens: npt.NDArray[np.int64], device: Any) -> Any:
        import torch

        return torch.from_numpy(np.maximum(tokens, 0)).to(device)


def _in_range(begin: Any, end: Any, key: Any, turn: int) -> Any:
    """Whether keys are within begin .. end-1, on a cycle of `turn` tokens a turn before or after them too."""
    inside = (begin <= key) & (key < end)
    if turn:
        inside = inside | ((begin <= key - turn) & (key - turn < end)) | ((begin <= key + turn) & (key + turn < end))
        inside = inside & (key >= 0)
    return inside


def _require_dq_order(block_mask: Any) -> None:
    """Raises Error unless this PyTorch's BlockMask takes the order of a deterministic backward pass."""
    if "dq_write_order" not in inspect.signature(block_mask.__init__).parameters:
        accepted = "None: this PyTorch's BlockMask takes no order; 2.15 does"
        raise Error(f"dq_order: accepted: {accepted}", "dq_order", "an order", accepted)


def _ranks(tables: TileTables, begins: Integers) -> Integers:
    """For each visited pair, by KV block: how many KV blocks of its Q block begin before this one."""
    of_q, of_kv = tables["of_q"], tables["of_kv"]
    rows = np.repeat(np.arange(len(of_q["offsets"]) - 1), np.diff(of_q["offsets"]))
    by_row = np.lexsort((begins[of_q["columns"]], rows))
    rank = np.empty(len(rows), dtype=np.int64)
    rank[by_row] = np.arange(len(rows)) - of_q["offsets"][rows[by_row]]
    # The same pairs by KV block, Q blocks ascending in each.
    assert len(of_kv["columns"]) == len(rows)
    by_column = np.lexsort((rows, of_q["columns"]))
    return np.asarray(rank[by_column])


def plan(
    *,
    mask: str | TokenRule | npt.ArrayLike | None = None,
    token_mask: npt.ArrayLike | None = None,
    seqlen_q: int | None = None,
    seqlen_k: int | None = None,
    q_tile: Tile | None = None,
    kv_tile: Tile | None = None,
    **keywords: Any,
) -> Plan:
    """The blocks of neighborhood attention (keywords of count()), or of a mask over sequences.

    Args:
        mask: full, causal, window:L,R, document:LEN,LEN,.., varlen:RULE:LEN,.. (a rule within each document, as
            varlen:causal:300,500) or a matrix of blocks (0 skipped, 1 partial, 2 full); causal and window align the
            ends of both sequences. Or a function (batch, head, query, key) as
            FlexAttention takes one, which is evaluated on NumPy arrays for every pair of tokens, with batch and
            head 0. None: neighborhood attention.
        token_mask: A matrix (queries, keys) of booleans instead: any mask at all.
        seqlen_q, seqlen_k: Tokens, with `mask` [as many keys as queries].
        q_tile, kv_tile: Tokens of a block; with `mask` one number each [128].
        **keywords: input, window, stride, dilation, causal, cyclic, preset, backend, .. as count() takes them.

    Returns:
        The plan: of neighborhood attention in O(visited blocks) time and memory.

    Raises:
        Error: A value is out of its range, or contradicts another one.
        TypeError: A keyword does not go with the mask.

    Source:
        docs/tile-rules.md derives the tables; tests compare them with masks pair by pair.
    """
    if mask is None and token_mask is None:
        found = _core.tile_tables(q_tile=q_tile, kv_tile=kv_tile, **keywords)
        masked = without_full_padding(found, found["kv_tokens"], found["kv_tile"])
        return Plan(found["q_tile"], found["kv_tile"], found["q_tokens"], found["kv_tokens"], tuple(found["axes"]), masked,
                    turns=tuple(found["turns"]) if any(found["turns"]) else ())
    if keywords:
        raise TypeError(f"plan() got unexpected keyword arguments with a mask: {', '.join(keywords)}")
    q_block, kv_block = _block("q_tile", q_tile), _block("kv_tile", kv_tile)
    if mask is None or callable(mask):
        return _plan_of_pairs(mask, token_mask, seqlen_q, seqlen_k, q_block, kv_block)
    if not isinstance(mask, str):
        blocks = np.ascontiguousarray(mask)
        if blocks.ndim != 2:
            accepted = "a matrix (Q blocks, KV blocks) with 0 skipped, 1 partial, 2 full"
            raise Error(f"mask: an array {blocks.shape} is not valid; accepted: {accepted}", "mask", str(blocks.shape), accepted)
        seqlen_q, seqlen_k = blocks.shape[0] * q_block, blocks.shape[1] * kv_block
        mask = blocks
    queries, keys = _lengths(seqlen_q, seqlen_k)
    if isinstance(mask, str) and mask.startswith("varlen:"):  # where schedule() has tiles of each document
        bounds = bounds_of(mask, queries, keys)
        if (len(bounds[0]), int(bounds[1].max())) != (queries, keys):
            accepted = f"lengths whose sums are {queries} queries and {keys} keys"
            raise Error(f"mask: '{mask}' is not valid; accepted: {accepted}", "mask", mask, accepted)
        tables = tables_of_bounds(bounds, keys, q_block, kv_block)
    else:
        tables = _core.sequence_tables(mask, queries, keys, q_block, kv_block)
    places = (padded(queries, tables["q_tiles"] * q_block), padded(keys, tables["kv_tiles"] * kv_block))
    axes = (sequence_axis(mask, queries, keys, places),) if isinstance(mask, str) else ()
    return Plan(q_block, kv_block, *places, axes, without_full_padding(tables, places[1], kv_block))


def _block(name: str, tile: Tile | None) -> int:
    """Tokens of a block of a sequence."""
    return 128 if tile is None else _tokens(name, tile)


def _tokens(name: str, given: object) -> int:
    accepted = "one number of tokens, 1 or more"
    try:
        tokens = operator.index(given)  # type: ignore[arg-type]
    except TypeError:
        tokens = 0
    if tokens < 1:
        raise Error(f"{name}: {given} is not valid; accepted: {accepted}", name, str(given), accepted, "128")
    return tokens


def _lengths(seqlen_q: int | None, seqlen_k: int | None) -> tuple[int, int]:
    if seqlen_q is None:
        raise Error("seqlen_q: missing; accepted: the tokens of the queries", "seqlen_q", "none", "the tokens")
    return _tokens("seqlen_q", seqlen_q), _tokens("seqlen_k", seqlen_q if seqlen_k is None else seqlen_k)


def _plan_of_pairs(
    rule: TokenRule | None, matrix: Any, seqlen_q: int | None, seqlen_k: int | None, q_block: int, kv_block: int
) -> Plan:
    if rule is None:
        rule, queries, keys = rule_of_matrix(matrix)
    else:
        queries, keys = _lengths(seqlen_q, seqlen_k)
    tables, pairs = tables_of_rule(rule, queries, keys, q_block, kv_block)
    places = (padded(queries, tables["q_tiles"] * q_block), padded(keys, tables["kv_tiles"] * kv_block))
    return Plan(q_block, kv_block, *places, (), tables, pairs)
