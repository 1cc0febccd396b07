"""tune(): finds attention calls in a run, and tells the times of whatever else would make them."""

from __future__ import annotations

import importlib
import math
import sys
import types
from collections.abc import Callable
from typing import Any

import natten_sim
import numpy as np
import pytest
from natten_sim._calls import Watch


class Tensor:
    """As much of a tensor as calls are told by. Nothing is computed, as on the meta device."""

    is_meta = True
    requires_grad = False

    def __init__(self, *shape: int, dtype: str = "torch.bfloat16", values: Any = None) -> None:
        self.shape, self.dtype, self._values = shape, dtype, values

    def new_empty(self, shape: tuple[int, ...]) -> Tensor:
        return Tensor(*shape, dtype=self.dtype)

    def reshape(self, *shape: int) -> Tensor:
        return Tensor(*shape, dtype=self.dtype)

    def detach(self) -> Tensor:
        return self

    cpu = detach

    def numpy(self) -> Any:
        return self._values


def real(values: Any, dtype: str) -> Tensor:
    """One with numbers, as on a CPU."""
    tensor = Tensor(*values.shape, dtype=dtype, values=values)
    tensor.is_meta = False
    return tensor


def installed(monkeypatch: pytest.MonkeyPatch, module: str, **functions: Any) -> Any:
    """A package that has these functions and nothing else."""
    made = types.ModuleType(module)
    made.__spec__ = importlib.machinery.ModuleSpec(module, None)
    vars(made).update(functions)
    monkeypatch.setitem(sys.modules, module, made)
    return made


def na3d(query: Any, key: Any, value: Any, kernel_size: Any, stride: Any = 1, dilation: Any = 1, is_causal: Any = False,
         scale: Any = None, additional_keys: Any = None, **others: Any) -> Any:
    raise AssertionError("meta tensors are not computed")


def flex_attention(query: Any, key: Any, value: Any, score_mod: Any = None, block_mask: Any = None, **others: Any) -> Any:
    raise AssertionError("meta tensors are not computed")


def flash_attn_func(q: Any, k: Any, v: Any, dropout_p: float = 0.0, causal: bool = False, window_size: Any = (-1, -1)) -> Any:
    raise AssertionError("meta tensors are not computed")


def flash_attn_varlen_func(q: Any, k: Any, v: Any, cu_seqlens_q: Any, causal: bool = False) -> Any:
    raise AssertionError("meta tensors are not computed")


def attention(*tensors: Any, **keywords: Any) -> Any:
    """Looked up anew in each call, as models do."""
    return importlib.import_module("torch.nn.functional").scaled_dot_product_attention(*tensors, **keywords)


def only(tuning: natten_sim.Tuning) -> natten_sim.TunedCall:
    assert len(tuning.calls) == 1, [call.name for call in tuning.calls]
    return tuning.calls[0]


SEQUENCE: dict[str, Any] = {"device": "h200", "input": 8192, "heads": 16, "head_dim": 128, "dtype": "bf16", "batch_size": 2}
Q = Tensor(2, 16, 8192, 128)


@pytest.mark.parametrize("causal", [False, True])
def test_pytorchs_attention_is_found_and_timed_as_time_does(causal: bool) -> None:
    def model(q: Any) -> Any:
        for _ in range(3):
            q = attention(q, q, q, is_causal=causal)
        return q

    call = only(natten_sim.tune(model, Q, device="h200"))
    assert (call.count, call.refusal) == (3, "")
    times = {kernel: natten_sim.time(**SEQUENCE, causal=causal, kernel=kernel).time_ms
             for kernel in ("fa2", "cudnn", "fa3", "fa4", "ours")}
    present = times["fa2"]
    assert call.now and present and (call.now.kernel, call.now.total) == ("fa2", present.total)
    assert [way.total for way in call.ways] == sorted(way.total for way in call.ways)
    for way in call.ways:
        assert way.kernel != "fa2"
        if way.kernel in times:
            expected = times[way.kernel]
            assert expected and (way.total, way.low, way.high) == (expected.total, expected.low, expected.high)
        assert way.gain == pytest.approx(present.total / way.total)
        assert way.gain_low == pytest.approx(present.low / way.high)
        assert way.gain_high == pytest.approx(present.high / way.low)
        assert ("ausal" in way.call) == causal
    assert {"cudnn", "fa3", "fa4"} <= {way.kernel for way in call.ways}


def test_gradients_count_both_passes() -> None:
    q = Tensor(2, 16, 8192, 128)
    q.requires_grad = True
    call = only(natten_sim.tune(attention, (q, q, q), device="h100"))
    both = [natten_sim.time(**{**SEQUENCE, "device": "h100"}, kernel="fa2", phase=phase).time_ms for phase in ("forward", "backward")]
    assert call.backward and call.now and call.now.total == sum(each.total for each in both if each)


def test_a_matrix_that_is_a_window_is_told_as_one() -> None:
    random = np.random.default_rng(5)
    rows, columns = np.arange(48)[:, None], np.arange(48)[None, :]
    for _ in range(40):
        left, right = map(int, random.integers(0, 48, 2))
        matrix = (columns >= rows - left) & (columns <= rows + right)
        call = only(natten_sim.tune(attention, {"query": Tensor(1, 2, 48, 64), "key": Tensor(1, 2, 48, 64), "value": Tensor(1, 2, 48, 64),
                                                "attn_mask": real(matrix, "torch.bool")}, device="h200"))
        causal, full = (left, right) == (47, 0), (left, right) == (47, 47)
        assert call.mask == (None if causal or full else f"window:{left},{right}")
        assert call.question.get("causal") == ((True,) if causal else None)
    matrix[3, 40] ^= True
    holes = real(matrix, "torch.bool")
    per_head = real(np.stack([rows >= columns, rows <= columns]), "torch.bool")
    additive = real(np.zeros((48, 48)), "torch.float32")
    for mask, word in ((holes, "no window"), (per_head, "from head to head"), (additive, "additive")):
        q = Tensor(1, 2, 48, 64)
        call = only(natten_sim.tune(attention, (q, q, q, mask), device="h200"))
        assert word in call.refusal and call.now is None and not call.ways


def test_what_has_no_time_is_said() -> None:
    q = Tensor(1, 2, 64, 128)
    call = only(natten_sim.tune(attention, (q, Tensor(1, 2, 80, 128), Tensor(1, 2, 80, 128)), device="h200"))
    assert "64 queries see 80 keys" in call.refusal
    call = only(natten_sim.tune(attention, (Tensor(1, 2, 64, 128, dtype="torch.int8"),) * 3, device="h200"))
    assert "torch.int8" in call.refusal
    with pytest.raises(natten_sim.Error, match="h2000"):
        natten_sim.tune(attention, (q, q, q), device="h2000")


def test_natten_is_offered_every_tile_pair_that_it_has(monkeypatch: pytest.MonkeyPatch) -> None:
    natten = installed(monkeypatch, "natten", na3d=na3d)
    asked: dict[str, Any] = {"input": (16, 24, 40), "window": (8, 9, 16), "heads": 4, "head_dim": 128, "dtype": "bf16", "device": "h100"}
    q = Tensor(1, 16, 24, 40, 4, 128)
    call = only(natten_sim.tune(lambda q: natten.na3d(q, q, q, (8, 9, 16), is_causal=False), q, device="h100"))
    counted = natten_sim.count(**asked)
    assert call.now and counted.kernel and counted.time_ms
    assert (call.now.kernel, call.now.total) == (counted.kernel.name, counted.time_ms.total)
    pairs = {(backend.name, pair.q_tile, pair.kv_tile) for backend in natten_sim.backends() for pair in backend.forward
             if len(pair.q_tile) == 3}
    best: dict[str, float] = {}
    for backend, q_tile, kv_tile in pairs:
        try:
            answer = natten_sim.count(**asked, backend=backend, q_tile=q_tile, kv_tile=kv_tile)
            answer.emit("natten")
        except natten_sim.Error:
            continue
        if answer.time_ms:
            best[backend] = min(best.get(backend, math.inf), answer.time_ms.total)
    assert len(best) >= 2
    found = {way.kernel: way.total for way in [*call.ways, call.now]}
    assert {**found, **best} == {**best, **{kernel: min(total, best.get(kernel, total)) for kernel, total in found.items()}}
    for way in call.ways:
        assert way.total == best[way.kernel]
        assert way.call.startswith("natten.na3d(query, key, value, kernel_size=(8, 9, 16)") and f"backend='{way.kernel}'" in way.call


def test_flash_attention_and_flexattention_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    flash = installed(monkeypatch, "flash_attn", flash_attn_func=flash_attn_func, flash_attn_varlen_func=flash_attn_varlen_func)
    flex = installed(monkeypatch, "torch.nn.attention.flex_attention", flex_attention=flex_attention)
    # Imported by another name, and compiled: both are one function.
    compiled = lambda *tensors: flex_attention(*tensors)  # noqa: E731
    compiled._torchdynamo_orig_callable = flex_attention  # type: ignore[attr-defined]
    model = installed(monkeypatch, "a_model", attend=flash_attn_func, fast=compiled)
    q, flat = Tensor(1, 4096, 8, 128), Tensor(4096, 8, 128)
    ends = real(np.array([0, 1000, 4096]), "torch.int32")

    def run() -> None:
        model.attend(q, q, q, causal=True)
        flash.flash_attn_func(q, q, q, causal=True, window_size=(255, 0))
        flash.flash_attn_varlen_func(flat, flat, flat, ends, causal=True)
        model.fast(Tensor(1, 8, 4096, 128), Tensor(1, 8, 4096, 128), Tensor(1, 8, 4096, 128))
        flex.flex_attention(Tensor(1, 8, 4096, 128), Tensor(1, 8, 4096, 128), Tensor(1, 8, 4096, 128), score_mod=abs)

    tuning = natten_sim.tune(run, (), device="h200")
    told = {(call.name.rsplit(".", 1)[-1], call.mask, call.question.get("causal"), bool(call.refusal)) for call in tuning.calls}
    assert told == {("flash_attn_func", None, (True,), False), ("flash_attn_func", "window:255,0", None, True),
                    ("flash_attn_varlen_func", "varlen:causal:1000,3096", None, True),
                    ("flex_attention", "full", None, False), ("flex_attention", "full", None, True)}
    windowed = next(call for call in tuning.calls if call.mask == "window:255,0")
    assert "fa2" in windowed.refusal and windowed.now is None  # nobody timed its windows
    kernels = {way.kernel: way for way in windowed.ways}
    for kernel in ("flexattention", "fa4"):
        blocks = [natten_sim.mask(mask="window:255,0", seqlen_q=4096, heads=8, head_dim=128, dtype="bf16", device="h200",
                                  kernel=kernel, q_tile=q_tile, kv_tile=kv_tile).time_ms
                  for q_tile in (64, 128, 256) for kv_tile in (64, 128, 256) if kernel != "fa4" or (q_tile, kv_tile) == (128, 128)]
        assert kernels[kernel].total == min(each.total for each in blocks if each) and kernels[kernel].gain is None
    assert (model.attend, model.fast, flash.flash_attn_func) == (flash_attn_func, compiled, flash_attn_func)


def test_functions_are_as_they_were_whatever_happens(monkeypatch: pytest.MonkeyPatch) -> None:
    functional = importlib.import_module("torch.nn.functional")
    before = functional.scaled_dot_product_attention

    def fails() -> None:
        raise ArithmeticError

    with pytest.raises(ArithmeticError):
        natten_sim.tune(fails, (), device="h200")
    assert functional.scaled_dot_product_attention is before
    # A function that calls another that is watched is one call.
    inner = installed(monkeypatch, "flash_attn", flash_attn_func=lambda q, k, v: q)
    outer: Callable[..., Any] = lambda query, key, value, kernel_size: inner.flash_attn_func(query, key, value)  # noqa: E731
    natten = installed(monkeypatch, "natten", na1d=outer)
    q = Tensor(1, 64, 2, 128)
    q.is_meta = False
    with Watch() as watch:
        natten.na1d(q, q, q, 9)
    assert [call.name for call in watch.calls] == ["natten.na1d"]


class Config:
    """Of Triton, and of Helion."""

    def __init__(self, block_m: int, block_n: int) -> None:
        self.kwargs = {"BLOCK_M": block_m, "BLOCK_N": block_n}

    def __getitem__(self, name: str) -> Any:
        assert name == "block_sizes"
        return [1, *self.kwargs.values()]


def test_spaces_of_autotuners_are_pruned_for_a_call(monkeypatch: pytest.MonkeyPatch) -> None:
    class Kernel:
        name = "attend"

        def __call__(self, *tensors: Any) -> Any:
            return tensors[0]

    installed(monkeypatch, "helion.runtime.kernel", Kernel=Kernel)
    q = Tensor(8, 4096, 128)
    call = only(natten_sim.tune(Kernel(), (q, q, q), device="h200"))
    assert call.name == "helion: attend" and "configurations" in call.refusal
    assert "watching" not in repr(Kernel.__call__)
    configs = [Config(m, n) for m in (16, 64, 256) for n in (16, 64, 256)]

    def ask(config: Config, arguments: Any = None) -> dict[str, Any]:
        return {"input": 4096, "window": 4096, "heads": 8, "head_dim": 128, "dtype": "bf16", "q_tile": config.kwargs["BLOCK_M"],
                "kv_tile": config.kwargs["BLOCK_N"]}

    kept = natten_sim.triton.early_config_prune(ask, top=3, device="h200")(configs, {})
    assert call.early_config_prune(top=3)(configs, {}) == kept and len(kept) == 3
    for config in configs:
        del config.kwargs["BLOCK_M"]
        config.kwargs = {"BLOCK_M": 64, **config.kwargs}
    assert call.tiled(configs[0]) == {**call.question, "q_tile": 64, "kv_tile": 16}
    seeds = call.autotune_seed_configs(configs, top=2)
    assert seeds == natten_sim.helion.autotune_seed_configs(configs, ask, top=2, device="h200")
    keep, other = (make(best=seeds[0], within=1.5) for make in (
        call.autotune_config_filter, lambda **given: natten_sim.helion.autotune_config_filter(ask, device="h200", **given)))
    assert [keep(config) for config in configs] == [other(config) for config in configs]


def test_trials_are_learned_from() -> None:
    tuning = natten_sim.tune(attention, (Q, Q, Q), device="h200")
    before = tuning.calls[0].now
    assert before and tuning.costs is None
    # A GPU on which FlashAttention-2 takes twice as long as was told.
    learned = tuning.learn([{"call": 0, "ms": 2 * before.total}])
    after = learned.calls[0].now
    assert after and after.total == pytest.approx(2 * before.total, rel=0.05)
    assert learned.costs and learned.now_ms == after.total
    cudnn = next(way for way in tuning.calls[0].ways if way.kernel == "cudnn")
    faster = tuning.learn([{"call": 0, "kernel": "cudnn", "ms": cudnn.total / 2}])
    assert next(way for way in faster.calls[0].ways if way.kernel == "cudnn").total == pytest.approx(cudnn.total / 2, rel=0.05)
    with pytest.raises(natten_sim.Error, match="0..0"):
        tuning.learn([{"call": 1, "ms": 1.0}])


def test_a_report_names_each_call_its_time_and_the_fastest_ways() -> None:
    tuning = natten_sim.tune(attention, (Q, Q, Q), device="h200")
    call = tuning.calls[0]
    assert call.now
    lines = str(tuning).splitlines()
    assert lines[0] == f"h200: attention of the sample takes {call.now.total:.3g} ms, {call.ways[0].total:.3g} ms in the fastest ways"
    assert lines[1].startswith("1 x torch.nn.functional.scaled_dot_product_attention: 8192 tokens, batch 2, 16 heads of 128, bf16")
    assert lines[2] == f"  now fa2: {call.now.total:.3g} ms ({call.now.low:.3g} .. {call.now.high:.3g})"
    assert lines[3].startswith(f"  {call.ways[0].kernel}: {call.ways[0].total:.3g} ms, {call.ways[0].gain:.2f}x (")
    assert len(lines) == 6
    assert tuning.best_ms == call.ways[0].total and tuning.now_ms == call.now.total


def test_pytorch_itself_is_watched() -> None:
    """Skipped where PyTorch is made up."""
    torch = importlib.import_module("torch")
    if not hasattr(torch, "nn") or not hasattr(torch.nn, "TransformerEncoderLayer"):
        pytest.skip("needs PyTorch")
    flex = importlib.import_module("torch.nn.attention.flex_attention")
    layer = torch.nn.TransformerEncoderLayer(256, 2, batch_first=True).eval()
    blocks = flex.create_block_mask(lambda b, h, i, j: i >= j, None, None, 256, 256, device="cpu")
    meta = torch.empty(2, 4, 4096, 128, device="meta", dtype=torch.bfloat16)

    def model(x: Any) -> Any:
        flex.flex_attention(meta, meta, meta, block_mask=blocks)
        with torch.no_grad():
            torch.nn.functional.scaled_dot_product_attention(meta, meta, meta, is_causal=True)
            return layer(x)  # PyTorch's fused path, which no Python function is part of

    x = torch.randn(1, 64, 256)
    before = layer(x)
    tuning = natten_sim.tune(model, x, device="h200")
    told = {(call.name.removesuffix(".default").split(".")[-1], call.question["input"], call.question.get("causal"), call.mask is not None)
            for call in tuning.calls}
    assert ("flex_attention", (4096,), None, True) in told
    assert ("scaled_dot_product_attention", (4096,), (True,), False) in told
    assert ("_transformer_encoder_layer_fwd", (64,), None, False) in told
    assert torch.equal(layer(x), before)


def test_natten_itself_is_watched() -> None:
    """Skipped without NATTEN."""
    natten = pytest.importorskip("natten")
    torch = importlib.import_module("torch")
    q = torch.empty(1, 8, 16, 24, 4, 128, device="meta", dtype=torch.bfloat16)
    call = only(natten_sim.tune(lambda q: natten.na3d(q, q, q, kernel_size=(4, 8, 8), stride=(2, 4, 4), is_causal=(True, False, False)),
                                q, device="h100"))
    assert {name: call.question[name] for name in ("input", "window", "stride", "causal", "heads")} == {
        "input": (8, 16, 24), "window": (4, 8, 8), "stride": (2, 4, 4), "causal": (True, False, False), "heads": 4}
