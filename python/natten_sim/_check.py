"""A problem that is run and timed, beside what was predicted of it."""

from __future__ import annotations

import statistics
from collections.abc import Callable
from typing import Any, NamedTuple

from natten_sim import _core
from natten_sim._error import Error, require_torch


_BUSY_CYCLES = 2_000_000  # a millisecond: longer than any launch takes the host


class Check(NamedTuple):
    """What check() answers.

    Attributes:
        output: O.
        measured_ms: Median of the runs.
        lowest_ms, highest_ms: Of all runs.
        predicted_ms: What count() says of the kernel; None where it has no times.
        low_ms, high_ms: Its interval.
        refusal: Why nothing is predicted; empty where something is.
        device: Of the catalog.
        runs: How many were timed.
    """

    output: Any
    measured_ms: float
    lowest_ms: float
    highest_ms: float
    predicted_ms: float | None
    low_ms: float | None
    high_ms: float | None
    refusal: str
    device: str
    runs: int

    def __repr__(self) -> str:
        if self.predicted_ms is None:
            return f"Check(measured {self.measured_ms:.4g} ms, nothing predicted: {self.refusal})"
        off = self.measured_ms / self.predicted_ms - 1
        return (f"Check(measured {self.measured_ms:.4g} ms, predicted {self.predicted_ms:.4g} ms"
                f" [{self.low_ms:.4g}, {self.high_ms:.4g}], {off:+.1%})")


def device_name(full_name: str) -> str:
    """The device of the catalog that a driver's name contains: 'NVIDIA H200' is h200.

    Raises:
        Error: The catalog has none.
    """
    names = [str(entry.name) for entry in _core.devices()]
    words = full_name.lower().replace("-", " ").split()
    found = [name for name in names if name.lower() in words]
    if not found:
        accepted = ", ".join(names)
        raise Error(f"device: '{full_name}' is not valid; accepted: {accepted}", "device", full_name, accepted)
    return found[0]


def timed_ms(run: Callable[[], Any], runs: int) -> list[float]:
    """Milliseconds between two events, of each of several runs after three that warm up. The GPU is kept busy before
    the first event, so that what the host does to launch is not in the time."""
    import torch

    for _ in range(3):
        run()
    times = []
    for _ in range(runs):
        torch.cuda._sleep(_BUSY_CYCLES)
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        begin.record()
        run()
        end.record()
        end.synchronize()
        times.append(begin.elapsed_time(end))
    return times


def question(q: Any, k: Any, *, window: Any, stride: Any, dilation: Any, causal: Any,
             extra_tokens: int) -> dict[str, Any]:
    """Keywords of count() for a neighborhood, or for a sequence whose window is all of it."""
    from natten_sim.ops import _layout, _plans

    rank = q.dim() - 3 if window is not None else 1
    layout = tuple(q.shape[1 : 1 + rank]) if window is not None else (q.shape[2],)

    def per_axis(value: Any) -> tuple[int, ...]:
        return (int(value),) * rank if isinstance(value, (int, bool)) else tuple(int(each) for each in value)

    asked = {"input": layout, "window": layout if window is None else per_axis(window), "stride": per_axis(stride),
             "dilation": per_axis(dilation), "causal": tuple(map(bool, per_axis(causal))), "head_dim": q.shape[-1],
             "batch_size": q.shape[0], "heads": q.shape[1] if window is None else q.shape[-2],
             "heads_kv": k.shape[1] if window is None else k.shape[-2], "add_kv": extra_tokens,
             "dtype": "fp16" if _layout.DTYPES[q.dtype] else "bf16", "kernel": "ours" if window is None else "gna"}
    if window is None:
        return asked
    axes = [number for row in zip(*(asked[name] for name in ("input", "window", "stride", "dilation", "causal")),
                                  strict=True) for number in row]
    flat, flat_k = (tensor.flatten(1, rank).transpose(1, 2) for tensor in (q, k))
    strides = tuple(_layout.strides(name, tensor) for name, tensor in (("q", flat), ("k", flat_k), ("k", flat_k),
                                                                       ("q", flat)))
    shape = (*flat.shape[:2], flat_k.shape[1], flat.shape[2], flat.shape[2], flat.shape[3])
    problem = _plans.Problem(q.get_device(), shape, bool(_layout.DTYPES[q.dtype]), 0.0, strides,
                             axes=tuple(map(int, axes)))
    return {**asked, **_plans.forward(problem).extra}


def check(q: Any, k: Any, v: Any, window: Any = None, *, stride: Any = 1, dilation: Any = 1, causal: Any = False,
          extra_keys: Any = None, extra_values: Any = None, scale: float | None = None, runs: int = 20) -> Check:
    """Runs attention on tensors, times it, and says predicted beside measured.

    Args:
        q, k, v: With a window as in natten_sim.ops.neighborhood_attention(), without as in ops.attention().
        window, stride, dilation, causal, extra_keys, extra_values, scale: Likewise.
        runs: How many are timed, one after the other.

    Returns:
        A Check; its repr is the comparison.

    Raises:
        HardwareAbsent: No sm_90 GPU, or no library.
        ModuleNotFoundError: PyTorch is not installed.
        Error: The kernels do not take such tensors.

    Source:
        docs/ops.md.
    """
    require_torch("natten_sim.check()")
    import torch

    from natten_sim import ops

    def run() -> Any:
        with torch.no_grad():
            if window is None:
                return ops.attention(q, k, v, causal=bool(causal), scale=scale)
            return ops.neighborhood_attention(q, k, v, window, stride=stride, dilation=dilation, causal=causal,
                                              scale=scale, extra_keys=extra_keys, extra_values=extra_values)

    output = run()
    times = timed_ms(run, runs)
    device = device_name(torch.cuda.get_device_name(q.device))
    extra_tokens = 0 if extra_keys is None else int(extra_keys.shape[1])
    asked = question(q, k, window=window, stride=stride, dilation=dilation, causal=causal, extra_tokens=extra_tokens)
    predicted, refusal = None, ""
    try:
        predicted = _core.count(device=device, **asked).time_ms
    except Error as error:
        refusal = str(error)
    return Check(output, statistics.median(times), min(times), max(times),
                 None if predicted is None else predicted.kernel, None if predicted is None else predicted.low,
                 None if predicted is None else predicted.high, refusal, device, runs)
