"""Plans for other libraries: their tables against the mask pair by pair, their hooks against plain counts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import hypothesis.strategies as st
import natten_sim
import numpy as np
import pytest
from conftest import ABSENT, Program
from hypothesis import given, settings
from natten_sim._dq_order import table_of
from test_brute_force import axes, axis_mask, keywords_of


def brute_mask(problem: list[tuple[int, ...]]) -> Any:
    """(tokens, tokens), row-major."""
    dense = np.ones((1, 1), dtype=bool)
    for length, window, stride, dilation, kind, _, _ in problem:
        dense = np.kron(dense, axis_mask(length, window, stride, dilation, kind))
    return dense


def in_places(plan: natten_sim.flex.Plan, mask: Any) -> Any:
    """A mask of tokens as one of places: padding attends to nothing and is seen by nobody."""
    queries, keys = plan.q_tokens, plan.kv_tokens
    return mask[np.ix_(np.maximum(queries, 0), np.maximum(keys, 0))] & (queries >= 0)[:, None] & (keys >= 0)


def check_blocks(plan: natten_sim.flex.Plan, mask: Any) -> None:
    """Every block is visited iff a pair attends, and full iff every query in it attends to every place of a key."""
    places = in_places(plan, mask).reshape(plan.q_blocks, plan.q_block, plan.kv_blocks, plan.kv_block)
    queries = (plan.q_tokens >= 0).reshape(plan.q_blocks, plan.q_block, 1, 1)
    some = places.any(axis=(1, 3))
    every = (places | ~queries).all(axis=(1, 3)) & some
    for is_full, expected in ((True, every), (False, some & ~every)):
        for of, blocks_of in (("q", expected), ("kv", expected.T)):
            for compact in (False, True):
                blocks = plan.blocks(of, full=is_full, compact=compact)  # type: ignore[arg-type]
                assert blocks.counts.tolist() == blocks_of.sum(axis=1).tolist()
                for row, count in enumerate(blocks.counts):
                    assert blocks.columns[row, :count].tolist() == np.nonzero(blocks_of[row])[0].tolist()
    assert (plan.visited, plan.full) == (some.sum(), every.sum())
    check_kernel_semantics(plan, mask)


def check_kernel_semantics(plan: natten_sim.flex.Plan, mask: Any) -> None:
    """What a kernel attends to that masks nothing in full blocks, and asks the rule in partial ones."""
    import torch

    numbers = torch.arange(len(plan.q_tokens)), torch.arange(len(plan.kv_tokens))
    rule = np.asarray(plan.mask_mod("cpu")(0, 0, numbers[0][:, None], numbers[1][None]))
    attended = np.zeros(rule.shape, dtype=bool)
    for is_full in (False, True):
        blocks = plan.blocks(full=is_full)
        for row, count in enumerate(blocks.counts):
            for column in blocks.columns[row, :count]:
                block = np.s_[row * plan.q_block : (row + 1) * plan.q_block, column * plan.kv_block : (column + 1) * plan.kv_block]
                attended[block] = True if is_full else rule[block]
    queries = plan.q_tokens >= 0
    assert (attended[queries] == in_places(plan, mask)[queries]).all()


def test_advice_on_a_cyclic_axis_has_blocks_that_visit_what_count_says() -> None:
    problem: dict[str, Any] = {"input": (64, 128), "cyclic": (False, True)}
    advice = natten_sim.advise(**problem, heads=8, head_dim=64, device="h100").to_dict()["result"]["devices"][0]
    assert len(advice["choices"]) == 3
    for choice in advice["choices"]:
        shape: dict[str, Any] = {name: tuple(choice[name]) for name in ("window", "stride", "q_tile", "kv_tile")}
        plan = eval(choice["flex_plan"], {"natten_sim": natten_sim})
        assert plan.visited == natten_sim.count(**problem, **shape).visited_tiles
        assert "around(query)" in choice["natten_call"]


@settings(max_examples=80)
@given(st.lists(axes(most_dilation=3), min_size=1, max_size=3).filter(lambda p: np.prod([axis[0] for axis in p]) < 600))
def test_neighborhood_blocks_are_those_of_the_mask(problem: list[tuple[int, ...]]) -> None:
    plan = natten_sim.flex.plan(**keywords_of(problem))
    mask = brute_mask(problem)
    tokens = mask.shape[0]
    assert sorted(plan.q_tokens[plan.q_tokens >= 0].tolist()) == list(range(tokens))
    assert sorted(plan.kv_tokens[plan.kv_tokens >= 0].tolist()) == list(range(tokens))
    assert (plan.dense_mask() == mask).all()
    check_blocks(plan, mask)


def sequence_mask(kind: str, queries: int, keys: int, left: int, right: int, lengths: list[int]) -> Any:
    query, key = np.arange(queries)[:, None] + keys - queries, np.arange(keys)[None]
    if kind == "document":
        number = np.repeat(np.arange(len(lengths)), lengths)
        return number[:, None] == number[None]
    if kind == "causal":
        return key <= query
    return (key >= query - left) & (key <= query + right) if kind == "window" else (key >= 0) & (query == query)


@given(st.sampled_from(["full", "causal", "window", "document"]), st.integers(1, 60), st.integers(0, 30),
       st.integers(0, 9), st.integers(0, 9), st.lists(st.integers(1, 20), min_size=1, max_size=5),
       st.integers(1, 9), st.integers(1, 9))
def test_sequence_blocks_are_those_of_the_mask(
    kind: str, queries: int, more: int, left: int, right: int, lengths: list[int], q_tile: int, kv_tile: int
) -> None:
    keys = queries + more
    if kind == "document":
        queries = keys = sum(lengths)
    text = {"window": f"window:{left},{right}", "document": f"document:{','.join(map(str, lengths))}"}.get(kind, kind)
    plan = natten_sim.flex.plan(mask=text, seqlen_q=queries, seqlen_k=keys, q_tile=q_tile, kv_tile=kv_tile)
    mask = sequence_mask(kind, queries, keys, left, right, lengths)
    assert (plan.dense_mask() == mask).all()
    check_blocks(plan, mask)


@given(st.integers(1, 40), st.integers(1, 40), st.integers(1, 9), st.integers(1, 9), st.integers(0, 2**32 - 1))
def test_any_mask_of_tokens_has_its_blocks(queries: int, keys: int, q_tile: int, kv_tile: int, seed: int) -> None:
    random = np.random.default_rng(seed)
    # Coarse cells, so that some blocks are full and some are empty.
    cells = random.random((8, 8)) < random.random()
    mask = cells[np.arange(queries)[:, None] // 6 % 8, np.arange(keys)[None] // 6 % 8] ^ (random.random((queries, keys)) < 0.02)
    plan = natten_sim.flex.plan(token_mask=mask, q_tile=q_tile, kv_tile=kv_tile)
    assert (plan.dense_mask() == mask).all()
    check_blocks(plan, mask)


@given(st.sampled_from(["full", "causal", "window"]), st.lists(st.tuples(st.integers(1, 20), st.integers(0, 9)), min_size=1, max_size=5),
       st.integers(0, 9), st.integers(0, 9), st.integers(1, 9), st.integers(1, 9))
def test_a_rule_within_each_document_is_a_mask(
    rule: str, lengths: list[tuple[int, int]], left: int, right: int, q_tile: int, kv_tile: int
) -> None:
    text = f"window:{left},{right}:" if rule == "window" else "causal:" if rule == "causal" else ""
    documents = [(queries, queries + more) for queries, more in lengths]
    mask = np.zeros(tuple(map(sum, zip(*documents, strict=True))), dtype=bool)
    row = column = 0
    for queries, keys in documents:
        mask[row : row + queries, column : column + keys] = sequence_mask(rule, queries, keys, left, right, [])
        row, column = row + queries, column + keys
    plan = natten_sim.flex.plan(mask=f"varlen:{text}{','.join(f'{queries}x{keys}' for queries, keys in documents)}",
                                seqlen_q=row, seqlen_k=column, q_tile=q_tile, kv_tile=kv_tile)
    assert (plan.dense_mask() == mask).all()
    check_blocks(plan, mask)


@pytest.mark.parametrize(("keywords", "parameter"), [
    ({"mask": "causal", "seqlen_q": 300.5}, "seqlen_q"), ({"mask": "causal", "seqlen_q": 0}, "seqlen_q"),
    ({"mask": "causal", "seqlen_q": 8, "seqlen_k": -1}, "seqlen_k"), ({"mask": "causal", "seqlen_q": 8, "q_tile": 0}, "q_tile"),
    ({"mask": "causal", "seqlen_q": 8, "kv_tile": (8, 8)}, "kv_tile"), ({"mask": [1, 0]}, "mask"), ({"mask": "gna:i=16,w=4", "seqlen_q": 16}, "mask"),
])
def test_a_wrong_plan_names_its_keyword(keywords: dict[str, Any], parameter: str) -> None:
    with pytest.raises(natten_sim.Error) as raised:
        natten_sim.flex.plan(**keywords)
    assert raised.value.parameter == parameter and raised.value.accepted


def test_a_function_of_tokens_is_a_mask() -> None:
    def dilated(batch: Any, head: Any, query: Any, key: Any) -> Any:
        return (key <= query) & ((query - key) % 3 == 0)

    plan = natten_sim.flex.plan(mask=dilated, seqlen_q=100, seqlen_k=130, q_tile=16, kv_tile=8)
    mask = dilated(0, 0, np.arange(100)[:, None], np.arange(130)[None])
    assert (plan.dense_mask() == mask).all()
    check_blocks(plan, mask)
    for wrong in (mask.astype(int), mask[0], mask[:0]):
        with pytest.raises(natten_sim.Error, match="of booleans"):
            natten_sim.flex.plan(token_mask=wrong)
    with pytest.raises(natten_sim.Error, match="seqlen_q"):
        natten_sim.flex.plan(mask=dilated)


def test_a_pytorch_without_an_order_refuses_it(monkeypatch: pytest.MonkeyPatch) -> None:
    import torch.nn.attention.flex_attention as flex_attention

    class BlockMask:
        def __init__(self, seq_lengths: Any, *tables: Any, BLOCK_SIZE: Any, mask_mod: Any) -> None:  # noqa: N803
            self.seq_lengths = seq_lengths

    monkeypatch.setattr(flex_attention, "BlockMask", BlockMask)
    plan = natten_sim.flex.plan(mask="causal", seqlen_q=512)
    assert plan.block_mask("cpu").seq_lengths == (512, 512)
    with pytest.raises(natten_sim.Error, match="takes no order"):
        plan.block_mask("cpu", dq_order="best")


def test_tokens_go_into_tiles_and_back() -> None:
    import torch

    plan = natten_sim.flex.plan(input=(5, 7), window=(3, 3), q_tile=(2, 4), kv_tile=(3, 2))
    tensor = torch.arange(35 * 4).reshape(1, 1, 35, 4)
    query, key, value = plan.permute(tensor, tensor, 2 * tensor)
    assert query.shape[-2] == 3 * 2 * 8 and key.shape[-2] == 2 * 4 * 6
    assert (plan.unpermute(query) == tensor).all()
    # The first Q tile holds rows 0, 1 of columns 0..3.
    assert query[0, 0, :8, 0].tolist() == [4 * token for token in (0, 1, 2, 3, 7, 8, 9, 10)]
    assert (value == 2 * key).all()


def test_a_block_mask_has_both_passes_and_the_token_rule() -> None:
    import torch

    plan = natten_sim.flex.plan(input=(6, 9), window=(3, 4), stride=(2, 1), q_tile=(2, 4), kv_tile=(2, 2))
    mask = plan.block_mask("cpu")
    assert tuple(mask.seq_lengths) == (len(plan.q_tokens), len(plan.kv_tokens)) and tuple(mask.BLOCK_SIZE) == (8, 4)
    assert tuple(mask.kv_indices.shape) == (1, 1, plan.q_blocks, plan.kv_blocks)
    assert tuple(mask.q_indices.shape) == (1, 1, plan.kv_blocks, plan.q_blocks)
    assert int(mask.kv_num_blocks.sum() + mask.full_kv_num_blocks.sum()) == plan.visited
    assert int(mask.q_num_blocks.sum() + mask.full_q_num_blocks.sum()) == plan.visited
    queries, keys = torch.arange(len(plan.q_tokens)), torch.arange(len(plan.kv_tokens))
    attends = np.asarray(mask.mask_mod(0, 0, queries[:, None], keys[None]))
    assert (attends == in_places(plan, plan.dense_mask())).all()


@given(st.lists(axes(most_dilation=2), min_size=1, max_size=2), st.randoms())
def test_dq_ranks_count_the_blocks_that_began_before(problem: list[tuple[int, ...]], random: Any) -> None:
    plan = natten_sim.flex.plan(**keywords_of(problem))
    permutation = list(range(plan.kv_blocks))
    random.shuffle(permutation)
    order = plan.dq_write_order(permutation)
    visits: dict[int, list[int]] = {}
    ranks: dict[tuple[int, int], int] = {}
    for is_full, table in ((False, order.partial), (True, order.full)):
        blocks = plan.blocks("kv", full=is_full)
        for kv in range(plan.kv_blocks):
            for i, q in enumerate(blocks.columns[kv, : blocks.counts[kv]]):
                visits.setdefault(int(q), []).append(kv)
                ranks[int(q), kv] = int(table[kv, i])
    for q, contributors in visits.items():
        for rank, kv in enumerate(sorted(contributors, key=permutation.index)):
            assert ranks[q, kv] == rank


def test_a_block_mask_carries_the_order() -> None:
    plan = natten_sim.flex.plan(mask="window:200,0", seqlen_q=1024, q_tile=64, kv_tile=64)
    for order, spt in (("ascending", False), ("descending", True)):
        mask = plan.block_mask("cpu", dq_order=order)  # type: ignore[arg-type]
        assert (mask.dq_kv_order, mask.dq_kv_order_spt) == (None, spt)
        assert tuple(mask.dq_write_order.shape) == tuple(mask.q_indices.shape)
        assert tuple(mask.dq_write_order_full.shape) == tuple(mask.full_q_indices.shape)
    best = plan.block_mask("cpu", dq_order="best", workers=5)
    assert best.dq_kv_order_spt is None and sorted(best.dq_kv_order[0, 0].tolist()) == list(range(16))


@pytest.mark.skipif("torch" in ABSENT, reason="needs PyTorch 2.15")
@pytest.mark.parametrize("mask", ["causal", "window:200,0", "document:300,100,600", "full"])
def test_plain_orders_are_those_that_pytorch_computes(mask: str) -> None:
    import torch.nn.attention.flex_attention as flex_attention

    theirs_of = getattr(flex_attention, "_compute_dq_write_order_from_block_mask", None)
    if theirs_of is None:
        pytest.skip("this PyTorch computes no order")
    plan = natten_sim.flex.plan(mask=mask, seqlen_q=1000, q_tile=64, kv_tile=64)
    for order, spt in (("ascending", False), ("descending", True)):
        ours = plan.block_mask("cpu", dq_order=order)  # type: ignore[arg-type]
        theirs = theirs_of(ours, dq_kv_order=spt)
        for counts, mine, other in ((ours.q_num_blocks, ours.dq_write_order, theirs[0]),
                                    (ours.full_q_num_blocks, ours.dq_write_order_full, theirs[1])):
            for row, count in enumerate(counts[0, 0].tolist()):
                assert mine[0, 0, row, :count].tolist() == other[0, 0, row, :count].tolist()


def test_the_best_dq_order_is_no_worse_than_the_plain_ones() -> None:
    plan = natten_sim.flex.plan(mask="causal", seqlen_q=2048)
    costs: dict[str, Any] = {"compute": 7, "reduce": 2, "workers": 5}
    best, ascending, descending = (plan.dq_write_order(order, **costs).makespan
                                   for order in ("best", "ascending", "descending"))
    found = plan.dq_write_order("best", **costs)
    assert plan.dq_write_order(found.kv_order, **costs).makespan == best
    assert best is not None and ascending is not None and descending is not None
    assert best <= min(ascending, descending) and best < ascending
    # 136 visited pairs of 9 units on 5 workers cannot end before 244.8.
    assert best >= 136 * 9 / 5
    with pytest.raises(natten_sim.Error, match="permutation of 0..15"):
        plan.dq_write_order([0, 1])
    with pytest.raises(natten_sim.Error, match="ascending, descending, best"):
        plan.dq_write_order("random")  # type: ignore[arg-type]


def test_kernel_options_divide_the_blocks() -> None:
    options = natten_sim.flex.plan(mask="causal", seqlen_q=960, q_tile=96, kv_tile=256).kernel_options()
    assert options == {"BLOCK_M": 32, "BLOCK_N": 64, "BLOCK_M1": 32, "BLOCK_N1": 32, "BLOCK_M2": 32, "BLOCK_N2": 32}
    with pytest.raises(natten_sim.Error) as raised:
        natten_sim.flex.plan(input=(10, 10), window=(5, 5), q_tile=(5, 5), kv_tile=(4, 4)).kernel_options()
    assert (raised.value.parameter, raised.value.hint) == ("q_tile", "32")


def test_flash4_tensors_are_compact_and_their_blocks_are_checked() -> None:
    plan = natten_sim.flex.plan(mask="window:300,0", seqlen_q=4096, q_tile=256)
    forward = natten_sim.flash4.forward(plan, "cpu")
    assert forward.block_size == (256, 128)
    assert tuple(forward.mask_block_cnt.shape) == (1, 1, 16)
    assert forward.mask_block_idx.shape[-1] == int(forward.mask_block_cnt.max()) < plan.kv_blocks
    backward = natten_sim.flash4.backward(plan, "cpu", dq_order="descending")
    assert backward.spt is True
    assert backward.dq_write_order.shape == backward.mask_block_idx.shape
    assert backward.dq_write_order_full.shape == backward.full_block_idx.shape
    with pytest.raises(natten_sim.Error) as raised:
        natten_sim.flash4.forward(natten_sim.flex.plan(mask="causal", seqlen_q=4096))
    assert (raised.value.parameter, raised.value.hint) == ("q_tile", "256")
    with pytest.raises(natten_sim.Error, match="kv_tile: 64"):
        natten_sim.flash4.forward(natten_sim.flex.plan(mask="causal", seqlen_q=4096, q_tile=256, kv_tile=64))
    wide = natten_sim.flex.plan(mask="causal", seqlen_q=4096, q_tile=256, kv_tile=256)
    assert natten_sim.flash4.forward(wide, "cpu").block_size == (256, 256)  # Blackwell, by q_stage
    assert natten_sim.flash4.backward(wide, "cpu", kv_subtiles=True).block_size == (256, 256)
    refusals: list[Callable[[], object]] = [lambda: natten_sim.flash4.forward(wide, "cpu", q_stage=1),
                                            lambda: natten_sim.flash4.backward(wide, "cpu")]
    for refused in refusals:
        with pytest.raises(natten_sim.Error, match="kv_tile: 256") as raised:
            refused()
        assert raised.value.hint == "128"


def test_kv_blocks_begin_in_all_heads_of_a_section() -> None:
    matrix = np.full((2, 3), 2, dtype=np.int8)
    table = table_of(matrix, np.array([2, 0, 1]), 2, 4)
    assert [(chain["kv_tile"], chain["head"]) for chain in table["chains"]] == [(2, 0), (2, 1), (0, 0), (0, 1), (1, 0), (1, 1)]


def test_natten_arguments_are_those_of_the_printed_call() -> None:
    answer = natten_sim.count(input=(30, 48, 80), window=(18, 24, 24), stride=(2, 8, 8), device="h100", head_dim=128,
                              backprop=True)
    arguments = natten_sim.natten.kwargs(answer)
    printed = answer.emit().strip().splitlines()[-1]
    assert printed.startswith(f"natten.{natten_sim.natten.function(answer)}(query, key, value, ")

    def na3d(*tensors: str, **keywords: Any) -> dict[str, Any]:
        return keywords

    fake = type("natten", (), {"na3d": staticmethod(na3d)})
    assert arguments == eval(printed, {"natten": fake, "query": "q", "key": "k", "value": "v"})
    assert arguments["stride"] == (2, 8, 8) and "backward_q_tile_shape" in arguments
    with pytest.raises(natten_sim.Error) as raised:
        natten_sim.natten.kwargs(natten_sim.count(input=(64, 64), window=(1, 8), device="h100"))
    assert raised.value.parameter == "kernel_size"
    with pytest.raises(natten_sim.Error) as raised:
        natten_sim.natten.kwargs(natten_sim.count(input=(64, 64), window=(9, 9), cyclic=(False, True)))
    assert raised.value.parameter == "cyclic"


@pytest.mark.parametrize("line", [
    "-i 64 48 -w 16 12 -s 4 2 --q-tile 16 8 --kv-tile 8 8",
    "-i 12 16 20 -w 6 5 8 --dilation 2 1 1 -c 0 1 0 --q-tile 2 4 8 --kv-tile 4 4 4",
    "-i 40 36 -w 9 7 --cyclic 1 0 --kernel flexattention --q-tile 8 8 --kv-tile 8 4",
])
def test_the_script_of_flex_attention_names_the_plan_that_was_counted(line: str, program: Program) -> None:
    script = program.run("count", *line.split(), "--emit", "flex", "--quiet").stdout
    comment = "".join(each.lstrip("#").strip() for each in script.splitlines() if each.startswith("#"))
    call = comment[comment.index("natten_sim.flex.plan("):].removesuffix(".")
    plan = eval(call, {"natten_sim": natten_sim})
    assert plan.visited == program.json(f"count {line}")["result"]["visited_tiles"]
