"""scripts/timing on a made-up GPU: what it writes the program reads, and what is wrong or refused has no time."""

from __future__ import annotations

import contextlib
import importlib.util
import json
import math
import pathlib
import sys
import types
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import torch
from conftest import Program
from torch.nn import functional

if not hasattr(torch, "from_numpy") or hasattr(torch, "version"):
    pytest.skip("this PyTorch is no made-up one", allow_module_level=True)

import natten_sim
from natten_sim import measure

FACTORS = {"FLASH_ATTENTION": 2, "CUDNN_ATTENTION": 1, "EFFICIENT_ATTENTION": 3, "MATH": 10, None: 1}
MS_A_TOKEN = 1e-3


class Gpu:
    """A clock that calls move on: tokens / 1000 ms, times a factor of the backend; half of it if causal."""

    def __init__(self) -> None:
        self.now_ms, self.backend, self.launches = 0.0, None, 0
        self.output_error, self.gradient_error = 0.0, 0.0
        self.deterministic = False
        self.order: list[Any] = []

    @contextlib.contextmanager
    def chosen(self, backend: Any) -> Iterator[None]:
        self.backend = backend
        yield
        self.backend = None

    def attend(self, q: Any, k: Any, v: Any, is_causal: bool, enable_gqa: bool) -> Any:
        tokens, head_dim = q.shape[2:]
        assert not (self.deterministic and self.backend == "CUDNN_ATTENTION"), "cuDNN is not deterministic"
        if self.backend == "CUDNN_ATTENTION" and head_dim > 128:
            for line in ("Flash attention kernel not used because:", "Flash attention has been runtime disabled.",
                         "cuDNN attention kernel not used because:", "head_dim should be no more than 128"):
                warnings.warn(line, stacklevel=1)
            raise RuntimeError("No available kernel. Aborting execution.")
        if self.backend == "MATH" and tokens > 16:
            raise torch.OutOfMemoryError("CUDA out of memory.")
        self.order.append(self.backend)
        self.now_ms += MS_A_TOKEN * tokens * FACTORS[self.backend] * (0.5 if is_causal else 1)
        return functional.scaled_dot_product_attention.plain(q, k, v, is_causal=is_causal) * (1 + self.output_error)

    def be_deterministic(self, wanted: bool) -> None:
        self.deterministic = wanted

    def grad(self, out: Any, inputs: Any, gradient: Any, retain_graph: bool) -> Any:
        self.launches += 1
        self.now_ms += 2.5 * MS_A_TOKEN * out.shape[2]
        return tuple(each + self.gradient_error * self.launches for each in inputs)


@pytest.fixture
def gpu(monkeypatch: pytest.MonkeyPatch) -> Gpu:
    made = Gpu()

    class Event:
        def __init__(self, enable_timing: bool) -> None:
            assert enable_timing

        def record(self) -> None:
            self.at_ms = made.now_ms

        def synchronize(self) -> None: ...

        def elapsed_time(self, end: Event) -> float:
            return end.at_ms - self.at_ms

    generator = np.random.default_rng(1)
    properties = types.SimpleNamespace(name="NVIDIA H200", multi_processor_count=132, L2_cache_size=62914560,
                                       total_memory=150109880320, major=9, minor=0)
    cuda = types.SimpleNamespace(is_available=lambda: True, Event=Event, _sleep=lambda _: None,
                                 synchronize=lambda: None, empty_cache=lambda: None,
                                 get_device_properties=lambda _: properties)

    def draw(*shape: int, **_: Any) -> Any:
        return torch.from_numpy(np.asarray(generator.standard_normal(shape), dtype=np.float32))

    for name, each in {"cuda": cuda, "bfloat16": "bf16", "float16": "fp16", "uint8": "u8", "__version__": "0.0-fake",
                       "version": types.SimpleNamespace(cuda="0.0"), "manual_seed": lambda _: None, "randn": draw,
                       "empty": lambda *_, **__: types.SimpleNamespace(fill_=lambda _: None, data_ptr=lambda: 1),
                       "randn_like": lambda tensor: draw(*tensor.shape),
                       "full_like": lambda tensor, _: torch.from_numpy(np.copy(tensor)),
                       "utils": types.SimpleNamespace(deterministic=types.SimpleNamespace()),
                       "use_deterministic_algorithms": made.be_deterministic, "autograd": types.SimpleNamespace(grad=made.grad),
                       "backends": types.SimpleNamespace(cudnn=types.SimpleNamespace(version=lambda: 90000)),
                       "OutOfMemoryError": type("OutOfMemoryError", (RuntimeError,), {})}.items():
        monkeypatch.setattr(torch, name, each, raising=False)
    monkeypatch.setattr(torch.Tensor, "isfinite", lambda self: np.isfinite(self), raising=False)
    monkeypatch.setattr(torch.Tensor, "cuda", lambda self: self, raising=False)
    plain = functional.scaled_dot_product_attention
    attend = lambda *operands, **more: made.attend(*operands, **more)
    attend.plain = plain.plain  # type: ignore[attr-defined]
    monkeypatch.setattr(functional, "scaled_dot_product_attention", attend)
    names = {name: name for name in FACTORS if name}
    monkeypatch.setattr("torch.nn.attention.SDPBackend", types.SimpleNamespace(**names), raising=False)
    monkeypatch.setattr("torch.nn.attention.sdpa_kernel", made.chosen, raising=False)
    return made


@pytest.fixture
def timing(monkeypatch: pytest.MonkeyPatch, root: pathlib.Path) -> Iterator[Callable[..., int]]:
    """The script's main."""
    folder = root / "scripts" / "timing"
    monkeypatch.syspath_prepend(str(folder))
    spec = importlib.util.spec_from_file_location("timing_main", folder / "__main__.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    yield lambda *words: module.main(list(map(str, words)))
    for path in folder.glob("*.py"):
        sys.modules.pop(path.stem, None)


def suite(path: pathlib.Path, name: str, *sweeps: dict[str, Any]) -> pathlib.Path:
    path.write_text(json.dumps({"schema": "natten-sim.suite/1", "name": name, "title": "", "counters": [],
                                "sweeps": sweeps, "tolerances": []}))
    return path


def rows(path: pathlib.Path) -> list[dict[str, Any]]:
    return json.loads(path.read_text())["rows"]  # type: ignore[no-any-return]


DENSE = {"kernel": "natten", "runs": ["fa2", "cudnn"], "heads": 2, "head_dim": 64, "input": "96", "window": "96",
         "causal": ["0", "1"],
         "q_tile": "128", "kv_tile": "128", "pass": ["forward", "backward"]}


def test_a_recording_has_the_times_of_the_calls_alone_and_the_program_reads_it(
        gpu: Gpu, timing: Callable[..., int], tmp_path: pathlib.Path, program: Program) -> None:
    assert timing("suites", suite(tmp_path / "s.json", "short-draw", DENSE), "--out", tmp_path / "out") == 0
    found = {(row["point"]["runs"], row["point"]["causal"], row["point"]["pass"]): row
             for row in rows(tmp_path / "out/time-short-draw.json")}
    assert len(found) == 8
    for (kernel, causal, way), row in found.items():
        forward = 0.096 * (2 if kernel == "fa2" else 1) * (0.5 if causal == "1" else 1)
        assert row["time_ms"]["median"] == pytest.approx(forward if way == "forward" else 0.24)
        assert row["time_ms"]["repetitions"] == 7
    done = program.run("validate", "short-draw", "--recorded", tmp_path / "out", "--json", "--quiet")
    assert done.returncode in (0, 3), done.stderr
    assert len(json.loads(done.stdout)["result"]["rows"]) == 8


def test_what_is_wrong_has_no_time(gpu: Gpu, timing: Callable[..., int], tmp_path: pathlib.Path) -> None:
    backward = {"kernel": "flash_attention_backward", "implementation": ["fa2", "cudnn"], "head_dim": 64, "heads": 2, "tokens": 96,
                "batch": 1, "mask": "causal", "mode": ["unordered", "deterministic"]}
    gpu.gradient_error = 0.1
    assert timing("suites", suite(tmp_path / "a.json", "schedules-draw", backward), "--out", tmp_path) == 0
    assert [row["status"] for row in rows(tmp_path / "time-schedules-draw.json")] == [
        "measured", "wrong: other bits the second time", "measured",
        "refused: PyTorch has no deterministic backward pass of cuDNN"]
    gpu.output_error = 0.03
    assert timing("suites", suite(tmp_path / "b.json", "short-draw", DENSE), "--out", tmp_path) == 0
    assert {row["status"] for row in rows(tmp_path / "time-short-draw.json")} == {"wrong: relative error 3.00e-02"}


def test_in_turns_every_round_launches_each_kernel_once(gpu: Gpu, timing: Callable[..., int],
                                                        tmp_path: pathlib.Path) -> None:
    forward = {**DENSE, "causal": "0", "pass": "forward"}
    assert timing("suites", suite(tmp_path / "s.json", "short-draw", forward), "--way", "turns", "--warm-up-ms", 0,
                  "--out", tmp_path) == 0
    assert sorted(row["time_ms"]["median"]
                  for row in rows(tmp_path / "time-short-draw.json")) == pytest.approx([0.096, 0.192])
    rounds = gpu.order[-18:]  # seven that count and two that do not, of two kernels
    assert all(set(rounds[i:i + 2]) == {"FLASH_ATTENTION", "CUDNN_ATTENTION"} for i in range(0, 18, 2))
    assert len({tuple(rounds[i:i + 2]) for i in range(0, 18, 2)}) == 2


def test_after_itself_says_how_long_the_gpu_rests(gpu: Gpu, timing: Callable[..., int], tmp_path: pathlib.Path) -> None:
    assert timing("suites", suite(tmp_path / "s.json", "beside", DENSE), "--way", "after-itself", "--warm-up-ms", 1,
                  "--out", tmp_path) == 0
    assert all(row["time_ms"]["rest_ms"] == 0 for row in rows(tmp_path / "time-beside.json"))


def test_regimes_keep_what_ran_and_why_the_rest_did_not(gpu: Gpu, timing: Callable[..., int], tmp_path: pathlib.Path,
                                                        program: Program,
                                                        root: pathlib.Path, capsys: Any) -> None:
    words = ["regimes", "--out", tmp_path / "sdpa.json", "--head-dims", 64, 160]
    assert timing(*words, "--lengths", 16, 32) == 0
    found = rows(tmp_path / "sdpa.json")
    assert len(found) == 2 * 2 * 2 * 2 * 5
    assert sum(row["status"] == "out of memory" for row in found) == 8
    reason = "refused: No available kernel. Aborting execution. head_dim should be no more than 128"
    assert sum(row["status"] == reason for row in found) == 8
    with pytest.raises(SystemExit, match="--resume"):
        timing(*words)
    assert timing(*words, "--lengths", 16, 32, 8, "--resume") == 0
    assert len(rows(tmp_path / "sdpa.json")) == 120 and rows(tmp_path / "sdpa.json")[:80] == found
    tiles = json.loads((root / "data/recordings/nvidia-h200-tiles.json").read_text())
    tiles["driver"] = json.loads((tmp_path / "sdpa.json").read_text())["driver"]
    (tmp_path / "tiles.json").write_text(json.dumps(tiles))
    shown = program.run("validate", "--recorded", tmp_path, "--view", "heat-map")
    assert shown.returncode == 0 and "refused: No available kernel" in shown.stdout, shown.stderr


def test_kernels_are_compared_as_csv(gpu: Gpu, timing: Callable[..., int], capsys: Any) -> None:
    assert timing("compare", "forward", "--kernels", "cudnn", "fa2", "gna", "--repetitions", 2, "--warm-up-ms", 0,
                  "--head-dims", 64, "--lengths", 128, "--tokens", 256, "--hidden", 128) == 0
    lines = capsys.readouterr()
    assert "gna: refused: nothing here runs gna" in lines.err
    # Two products of two batches, two heads, 128 x 128 pairs, head dim 64.
    assert lines.out.splitlines()[1] == f"64,full,128,cudnn,0.1280,{2 * 2 * 2 * 2 * 128 * 128 * 64 / 0.128 / 1e9:.1f}"
    assert len(lines.out.splitlines()) == 5


def test_the_definition_attends_to_the_pairs_of_the_tile_tables(timing: Callable[..., int]) -> None:
    import definition

    for layout, window, stride, dilation, causal in (((13,), (5,), (2,), (2,), (False,)),
                                                     ((9, 8), (4, 3), (1, 2), (2, 1), (True, False)),
                                                     ((4, 6, 5), (2, 3, 5), (2, 1, 3), (1, 2, 1),
                                                      (False, False, True))):
        plan = natten_sim.flex.plan(input=layout, window=window, stride=stride, dilation=dilation, causal=causal,
                                    q_tile=(2,) * len(layout), kv_tile=(2,) * len(layout))
        mask = plan.dense_mask()
        run = {name: "x".join(str(int(each)) for each in values) for name, values in
               (("input", layout), ("window", window), ("stride", stride), ("dilation", dilation), ("causal", causal))}
        for token in range(math.prod(layout)):
            assert sorted(definition.keys_of(token, run)) == list(np.flatnonzero(mask[token]))
    assert list(definition.keys_of(5, {"input": "20", "window": "20", "band": [2, 1]})) == [3, 4, 5, 6]


def test_scatters_take_their_rows_from_the_bench(gpu: Gpu, timing: Callable[..., int], tmp_path: pathlib.Path,
                                                 monkeypatch: pytest.MonkeyPatch) -> None:
    bench = tmp_path / "scatter_add_bench"
    bench.write_text(f"#!{sys.executable}\nimport json, struct, sys\n"
                     "lines = [line.split() for line in open(sys.argv[2])]\n"
                     "if sys.argv[1] == 'index':\n"
                     "    for i, words in enumerate(lines):\n"
                     "        open(f'{sys.argv[3]}/{i}.bin', 'wb').write(struct.pack(f'<{words[4]}q', *[0] * int(words[4])))\n"
                     "else:\n    print(json.dumps({'path': lines[0][0], 'ms': [4, 1, 2, 3]}))\n")
    bench.chmod(0o755)
    monkeypatch.setattr(torch, "float32", "fp32")
    monkeypatch.setattr(torch, "zeros", lambda *shape, **_: torch.from_numpy(np.zeros(shape)))
    add = torch.Tensor.index_add_

    def slow(self: Any, dim: int, index: Any, values: Any) -> Any:
        gpu.now_ms += 1e-3 * len(index)
        return add(self, dim, index, values)

    monkeypatch.setattr(torch.Tensor, "index_add_", slow)
    point = {"kernel": "scatter-operator", "operator": ["index_add", "scalar"], "dtype": "fp32", "width": 8,
             "updates": 50, "rows": 4,
             "distribution": "uniform"}
    assert timing("suites", suite(tmp_path / "s.json", "scatter-beside", point), "--build", tmp_path, "--out",
                  tmp_path) == 0
    times = [row["time_ms"] for row in rows(tmp_path / "time-scatter-beside.json")]
    assert [each["median"] for each in times] == pytest.approx([0.05, 2]) and [each["repetitions"]
                                                                               for each in times] == [3, 3]


def test_what_nsight_compute_watches_launches_each_point_twice_and_then_as_often_as_it_counts(
        timing: Callable[..., int], gpu: Gpu, tmp_path: pathlib.Path, capsys: Any) -> None:
    reads = {"kernel": "sdpa", "implementation": ["fa2", "cudnn"], "heads": 1, "tokens": 64, "head_dim": 64,
             "causal": True}
    assert timing("count", suite(tmp_path / "s.json", "reads-draw", reads), "--child", "--repetitions", 3, "--out",
                  tmp_path) == 0
    assert capsys.readouterr().out.splitlines() == ["status of point 0: measured", "status of point 1: measured"]
    assert gpu.order == ["FLASH_ATTENTION"] * 5 + ["CUDNN_ATTENTION"] * 5


def test_counted_launches_belong_to_their_points(timing: Callable[..., int], gpu: Gpu) -> None:
    import counts

    points = [{"kernel": "sdpa", "implementation": name, "heads": 1, "tokens": 64, "causal": True}
              for name in ("fa2", "cudnn")]
    lines = ['"ID","Kernel Name","Metric Name","Metric Unit","Metric Value"']
    for number, kernel in enumerate(["flash_fwd_kernel"] + ["x_fprop"] * 4):
        lines += [f'"{number}","{kernel}","{metric}","byte","1,{number}00"' for metric in counts.METRICS.values()]
    output = f"{counts.STATUS} 0: wrong: relative error\n{counts.STATUS} 1: measured\n" + "\n".join(lines) + "\n"
    wrong, right = counts.rows_of(points, 2, output)
    assert wrong["status"] == "wrong: relative error" and not wrong["counters"]
    assert right["counters"]["dram_read_bytes"] == {"median": 1350, "p95": 1400, "smallest": 1300, "largest": 1400,
                                                    "repetitions": 2}
    with pytest.raises(SystemExit, match="more than expected"):
        counts.rows_of(points, 1, output)


def test_our_kernels_get_their_sizes_in_the_order_of_the_c_interface(gpu: Gpu, timing: Callable[..., int],
                                                                     tmp_path: pathlib.Path,
                                                                     monkeypatch: pytest.MonkeyPatch) -> None:
    import own_kernels

    called: dict[str, list[Any]] = {}

    def library(path: str) -> Any:
        def call(name: str) -> Any:
            def function(*sizes: Any) -> int:
                called[name] = [getattr(each, "value", each) for each in sizes]
                return 7 if "plan" in name else 0
            return function
        return types.SimpleNamespace(**{name: call(name) for name in (
            "natten_sim_plan_sequence", "natten_sim_plan_neighborhood", "natten_sim_plan_backward", own_kernels.FORWARD,
            own_kernels.BACKWARD)})

    monkeypatch.setattr("ctypes.CDLL", library)
    monkeypatch.setattr(torch.Tensor, "data_ptr", lambda self: 1, raising=False)
    for name in ("forward", "backward"):
        (tmp_path / f"libattention_{name}_shared.so").touch()
    own = own_kernels.OwnKernels(str(tmp_path))
    own.prepared({"kernel": "gna", "input": "8x16", "window": "4x8", "stride": "2x1", "causal": "1x0", "q_tile": "2x4",
                  "kv_tile": "4x2", "heads": 3})
    batch, heads, head_dim, fp16, rank, axes = called["natten_sim_plan_neighborhood"][1:]
    assert (batch, heads, head_dim, fp16, rank) == (1, 3, 128, 0, 2)
    # Length, window, stride, dilation, causal, Q tile, KV tile of each axis.
    assert list(axes) == [8, 4, 2, 1, 1, 2, 4, 16, 8, 1, 1, 0, 4, 2]
    own.prepared({"kernel": "gna", "input": "256", "window": "256", "causal": "1", "heads": 2, "head_dim": 64,
                  "dtype": "fp16", "batch": 4,
                  "pass": "backward", "mode": "deterministic"})
    assert called["natten_sim_plan_sequence"][1:] == [4, 2, 2, 256, 256, 64, 1, 1]
    assert called["natten_sim_plan_backward"][1:] == [4, 2, 2, 256, 64, 1, 1, b"symmetric-shift+spread", 1]
    assert called[own_kernels.BACKWARD] == [7]
    with pytest.raises(measure.Unavailable, match="neighborhoods"):
        own.prepared({"kernel": "gna", "input": "256", "window": "25", "pass": "backward", "q_tile": "64",
                      "kv_tile": "64"})


def test_a_draw_is_that_of_its_seed_and_its_tiles_are_the_kernels(timing: Callable[..., int], capsys: Any,
                                                                  root: pathlib.Path) -> None:
    texts = []
    for seed in (4, 4, 5):
        assert timing("draw", "mine", "neighborhoods", "--kernels", "cutlass-fna", "--seed", seed, "--points", 9) == 0
        texts.append(capsys.readouterr().out)
    assert texts[0] == texts[1] != texts[2]
    tables = json.loads((root / "data/backends.json").read_text())["backends"]["cutlass-fna"]
    for point in json.loads(texts[0])["sweeps"]:
        tiles = {name: [int(word) for word in point[name].split("x")] for name in ("q_tile", "kv_tile")}
        assert any(tiles == {name: pair[name] for name in tiles}
                   for table in tables[point["pass"] + "_by_gemm"].values()
                   for pair in table[f"{len(tiles['q_tile'])}d"])
        assert all(int(w) <= int(n) for w, n in zip(point["window"].split("x"), point["input"].split("x"), strict=True))


def test_frozen_predictions_are_judged(timing: Callable[..., int], tmp_path: pathlib.Path, root: pathlib.Path,
                                       program: Program, capsys: Any) -> None:
    done = program.run("validate", "short-draw", "--freeze", "--json", "--quiet")
    (tmp_path / "frozen.json").write_text(done.stdout)
    assert timing("judge", tmp_path / "frozen.json", root / "data/recordings/nvidia-h200-short-draw.json") == 0
    everything = capsys.readouterr().out.splitlines()[-1]
    assert everything.startswith(f"| all | {len(json.loads(done.stdout)['result']['predictions'])} |")
