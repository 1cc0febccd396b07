"""Times attention kernels on this machine's GPU: the runs that calibrate natten-sim for it.

    python -m natten_sim.measure --kernel cudnn --save costs.json
    natten-sim count -i 8192 -n 16 -d 128 --kernel cudnn --device h100 --costs costs.json

The runs are those of `natten-sim calibrate --plan`, or of a table of the same columns (--runs FILE). What is installed runs:
PyTorch's FlashAttention-2 (fa2), cuDNN (cudnn) and FlexAttention (flexattention), FlashAttention-3 and -4 (fa3, fa4),
NATTEN's kernels. Each is timed by CUDA events on random inputs after rests, in which the GPU spins, and with the L2
overwritten; the host's own time hides behind the spin. Clocks are left alone. Runs whose repetitions scatter are named.
"""

from __future__ import annotations

import argparse
import contextlib
import csv
import dataclasses
import importlib
import math
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from natten_sim._clock import Clock as Clock
from natten_sim._clock import Unavailable as Unavailable
from natten_sim._clock import Work

Run = dict[str, Any]

_SUSPECT_SPREAD = 0.1  # of the repetitions
_SDPA = {"fa2": "FLASH_ATTENTION", "cudnn": "CUDNN_ATTENTION", "efficient": "EFFICIENT_ATTENTION", "math": "MATH",
         "auto": None}
_LIBRARIES = {"fa3": "flash_attn_interface", "fa4": "flash_attn.cute"}
_NATTEN_KERNELS = ("fna", "fmha")  # words in the names of the kernels that attend; others copy


@dataclasses.dataclass(frozen=True)
class Launch:
    """A kernel with its operands.

    Attributes:
        work: Launches the run's pass once; what it returns are outputs or gradients.
        forward: Launches the forward pass once, and returns the output.
        inputs: Q, K and V.
        last_head: Of such a tensor, the rows (tokens, head dim) of the first batch's last head.
    """

    work: Work
    forward: Work
    inputs: tuple[Any, ...]
    last_head: Callable[[Any], Any]


def _sizes(text: str) -> list[int]:
    return [int(word) for word in text.split("x")]


def _number(run: Run, name: str, absent: int) -> int:
    return int(run.get(name) or absent)


def _axes(run: Run, name: str, absent: int) -> list[int]:
    return _sizes(str(run[name])) if run.get(name) else [absent] * len(_sizes(run["input"]))


def _follow_each_other(run: Run) -> bool:
    return run.get("rest_ms") not in (None, "") and float(run["rest_ms"]) == 0


def _operands(run: Run, shape: Callable[[int], tuple[int, ...]]) -> tuple[Any, ...]:
    """Q, K and V, random; `shape` makes that of a number of heads."""
    import torch

    heads = _number(run, "heads", 1)
    kind = {"bf16": torch.bfloat16, "fp16": torch.float16}[run.get("dtype") or "bf16"]
    return tuple(torch.randn(*shape(count), _number(run, "head_dim", 128), device="cuda", dtype=kind,
                             requires_grad=True)
                 for count in (heads, _number(run, "heads_kv", heads), _number(run, "heads_kv", heads)))


def _launch(run: Run, forward: Work, inputs: tuple[Any, ...], last_head: Callable[[Any], Any]) -> Launch:
    """A backward pass goes through one graph again and again."""
    import torch

    def without_graph() -> Any:
        with torch.no_grad():
            return forward()

    if run.get("pass") != "backward":
        return Launch(without_graph, without_graph, inputs, last_head)
    out = forward()
    gradient = torch.randn_like(out)
    if run.get("mode") == "deterministic":
        torch.utils.deterministic.fill_uninitialized_memory = False  # which takes time

    def backward() -> Any:
        if run.get("mode") != "deterministic":
            return torch.autograd.grad(out, inputs, gradient, retain_graph=True)
        torch.use_deterministic_algorithms(True)
        try:
            return torch.autograd.grad(out, inputs, gradient, retain_graph=True)
        finally:  # other kernels refuse to run so
            torch.use_deterministic_algorithms(False)

    return Launch(backward, without_graph, inputs, last_head)


def _sdpa(run: Run) -> Launch:
    from torch.nn.attention import SDPBackend, sdpa_kernel
    from torch.nn.functional import scaled_dot_product_attention

    tokens, batch = math.prod(_sizes(run["input"])), _number(run, "batch", 1)
    q, k, v = _operands(run, lambda heads: (batch, heads, tokens))
    name = _SDPA[run["kernel"]]
    if run["kernel"] == "cudnn" and run.get("mode") == "deterministic":
        raise Unavailable("PyTorch has no deterministic backward pass of cuDNN")
    if name and not hasattr(SDPBackend, name):
        raise Unavailable("this PyTorch has no such backend")

    def forward() -> Any:
        with sdpa_kernel(getattr(SDPBackend, name)) if name else contextlib.nullcontext():
            return scaled_dot_product_attention(q, k, v, is_causal=_axes(run, "causal", 0) == [1],
                                                enable_gqa=q.shape[1] != k.shape[1])

    return _launch(run, forward, (q, k, v), lambda tensor: tensor[0, -1])


def _library(run: Run) -> Launch:
    try:
        function = importlib.import_module(_LIBRARIES[run["kernel"]]).flash_attn_func
    except ImportError as error:
        raise Unavailable(f"{_LIBRARIES[run['kernel']]} is not installed") from error
    tokens, batch = math.prod(_sizes(run["input"])), _number(run, "batch", 1)
    q, k, v = _operands(run, lambda heads: (batch, tokens, heads))

    more: dict[str, Any] = {}
    if run.get("band"):
        more["window_size"] = tuple(run["band"])
    if run.get("mode"):
        more["deterministic"] = run["mode"] == "deterministic"

    def forward() -> Any:
        out = function(q, k, v, causal=_axes(run, "causal", 0) == [1], **more)
        return out[0] if isinstance(out, tuple) else out

    return _launch(run, forward, (q, k, v), lambda tensor: tensor[0, :, -1])


def _flexattention(run: Run) -> Launch:
    import torch
    from torch.nn.attention.flex_attention import flex_attention

    from natten_sim import flex

    plan = flex.plan(input=_sizes(run["input"]), window=_sizes(run["window"]), stride=_axes(run, "stride", 1),
                     dilation=_axes(run, "dilation", 1), causal=[each == 1 for each in _axes(run, "causal", 0)],
                     q_tile=_sizes(run["q_tile"]), kv_tile=_sizes(run["kv_tile"]))
    q, k, v = _operands(run, lambda heads: (_number(run, "batch", 1), heads, len(plan.q_tokens)))
    mask = plan.block_mask()
    torch.compiler.reset()  # after 8 shapes of one function PyTorch compiles no more and runs it unfused
    compiled = torch.compile(flex_attention, dynamic=False)
    token_at = np.asarray(plan.q_tokens)
    place = np.zeros(math.prod(_sizes(run["input"])), dtype=np.int64)  # of each token
    place[token_at[token_at >= 0]] = np.flatnonzero(token_at >= 0)
    return _launch(run, lambda: compiled(q, k, v, block_mask=mask), (q, k, v), lambda tensor: tensor[0, -1][place])


def _natten(run: Run) -> Launch:
    try:
        natten: Any = importlib.import_module("natten")
    except ImportError as error:
        raise Unavailable("NATTEN is not installed") from error
    layout = _sizes(run["input"])
    q, k, v = _operands(run, lambda heads: (_number(run, "batch", 1), *layout, heads))
    tiles = {"q_tile_shape": tuple(_sizes(run["q_tile"])), "kv_tile_shape": tuple(_sizes(run["kv_tile"]))}
    if run.get("pass") == "backward":
        tiles = {f"backward_{name}": tile for name, tile in tiles.items()}
    attend = getattr(natten, f"na{len(layout)}d")

    def forward() -> Any:
        return attend(q, k, v, kernel_size=tuple(_sizes(run["window"])), stride=tuple(_axes(run, "stride", 1)),
                      dilation=tuple(_axes(run, "dilation", 1)),
                      is_causal=tuple(each == 1 for each in _axes(run, "causal", 0)), backend=run["kernel"], **tiles)

    return _launch(run, forward, (q, k, v), lambda tensor: tensor[0].flatten(0, -3)[:, -1])


_RUNNERS: dict[str, Callable[[Run], Launch]] = {
    **dict.fromkeys(_SDPA, _sdpa), "fa3": _library, "fa4": _library, "flexattention": _flexattention,
    "hopper-fna": _natten, "blackwell-fna": _natten, "cutlass-fna": _natten}


def prepared(run: Run, warm_ups: int = 3) -> Launch:
    """Makes operands of a run and its graph, and warms it up.

    Args:
        run: Columns of data/kernel-runs by name, all text or numbers. Of kernels of libraries also `mode`,
            deterministic or unordered, for a backward pass, and `band`, the tokens before and after a query that it
            attends to.
        warm_ups: Launches before it is returned.

    Returns:
        The launch.

    Raises:
        Unavailable: Nothing here runs the kernel.
    """
    runner = _RUNNERS.get(run["kernel"])
    if runner is None:
        raise Unavailable(f"nothing here runs {run['kernel']}")
    launch = runner(run)
    for _ in range(warm_ups):
        launch.work()
    return launch


def times_of(run: Run, launch: Launch, clock: Clock) -> list[float]:
    """Times a launch that was warmed up.

    Args:
        run: With rest_ms 0 launches follow each other.
        launch: As prepared() makes it.
        clock: What times it.

    Returns:
        Milliseconds.

    Raises:
        Unavailable: Launches cannot follow each other.
    """
    if _RUNNERS.get(run["kernel"]) is _natten:
        times = clock.of_kernels(launch.work, _NATTEN_KERNELS)
    else:
        times = clock.rested(launch.work)
    if _follow_each_other(run):
        times = clock.in_a_row(launch.work, statistics.median(times))
    return times


def refusal(error: Exception) -> str:
    """Says why there is no time.

    Args:
        error: What a kernel's library raised.

    Returns:
        A status.

    Raises:
        Exception: `error` itself, if it took the GPU's context with it.
    """
    if "CUDA error" in str(error):
        raise error
    if type(error).__name__ == "OutOfMemoryError":
        return "out of memory"
    return f"refused: {str(error).splitlines()[0][:200] if str(error) else type(error).__name__}"


def measured(run: Run, clock: Clock) -> Run:
    """Times one run.

    Args:
        run: As prepared() takes it.
        clock: What times it.

    Returns:
        The run with `ms` (the median), `min_ms`, `max_ms` and `times`, milliseconds; and with `status`: `measured`,
        or why there is no time.
    """
    try:
        times = times_of(run, prepared(run), clock)
    except (Unavailable, RuntimeError, ValueError) as error:
        return {**run, "status": refusal(error)}
    return {**run, "ms": statistics.median(times), "min_ms": min(times), "max_ms": max(times), "times": times,
            "status": "measured"}


def is_suspect(run: Run) -> bool:
    """Whether the repetitions of a measured run scatter by more than a tenth of their median."""
    return float(run["max_ms"]) - float(run["min_ms"]) > _SUSPECT_SPREAD * float(run["ms"])


def write_runs(path: str, runs: Iterable[Run]) -> None:
    """Writes what `natten-sim calibrate` reads.

    Args:
        path: Of the CSV file.
        runs: As measured() returns them; those without a time are left out.
    """
    kept = [{name: value for name, value in run.items() if name not in ("times", "status")} for run in runs
            if run["status"] == "measured"]
    columns = list(dict.fromkeys(name for run in kept for name in run))
    with open(path, "w", encoding="utf-8", newline="") as file:
        table = csv.DictWriter(file, columns)
        table.writeheader()
        table.writerows(kept)


def _program(arguments: list[str]) -> str:
    from natten_sim.__main__ import program

    found = program()
    if found is None:
        sys.exit("natten-sim: error: the program is not installed with this package")
    answered = subprocess.run([found, *arguments], capture_output=True, text=True, check=False)
    if answered.returncode != 0:
        sys.exit(answered.stderr)
    sys.stderr.write(answered.stderr)
    return answered.stdout


def _device(given: str | None) -> str:
    if given:
        return given
    import torch

    from natten_sim._check import device_name

    return device_name(torch.cuda.get_device_name(0))


def _asked_runs(arguments: argparse.Namespace, device: str) -> list[Run]:
    if arguments.runs:
        with open(arguments.runs, encoding="utf-8") as file:
            text = file.read()
    else:
        text = _program(["calibrate", "--plan", "--kernel", arguments.kernel, "--device", device, "--head-dim",
                         str(arguments.head_dim), "--suggestions", str(arguments.suggestions), "--csv"])
    rows = csv.DictReader(line for line in text.splitlines() if line and not line.startswith("#"))
    return [{"kernel": arguments.kernel, "device": device, **{name: value for name, value in row.items() if value}}
            for row in rows]


def main(words: list[str] | None = None) -> int:
    """Runs what the arguments ask for.

    Args:
        words: Arguments; None: those of the process.

    Returns:
        0: all runs have a time; 3: some have none; 4: there is no GPU.
    """
    parser = argparse.ArgumentParser(prog="python -m natten_sim.measure",
                                     description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--kernel", default="cudnn", help=", ".join(_RUNNERS) + " [cudnn]")
    parser.add_argument("--device", help="name of this GPU (natten-sim list devices) [what the driver calls it]")
    parser.add_argument("--head-dim", type=int, default=128, help="head dim of the plan [128]")
    parser.add_argument("--suggestions", type=int, default=6, help="runs of the plan [6]")
    parser.add_argument("--runs", help="CSV file of the runs instead of a plan; columns of natten-sim calibrate")
    parser.add_argument("--save", help="write the costs, for --costs of every subcommand")
    parser.add_argument("--table", help="write the measured runs, for natten-sim calibrate")
    arguments = parser.parse_args(words)
    import torch

    if not torch.cuda.is_available():
        print("natten-sim: error: this needs a CUDA GPU, but PyTorch sees none", file=sys.stderr)
        return 4
    asked, clock, done = _asked_runs(arguments, _device(arguments.device)), Clock(), []
    for run in asked:
        done.append(measured(run, clock))
        torch.cuda.empty_cache()
        last = done[-1]
        shown = f"{last['ms']:.4f} ms" if "ms" in last else last["status"]
        suspect = f", suspect: repetitions from {last['min_ms']:.4f} to {last['max_ms']:.4f} ms" if (
            "ms" in last and is_suspect(last)) else ""
        print(f"{run['kernel']} {run.get('pass', 'forward')} {run['input']} window {run['window']}: {shown}{suspect}",
              flush=True)
    if not any(run["status"] == "measured" for run in done):
        return 3
    with tempfile.TemporaryDirectory() as folder:
        table = arguments.table or f"{folder}/runs.csv"
        write_runs(table, done)
        words_of_fit = ["calibrate", table, "--source",
                        f"measured on {torch.cuda.get_device_name(0)} by natten_sim.measure"]
        print(_program(words_of_fit + (["--save", arguments.save] if arguments.save else [])), end="")
    return 0 if all(run["status"] == "measured" for run in done) else 3


if __name__ == "__main__":
    sys.exit(main())
