"""natten_sim.measure on a made-up GPU: times are those of its clock, and what it saves every subcommand reads."""

from __future__ import annotations

import contextlib
import csv
import json
import math
import pathlib
import subprocess
import sys
import types
from collections.abc import Iterator
from typing import Any

import pytest

from natten_sim import measure
from natten_sim.__main__ import program

OPERATIONS_A_MS = 6e11
LAUNCH_MS = 0.004


class Gpu:
    """A clock that launches move on; launches in a row are slower, and one may scatter."""

    def __init__(self) -> None:
        self.now_ms = 0.0
        self.slower = 1.0
        self.launches = 0
        self.scatter = 0.0
        self.sms = 0  # with full masks as many CTAs at a time, of 128 queries, slower where keys fill no last tile; 0: even

    def launch(self, ms: float) -> None:
        self.launches += 1
        self.now_ms += self.slower * ms * (1 + self.scatter * (self.launches % 2))


class Tensor:
    def __init__(self, *shape: int) -> None:
        self.shape = shape


class Event:
    gpu: Gpu

    def __init__(self, enable_timing: bool) -> None:
        assert enable_timing

    def record(self) -> None:
        self.at_ms = self.gpu.now_ms

    def elapsed_time(self, end: Event) -> float:
        return end.at_ms - self.at_ms


def module(name: str, **members: Any) -> types.ModuleType:
    made = types.ModuleType(name)
    for key, value in members.items():
        setattr(made, key, value)
    return made


@pytest.fixture
def gpu(monkeypatch: pytest.MonkeyPatch) -> Iterator[Gpu]:
    """PyTorch as far as the module uses it, on a Gpu."""
    made = Gpu()
    monkeypatch.setattr(Event, "gpu", made, raising=False)
    monkeypatch.setattr("natten_sim._clock.time.perf_counter", lambda: 0.0)  # a host that takes no time to launch

    def attend(q: Tensor, k: Tensor, v: Tensor, is_causal: bool, enable_gqa: bool) -> Tensor:
        batch, heads, tokens, head_dim = q.shape
        if head_dim > 256:
            raise RuntimeError("No available kernel. Aborting execution.")
        assert enable_gqa == (k.shape[1] != heads) and v.shape == k.shape
        operations = 4 * batch * heads * tokens * tokens * head_dim * (0.5 if is_causal else 1)
        if made.sms and not is_causal:
            ctas = batch * heads * -(-tokens // 128)
            operations *= -(-ctas // made.sms) * made.sms / ctas * (1.08 if tokens % 128 else 1)
        made.launch(LAUNCH_MS + operations / OPERATIONS_A_MS)
        return q

    def grad(out: Tensor, inputs: Any, gradient: Tensor, retain_graph: bool) -> None:
        batch, heads, tokens, head_dim = out.shape
        made.launch(LAUNCH_MS + 10 * batch * heads * tokens * tokens * head_dim / OPERATIONS_A_MS)

    def no_graph(*_: Any) -> None:
        raise RuntimeError("no graphs here")

    cuda = module("torch.cuda", is_available=lambda: True, get_device_name=lambda _: "NVIDIA H100 80GB HBM3", Event=Event,
                  _sleep=lambda cycles: None, synchronize=lambda: None, empty_cache=lambda: None, Stream=no_graph)
    torch = module("torch", cuda=cuda, bfloat16="bf16", float16="fp16", uint8="u8", no_grad=contextlib.nullcontext,
                   empty=lambda *a, **k: types.SimpleNamespace(fill_=lambda value: None), autograd=module("autograd", grad=grad),
                   randn=lambda *shape, **k: Tensor(*shape), randn_like=lambda tensor: tensor)
    modules = {"torch": torch, "torch.cuda": cuda, "torch.nn": module("torch.nn"),
               "torch.nn.functional": module("torch.nn.functional", scaled_dot_product_attention=attend),
               "torch.nn.attention": module("torch.nn.attention", SDPBackend=types.SimpleNamespace(FLASH_ATTENTION=1, CUDNN_ATTENTION=2),
                                            sdpa_kernel=lambda backend: contextlib.nullcontext())}
    for name, each in modules.items():
        monkeypatch.setitem(sys.modules, name, each)
    yield made


def run(**changes: Any) -> measure.Run:
    return {"kernel": "fa2", "device": "h100", "pass": "forward", "input": "4096", "window": "4096", "q_tile": "128",
            "kv_tile": "64", "heads": 8, "head_dim": 128, **changes}


def forward_ms(tokens: int, heads: int) -> float:
    return LAUNCH_MS + 4 * heads * tokens * tokens * 128 / OPERATIONS_A_MS


def test_a_time_is_that_of_the_launch_without_rests(gpu: Gpu) -> None:
    found = measure.measured(run(), measure.Clock())
    assert found["status"] == "measured"
    assert found["ms"] == pytest.approx(forward_ms(4096, 8))
    assert found["min_ms"] <= found["ms"] <= found["max_ms"] and len(found["times"]) == 7
    backward = measure.measured(run(**{"pass": "backward"}), measure.Clock())
    assert backward["ms"] == pytest.approx(LAUNCH_MS + 2.5 * (forward_ms(4096, 8) - LAUNCH_MS))
    assert measure.measured(run(causal="1"), measure.Clock())["ms"] < 0.6 * found["ms"]
    assert measure.measured(run(heads_kv=2, batch=2), measure.Clock())["ms"] == pytest.approx(forward_ms(4096, 16))


@pytest.mark.parametrize("rest", ["0", "0.0", 0, 0.0])
def test_in_a_row_launches_fill_300_ms_before_they_count(gpu: Gpu, rest: Any) -> None:
    found = measure.measured(run(rest_ms=rest), measure.Clock())
    assert found["ms"] == pytest.approx(forward_ms(4096, 8))
    assert len(found["times"]) == 3
    assert gpu.now_ms > 4 * 295
    before = gpu.now_ms
    measure.measured(run(rest_ms=""), measure.Clock())
    assert gpu.now_ms - before < 100


def test_runs_that_nothing_runs_say_why(gpu: Gpu, tmp_path: pathlib.Path) -> None:
    clock = measure.Clock()
    assert "No available kernel" in measure.measured(run(head_dim=512), clock)["status"]
    assert "nothing here runs gna" in measure.measured(run(kernel="gna"), clock)["status"]
    assert "not installed" in measure.measured(run(kernel="fa3"), clock)["status"]
    done = [measure.measured(run(), clock), measure.measured(run(head_dim=512), clock)]
    measure.write_runs(str(tmp_path / "runs.csv"), done)
    with open(tmp_path / "runs.csv", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 1 and "times" not in rows[0] and float(rows[0]["ms"]) == done[0]["ms"]


def test_flexattention_is_compiled_for_every_run(gpu: Gpu, monkeypatch: pytest.MonkeyPatch) -> None:
    limit, compiled, unfused = 8, [0], [0]  # PyTorch's limit of compilations of one function

    def compile_one(function: Any, dynamic: bool) -> Any:
        compiled[0] += 1
        unfused[0] += compiled[0] > limit
        return function

    def attend(q: Tensor, k: Tensor, v: Tensor, block_mask: str) -> Tensor:
        assert block_mask == "the plan's"
        gpu.launch(1.0)
        return q

    torch = sys.modules["torch"]
    monkeypatch.setattr(torch, "compile", compile_one, raising=False)
    monkeypatch.setattr(torch, "compiler", types.SimpleNamespace(reset=lambda: compiled.__setitem__(0, 0)), raising=False)
    monkeypatch.setitem(sys.modules, "torch.nn.attention.flex_attention",
                        module("torch.nn.attention.flex_attention", flex_attention=attend))
    plan = types.SimpleNamespace(q_tokens=range(4096), block_mask=lambda: "the plan's")
    monkeypatch.setattr("natten_sim.flex.plan", lambda **_: plan)
    done = [measure.measured(run(kernel="flexattention"), measure.Clock()) for _ in range(limit + 2)]
    assert [each["status"] for each in done] == ["measured"] * (limit + 2)
    assert unfused == [0]


def test_repetitions_that_scatter_make_a_run_suspect(gpu: Gpu) -> None:
    assert not measure.is_suspect(measure.measured(run(), measure.Clock()))
    gpu.scatter = 0.2
    assert measure.is_suspect(measure.measured(run(), measure.Clock()))


@pytest.mark.parametrize("kernel", ["fa2", "cudnn"])
def test_what_is_saved_every_subcommand_reads(gpu: Gpu, tmp_path: pathlib.Path, kernel: str, capsys: Any) -> None:
    found = program()
    if found is None:
        pytest.skip("the program is not installed")
    gpu.sms = 132 if kernel == "cudnn" else 0
    costs = tmp_path / "costs.json"
    assert measure.main(["--kernel", kernel, "--save", str(costs), "--table", str(tmp_path / "runs.csv")]) == 0
    assert f"{kernel} on h100, forward" in capsys.readouterr().out
    command = [found, "count", "-i", "8192", "-n", "16", "-d", "128", "--kernel", kernel, "--device", "h100", "--costs",
               str(costs), "--json", "--quiet"]
    answer = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)["result"]
    assert answer["time"]["costs"]["evidence"] == "measured"
    assert answer["time"]["costs"]["source"].startswith("measured on NVIDIA H100")
    if kernel != "fa2":  # whose launches of few Q tiles share keys among CTAs, which those of this GPU do not
        waves = 16 * 64 / 132
        assert math.isclose(answer["time_ms"]["total"], math.ceil(waves) / waves * forward_ms(8192, 16), rel_tol=0.1)


def test_without_a_gpu_it_says_so(gpu: Gpu, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    monkeypatch.setattr(sys.modules["torch.cuda"], "is_available", lambda: False)
    assert measure.main(["--kernel", "fa2"]) == 4
    assert "needs a CUDA GPU" in capsys.readouterr().err
