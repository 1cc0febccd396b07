"""The operators against attention in float64. Skipped, never passed, without an sm_90 GPU and the library."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Iterable
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")
if not hasattr(torch, "cuda") or not torch.cuda.is_available():
    pytest.skip("needs a GPU", allow_module_level=True)
if torch.cuda.get_device_capability() != (9, 0):
    pytest.skip("needs an sm_90 GPU", allow_module_level=True)
ops = pytest.importorskip("natten_sim.ops")
try:
    ops._library.library()
except ops.HardwareAbsent as absent:
    pytest.skip(str(absent), allow_module_level=True)

import natten_sim  # noqa: E402

CUDA = torch.device("cuda")


def draw(shape: tuple[int, ...], seed: int, dtype: Any = None) -> Any:
    generator = torch.Generator(device=CUDA).manual_seed(seed)
    return torch.randn(shape, generator=generator, device=CUDA, dtype=torch.float32).to(dtype or torch.bfloat16)


def poison() -> None:
    """Fills what the allocator hands out next with NaN."""
    blocks = [torch.full((size,), float("nan"), device=CUDA) for size in (1 << 14, 1 << 18, 1 << 20, 1 << 22) for _ in range(4)]
    del blocks


def attended(tensors: Iterable[Any], allowed: Any, scale: float | None = None) -> tuple[Any, Any]:
    """O and LSE of q, k, v in float64; a query without keys gives 0 and -inf. `allowed`: (queries, keys)."""
    q, k, v = tensors
    group = q.shape[1] // k.shape[1]
    q, k, v = q.double(), k.double().repeat_interleave(group, 1), v.double().repeat_interleave(group, 1)
    scores = torch.einsum("bhid,bhjd->bhij", q, k) * (scale or 1 / math.sqrt(q.shape[-1]))
    scores = scores.masked_fill(~allowed, float("-inf"))
    lse = torch.logsumexp(scores, -1)
    weights = torch.where(allowed, torch.exp(scores - lse.masked_fill(lse == float("-inf"), 0)[..., None]), 0)
    return torch.einsum("bhij,bhjd->bhid", weights, v), lse


def band(q_tokens: int, kv_tokens: int, left: int | None, right: int | None) -> Any:
    at = torch.arange(q_tokens, device=CUDA)[:, None] + kv_tokens - q_tokens
    key = torch.arange(kv_tokens, device=CUDA)[None]
    allowed = torch.ones(q_tokens, kv_tokens, dtype=torch.bool, device=CUDA)
    if left is not None:
        allowed &= key >= at - left
    if right is not None:
        allowed &= key <= at + right
    return allowed


def of_documents(lengths: list[int]) -> Any:
    number = torch.repeat_interleave(torch.arange(len(lengths), device=CUDA), torch.tensor(lengths, device=CUDA))
    return number[:, None] == number[None]


def of_axis(length: int, window: int, stride: int, dilation: int, causal: bool) -> Any:
    """NATTEN's rule for one axis, query by query."""
    allowed = torch.zeros(length, length, dtype=torch.bool)
    for query in range(length):
        residue = query % dilation
        tokens = len(range(residue, length, dilation))
        at = query // dilation
        leader = min(at // stride * stride + (stride - 1 if causal else stride // 2), tokens - 1)
        if causal:
            first, end = max(leader - window + 1, 0), at + 1
        else:
            first = min(max(leader - window // 2, 0), tokens - window)
            end = first + window
        for key in range(first, end):
            allowed[query, residue + key * dilation] = True
    return allowed.to(CUDA)


def of_axes(axes: list[tuple[int, int, int, int, bool]]) -> Any:
    """The product over axes, tokens row-major."""
    allowed = torch.ones(1, 1, dtype=torch.bool, device=CUDA)
    for axis in axes:
        allowed = torch.kron(allowed.to(torch.uint8), of_axis(*axis).to(torch.uint8)).bool()
    return allowed


def require_close(name: str, found: Any, expected: Any, bound: float, terms: float = 1e-30) -> None:
    """Everywhere finite, near in norm and nowhere far. `terms`: size of what cancels in an element."""
    found = found.double()
    assert torch.isfinite(found).all(), f"{name}: not finite"
    error = (found - expected).norm() / expected.norm().clamp_min(terms * math.sqrt(expected.numel()))
    assert error < bound, f"{name}: relative error {error:.2e}"
    worst = (found - expected).abs().max() / expected.abs().max().clamp_min(terms)
    assert worst < 8 * bound, f"{name}: worst element off by {worst:.2e} of the largest"


def require_gradients(run: Any, tensors: list[Any], oracle: Any, seed: int, single_key: bool = False) -> None:
    """O and all gradients against float64, with poisoned memory, twice with the same bits. With a single key the
    gradients of Q and K are zero: of each key's dP, about 1 after the scale, the same is taken away again."""
    bound = 6e-3 if tensors[0].dtype == torch.bfloat16 else 1.5e-3
    leaves = [tensor.detach().requires_grad_() for tensor in tensors]
    exact = [tensor.detach().double().requires_grad_() for tensor in tensors]
    expected = oracle(*exact)
    weight = draw(tuple(expected.shape), seed + 99, tensors[0].dtype)
    wanted = torch.autograd.grad(expected, exact, weight.double())
    first = None
    for _ in range(2):
        poison()
        out = run(*leaves)
        found = torch.autograd.grad(out, leaves, weight)
        torch.cuda.synchronize()
        if first is None:
            first = (out, *found)
            require_close("O", out, expected, bound)
            for number, (gradient, want) in enumerate(zip(found, wanted, strict=True)):
                require_close(f"gradient {number}", gradient, want, 2 * bound,
                              1.0 if single_key and number < 2 else 1e-30)
        else:
            assert all(torch.equal(a, b) for a, b in zip(first, (out, *found), strict=True)), "other bits"


SEQUENCES = [
    dict(shape=(1, 2, 2, 256, 256, 128)),
    dict(shape=(2, 4, 2, 300, 300, 64), causal=True),
    dict(shape=(1, 4, 1, 129, 257, 128), causal=True),
    dict(shape=(1, 2, 2, 1, 1, 64)),
    dict(shape=(1, 2, 2, 64, 1, 128)),
    dict(shape=(1, 3, 3, 500, 700, 96)),
    dict(shape=(1, 2, 2, 511, 511, 128), window=(100, 0)),
    dict(shape=(1, 2, 2, 511, 511, 64), window=(70, 33)),
    dict(shape=(2, 8, 2, 640, 640, 128), window=(None, 17)),
    dict(shape=(1, 2, 1, 600, 600, 128), documents=[1, 130, 256, 213]),
    dict(shape=(1, 2, 2, 600, 600, 64), documents=[300, 299, 1], causal=True),
    dict(shape=(2, 2, 2, 512, 512, 96), documents=[128, 128, 256], window=(40, 40)),
    dict(shape=(1, 16, 2, 1024, 1024, 128), causal=True),
    dict(shape=(1, 2, 2, 384, 384, 128), scale=0.3),
]


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16], ids=["bf16", "fp16"])
@pytest.mark.parametrize("layout", ["heads-first", "heads-last", "packed"])
@pytest.mark.parametrize("case", SEQUENCES, ids=lambda case: "-".join(map(str, case["shape"])))
def test_attention_and_its_gradients_are_those_of_float64(case: dict[str, Any], layout: str, dtype: Any) -> None:
    batch, heads, heads_kv, q_tokens, kv_tokens, dim = case["shape"]

    def tensor(tokens: int, of_heads: int, seed: int) -> Any:
        if layout == "heads-first":
            return draw((batch, of_heads, tokens, dim), seed, dtype)
        if layout == "heads-last":
            return draw((batch, tokens, of_heads, dim), seed, dtype).transpose(1, 2)
        return draw((batch, tokens, 3, of_heads, dim), seed, dtype)[:, :, 1].transpose(1, 2)

    tensors = [tensor(q_tokens, heads, 1), tensor(kv_tokens, heads_kv, 2), tensor(kv_tokens, heads_kv, 3)]
    options = {name: value for name, value in case.items() if name != "shape"}
    left, right = case.get("window", (None, None))
    allowed = band(q_tokens, kv_tokens, left, 0 if case.get("causal") else right)
    if "documents" in case:
        allowed &= of_documents(case["documents"])
    require_gradients(lambda *given: ops.attention(*given, **options), tensors,
                      lambda *given: attended(given, allowed, case.get("scale"))[0], seed=4, single_key=kv_tokens == 1)


@pytest.mark.parametrize("seed", range(16))
def test_random_sequences(seed: int) -> None:
    chance = random.Random(seed)
    heads_kv = chance.choice([1, 2, 3])
    heads, dim = heads_kv * chance.choice([1, 2, 4]), chance.choice([64, 96, 128])
    q_tokens, kv_tokens = chance.randrange(1, 900), chance.randrange(1, 900)
    window = (chance.choice([None, chance.randrange(900)]), chance.choice([None, chance.randrange(900)]))
    allowed = band(q_tokens, kv_tokens, *window)
    dtype = chance.choice([torch.bfloat16, torch.float16])
    tensors = [draw((2, of, tokens, dim), seed * 3 + i, dtype)
               for i, (of, tokens) in enumerate([(heads, q_tokens), (heads_kv, kv_tokens), (heads_kv, kv_tokens)])]
    if not allowed.any():
        assert torch.count_nonzero(ops.attention(*tensors, window=window)) == 0
        return
    require_gradients(lambda *given: ops.attention(*given, window=window), tensors,
                      lambda *given: attended(given, allowed)[0], seed)


@pytest.mark.parametrize("dim", [64, 96, 128, 160, 192, 256])
def test_the_log_sum_exp_is_that_of_float64(dim: int) -> None:
    tensors = [draw((1, 2, 333, dim), i) for i in range(3)]
    poison()
    out, lse = ops.attention(*tensors, causal=True, return_lse=True)
    expected, expected_lse = attended(tensors, band(333, 333, None, 0))
    require_close("O", out, expected, 6e-3)
    require_close("LSE", lse, expected_lse, 1e-4)


def test_a_wide_head_has_no_gradient_and_says_so_at_once() -> None:
    tensors = [draw((1, 1, 64, 256), i).requires_grad_() for i in range(3)]
    with pytest.raises(natten_sim.Error, match="64, 96 or 128"):
        ops.attention(*tensors)


NEIGHBORHOODS = [
    dict(input=(300,), window=(65,)),
    dict(input=(512,), window=(128,), stride=(64,), causal=(True,)),
    dict(input=(301,), window=(50,), dilation=(3,)),
    dict(input=(32, 48), window=(8, 16)),
    dict(input=(33, 47), window=(9, 13), stride=(4, 3), causal=(False, True)),
    dict(input=(40, 24), window=(7, 5), dilation=(2, 3)),
    dict(input=(12, 16, 24), window=(6, 8, 8)),
    dict(input=(9, 14, 17), window=(5, 7, 9), stride=(2, 3, 4), causal=(True, False, False)),
    dict(input=(8, 16, 16), window=(4, 8, 8), stride=(4, 8, 8)),
    dict(input=(10, 12, 16), window=(4, 5, 6), extra=37),
    dict(input=(32, 32), window=(16, 16), stride=(16, 8), extra=256),
]


@pytest.mark.parametrize("dim,heads,heads_kv", [(128, 2, 2), (64, 4, 2), (96, 1, 1)])
@pytest.mark.parametrize("case", NEIGHBORHOODS, ids=lambda case: "x".join(map(str, case["input"])))
def test_neighborhoods_and_their_gradients_are_those_of_float64(case: dict[str, Any], dim: int, heads: int,
                                                                heads_kv: int) -> None:
    layout, window = case["input"], case["window"]
    rank, tokens, extra = len(layout), math.prod(case["input"]), case.get("extra", 0)
    stride, dilation = case.get("stride", (1,) * rank), case.get("dilation", (1,) * rank)
    causal = case.get("causal", (False,) * rank)
    allowed = of_axes(list(zip(layout, window, stride, dilation, causal, strict=True)))
    allowed = torch.cat([allowed, torch.ones(tokens, extra, dtype=torch.bool, device=CUDA)], 1)
    tensors = [draw((1, *layout, of, dim), i) for i, of in enumerate((heads, heads_kv, heads_kv))]
    if extra:
        tensors += [draw((1, extra, heads_kv, dim), i) for i in (5, 6)]

    def run(q: Any, k: Any, v: Any, *more: Any) -> Any:
        options = dict(zip(("extra_keys", "extra_values"), more, strict=False))
        return ops.neighborhood_attention(q, k, v, window, stride=stride, dilation=dilation, causal=causal, **options)

    def oracle(q: Any, k: Any, v: Any, *more: Any) -> Any:
        flat = [tensor.flatten(1, rank) for tensor in (q, k, v)]
        for number, tensor in enumerate(more):
            flat[1 + number] = torch.cat([flat[1 + number], tensor], 1)
        return attended((tensor.transpose(1, 2) for tensor in flat), allowed)[0].transpose(1, 2).unflatten(1, layout)

    require_gradients(run, tensors, oracle, seed=7)


@pytest.mark.parametrize("schedule", ["ascending", "descending", "shift", "best"])
def test_the_schedule_decides_no_gradient(schedule: str) -> None:
    tensors = [draw((1, 4, 1024, 128), i) for i in range(3)]
    allowed = band(1024, 1024, None, None)
    require_gradients(lambda *given: ops.attention(*given, schedule=schedule), tensors,
                      lambda *given: attended(given, allowed)[0], seed=3)


def test_a_table_runs_as_the_algorithm_that_made_it() -> None:
    tensors = [draw((1, 2, 512, 128), i).requires_grad_() for i in range(3)]
    mask = np.full((8, 4), 2, dtype=np.int8)
    answer = natten_sim.schedule(mask=mask, algorithm="descending", heads=2, workers=4)
    gradients = [torch.autograd.grad(ops.attention(*tensors, schedule=schedule).sum(), tensors)
                 for schedule in (answer, answer.table())]
    assert all(torch.equal(a, b) for a, b in zip(*gradients, strict=True))
    wrong = natten_sim.schedule(mask=mask[:4], algorithm="descending", heads=2, workers=4)
    with pytest.raises(natten_sim.Error, match="8 x 4 tiles"):
        torch.autograd.grad(ops.attention(*tensors, schedule=wrong).sum(), tensors)


def test_gradcheck_agrees_with_finite_differences() -> None:
    """Steps of a sixteenth are exact in fp16."""
    def doubled(q: Any, k: Any, v: Any) -> Any:
        return ops.attention(q.half(), k.half(), v.half(), causal=True).double()

    tensors = [(draw((1, 1, tokens, 64), i) * 8).round().clamp(-16, 16).double() / 16 for i, tokens in enumerate((3, 4, 4))]
    assert torch.autograd.gradcheck(doubled, [tensor.requires_grad_() for tensor in tensors], eps=1 / 16, atol=2e-2, rtol=2e-2)


def test_work_goes_to_the_current_stream() -> None:
    tensors = [draw((1, 4, 2048, 128), i).requires_grad_() for i in range(3)]
    expected = torch.autograd.grad(ops.attention(*tensors).sum(), tensors)
    stream = torch.cuda.Stream()
    torch.cuda.synchronize()
    with torch.cuda.stream(stream):
        torch.cuda._sleep(int(2e8))
        late = [tensor.detach().clone().requires_grad_() for tensor in tensors]
        found = torch.autograd.grad(ops.attention(*late).sum(), late)
    stream.synchronize()
    assert all(torch.equal(a, b) for a, b in zip(expected, found, strict=True))


def test_a_graph_replays_the_same_bits() -> None:
    tensors = [draw((1, 4, 1024, 128), i) for i in range(3)]
    expected = ops.attention(*tensors, causal=True)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        out = ops.attention(*tensors, causal=True)
    out.fill_(float("nan"))
    graph.replay()
    torch.cuda.synchronize()
    assert torch.equal(out, expected)


@pytest.mark.parametrize("name", ["attention", "neighborhood_attention", "msda"])
def test_compiled_functions_have_no_graph_breaks(name: str) -> None:
    if name == "attention":
        tensors = [draw((1, 2, 320, 128), i) for i in range(3)]
        run = lambda q, k, v: ops.attention(q * 2, k, v, causal=True) + 1  # noqa: E731
    elif name == "neighborhood_attention":
        tensors = [draw((1, 16, 24, 2, 128), i) for i in range(3)]
        run = lambda q, k, v: ops.neighborhood_attention(q * 2, k, v, (8, 8), stride=(4, 4)) + 1  # noqa: E731
    else:
        tensors = [draw((1, 80, 2, 32), 1), draw((1, 7, 2, 2, 4, 2), 2, torch.float32).sigmoid(),
                   draw((1, 7, 2, 2, 4), 3, torch.float32).softmax(-1)]
        run = lambda values, at, weights: ops.msda(values * 2, [(8, 8), (4, 4)], at, weights) + 1  # noqa: E731
    compiled = torch.compile(run, fullgraph=True)
    leaves = [[tensor.detach().requires_grad_() for tensor in tensors] for _ in range(2)]
    results = [function(*given) for function, given in zip((run, compiled), leaves, strict=True)]
    gradients = [torch.autograd.grad(out.float().sum(), given) for out, given in zip(results, leaves, strict=True)]
    for a, b in zip((results[0], *gradients[0]), (results[1], *gradients[1]), strict=True):
        assert a.stride() == b.stride()
        assert torch.allclose(a.float(), b.float(), atol=2e-2, rtol=2e-2)


@pytest.mark.parametrize("name", ["attend", "attend_backward"])
def test_fake_tensors_are_like_real_ones(name: str) -> None:
    from natten_sim.ops import _operators

    q, k, v = (draw((1, 2, 200, 64), i) for i in range(3))
    numbers: tuple[Any, ...] = ([], [], -1, 0, 0.0, "auto")
    arguments: tuple[Any, ...] = (q, k, v, None, None)
    if name == "attend_backward":
        arguments += (*_operators.attend(*arguments, *numbers), torch.ones_like(q))
    torch.library.opcheck(getattr(_operators, name), (*arguments, *numbers),
                          test_utils=("test_schema", "test_faketensor"))


@pytest.mark.parametrize("path", ["scalar", "red-4", "red-8", "red-16", "atom", "cas", "bulk", "private", "sorted",
                                  "fp32-accumulator"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16], ids=["fp32", "fp16", "bf16"])
def test_scattered_integers_add_up_exactly(path: str, dtype: Any) -> None:
    generator = torch.Generator(device=CUDA).manual_seed(5)
    index = torch.randint(0, 40, (1000,), generator=generator, device=CUDA)
    values = torch.randint(-1, 2, (1000, 64), generator=generator, device=CUDA).to(dtype)
    before = torch.randint(-2, 3, (41, 64), generator=generator, device=CUDA).to(dtype)
    poison()
    found = ops.scatter_add(before, index, values, path=path)
    expected = before.double().index_add(0, index, values.double())
    assert torch.equal(found.double(), expected)
    assert torch.equal(ops.scatter_add_(before.clone(), index, values, path=path).double(), expected)


def test_gradients_of_scattered_rows_are_gathered() -> None:
    index = torch.tensor([3, 0, 3, 2], device=CUDA)
    before, values = draw((5, 16), 1, torch.float32).requires_grad_(), draw((4, 16), 2, torch.float32).requires_grad_()
    weight = draw((5, 16), 3, torch.float32)
    gradients = torch.autograd.grad(ops.scatter_add(before, index, values), (before, values), weight)
    assert torch.equal(gradients[0], weight) and torch.equal(gradients[1], weight[index])


def sampled(values: Any, sizes: list[tuple[int, int]], locations: Any, weights: Any) -> Any:
    """The definition, by grid_sample, in the type of its tensors."""
    batch, _, heads, channels = values.shape
    total: Any = 0
    for level, (part, (height, width)) in enumerate(zip(values.split([h * w for h, w in sizes], 1), sizes, strict=True)):
        images = part.permute(0, 2, 3, 1).reshape(batch * heads, channels, height, width)
        grid = (2 * locations[:, :, :, level] - 1).transpose(1, 2).flatten(0, 1)
        at = torch.nn.functional.grid_sample(images, grid, "bilinear", "zeros", align_corners=False)
        total = total + (at * weights[:, :, :, level].transpose(1, 2).flatten(0, 1)[:, None]).sum(-1)
    return total.unflatten(0, (batch, heads)).permute(0, 3, 1, 2)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16], ids=["fp32", "fp16", "bf16"])
@pytest.mark.parametrize("sizes,points", [([(16, 20)], 4), ([(16, 12), (8, 6), (4, 3)], 3)])
def test_deformable_attention_and_its_gradients_are_those_of_float64(sizes: list[tuple[int, int]], points: int,
                                                                    dtype: Any) -> None:
    pixels = sum(height * width for height, width in sizes)
    values = draw((2, pixels, 4, 32), 1, dtype)
    locations = draw((2, 50, 4, len(sizes), points, 2), 2, torch.float32) * 0.4 + 0.5
    weights = draw((2, 50, 4, len(sizes), points), 3, torch.float32).sigmoid()
    leaves = [tensor.detach().requires_grad_() for tensor in (values, locations, weights)]
    exact = [tensor.detach().double().requires_grad_() for tensor in (values, locations, weights)]
    poison()
    out = ops.msda(leaves[0], sizes, *leaves[1:])
    expected = sampled(exact[0], sizes, *exact[1:])
    weight = draw(tuple(expected.shape), 4, dtype)
    bound = {torch.float32: 1e-5, torch.float16: 1e-3, torch.bfloat16: 6e-3}[dtype]
    require_close("output", out, expected, bound)
    pairs = itertools.zip_longest(torch.autograd.grad(out, leaves, weight),
                                  torch.autograd.grad(expected, exact, weight.double()))
    for number, (found, wanted) in enumerate(pairs):
        require_close(f"gradient {number}", found, wanted, max(bound, 1e-4))


class Block(torch.nn.Module):  # type: ignore[misc,name-defined,unused-ignore]
    """A small transformer block with attention over a neighborhood of 16 x 16 tokens."""

    def __init__(self, attend: Any) -> None:
        super().__init__()
        self.attend = attend
        self.norms = torch.nn.ModuleList([torch.nn.LayerNorm(256) for _ in range(2)])
        self.qkv, self.out = torch.nn.Linear(256, 768), torch.nn.Linear(256, 256)
        self.feed = torch.nn.Sequential(torch.nn.Linear(256, 512), torch.nn.GELU(), torch.nn.Linear(512, 256))

    def forward(self, x: Any) -> Any:
        q, k, v = self.qkv(self.norms[0](x)).unflatten(-1, (3, 4, 64)).unbind(-3)
        x = x + self.out(self.attend(q, k, v).flatten(-2))
        return x + self.feed(self.norms[1](x))


def losses(attend: Any) -> list[float]:
    """Of 40 steps of AdamW on one random target."""
    torch.manual_seed(7)
    block = Block(attend).to(CUDA, torch.bfloat16)
    x, target = draw((2, 16, 16, 256), 1), draw((2, 16, 16, 256), 2)
    optimizer = torch.optim.AdamW(block.parameters(), lr=2e-3)
    found = []
    for _ in range(40):
        loss = (block(x) - target).float().square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        found.append(loss.item())
    return found


def test_a_small_block_trains_as_with_float64_attention_and_repeats_bit_for_bit() -> None:
    def ours(q: Any, k: Any, v: Any) -> Any:
        return ops.neighborhood_attention(q, k, v, (7, 7), stride=(2, 2))

    allowed = of_axes([(16, 7, 2, 1, False)] * 2)

    def exact(q: Any, k: Any, v: Any) -> Any:
        flat = (tensor.flatten(1, 2).transpose(1, 2) for tensor in (q, k, v))
        return attended(flat, allowed)[0].to(q.dtype).transpose(1, 2).unflatten(1, (16, 16))

    first, second, expected = losses(ours), losses(ours), losses(exact)
    assert first == second
    assert first[-1] < 0.5 * first[0]
    assert all(abs(a - b) < 0.03 * b for a, b in zip(first, expected, strict=True))


def test_check_says_predicted_beside_measured() -> None:
    q, k, v = (draw((1, 64, 64, 4, 128), i) for i in range(3))
    found = natten_sim.check(q, k, v, (16, 16), stride=(8, 8), runs=5)
    assert torch.equal(found.output, ops.neighborhood_attention(q, k, v, (16, 16), stride=(8, 8)))
    assert found.lowest_ms <= found.measured_ms <= found.highest_ms and found.runs == 5
    assert (found.predicted_ms is None) == bool(found.refusal)
    assert repr(found).startswith("Check(measured ")


def test_a_candidate_of_a_search_runs() -> None:
    answer = natten_sim.search(input=(32, 64), window=(16, 16), device="h200", head_dim=128)
    tensors = [draw((1, 32, 64, 2, 128), i) for i in range(3)]
    candidate = answer.candidates[0]
    assert torch.equal(candidate.run(*tensors), ops.neighborhood_attention(
        *tensors, candidate.window, stride=candidate.stride))


@pytest.mark.parametrize("wrong", ["cpu", "fp32", "strides", "documents"])
def test_what_the_kernels_do_not_take_is_refused(wrong: str) -> None:
    tensors = [draw((1, 2, 64, 128), i) for i in range(3)]
    if wrong == "cpu":
        with pytest.raises((ops.HardwareAbsent, NotImplementedError)):
            ops.attention(*(tensor.cpu() for tensor in tensors))
    elif wrong == "fp32":
        with pytest.raises(natten_sim.Error, match="float16"):
            ops.attention(*(tensor.float() for tensor in tensors))
    elif wrong == "strides":
        with pytest.raises(natten_sim.Error, match="contiguous|side by side"):
            ops.attention(tensors[0].transpose(2, 3).contiguous().transpose(2, 3), *tensors[1:])
    else:
        with pytest.raises(natten_sim.Error, match="add up to 64"):
            ops.attention(*tensors, documents=[10, 20])
