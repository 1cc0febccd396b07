"""The times of one attention call by all kernels that make it."""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from natten_sim import _core
from natten_sim._error import Error
from natten_sim.natten import kwargs as natten_kwargs

if TYPE_CHECKING:
    from natten_sim._calls import Found

# Kernels of full and causal sequences, and how each is called on tensors (batch, heads, tokens, head dim).
_SEQUENCES = {
    "fa2": "with sdpa_kernel(SDPBackend.FLASH_ATTENTION): scaled_dot_product_attention(q, k, v{causal}{gqa})",
    "cudnn": "with sdpa_kernel(SDPBackend.CUDNN_ATTENTION): scaled_dot_product_attention(q, k, v{causal}{gqa})",
    "fa3": "flash_attn_interface.flash_attn_func(q.mT, k.mT, v.mT{flash})",
    "fa4": "flash_attn.cute.flash_attn_func(q.mT, k.mT, v.mT{flash})",
    "ours": "natten_sim.ops.attention(q, k, v{flash})",
}
_BLOCKS = (64, 128, 256)
_PYTORCHS_CHOICE = "fa2"  # of SDPA, unless a program says otherwise


@dataclasses.dataclass(frozen=True)
class Way:
    """One way to make a call.

    Attributes:
        kernel: As times name it.
        call: Python that makes the call; empty: the one that is made.
        total, low, high: Milliseconds of its passes, and the interval.
        gain: How many times as fast as the call that is made; None where that has no time.
        gain_low, gain_high: By the ends of both intervals.
        question: Keywords of time() or mask() that it was asked with.
    """

    kernel: str
    call: str
    total: float
    low: float
    high: float
    gain: float | None = None
    gain_low: float | None = None
    gain_high: float | None = None
    question: Mapping[str, Any] = dataclasses.field(default_factory=dict, repr=False)


def _summed(kernel: str, call: str, times: Sequence[Any], question: dict[str, Any]) -> Way | None:
    """The passes together; None where one has no time."""
    if not times or any(each is None for each in times):
        return None
    total, low, high = (math.fsum(each[name] for each in times) for name in ("total", "low", "high"))
    return Way(kernel, call, total, low, high, question=question)


class Ways:
    """Times of a call by all kernels that make it."""

    def __init__(self, found: Found, device: str, catalog: Any) -> None:
        self.found, self.device, self.catalog = found, device, catalog
        self.asked = found.question
        self.passes = ("forward", "backward") if found.backward else ("forward",)

    def sequence(self, kernel: str) -> Way | None:
        """A full or causal sequence by a dense kernel."""
        names = ("input", "window", "causal", "heads", "heads_kv", "head_dim", "dim_value", "batch_size", "dtype")
        asked: dict[str, Any] = {name: self.asked[name] for name in names if name in self.asked}
        causal = any(self.asked.get("causal") or ())
        grouped = self.asked["heads"] != self.asked["heads_kv"]
        call = _SEQUENCES[kernel].format(causal=", is_causal=True" if causal else "", flash=", causal=True" if causal else "",
                                         gqa=", enable_gqa=True" if grouped else "").replace(".mT", ".transpose(1, 2)")
        question: dict[str, Any] = {"kernel": kernel, "device": self.device, **asked}
        return _summed(kernel, call, [self._time({**question, "phase": phase}) for phase in self.passes], question)

    def _time(self, question: dict[str, Any]) -> Any:
        try:
            return _core.time(**question, catalog=self.catalog).time_ms
        except Error:
            return None

    def blocks(self, kernel: str, q_tile: int | None, kv_tile: int | None) -> Way | None:
        """A mask by lists of blocks."""
        rule = self.found.mask or ("causal" if any(self.asked.get("causal") or ()) else "full")
        named = ("heads", "heads_kv", "batch_size", "head_dim", "dtype")
        question: dict[str, Any] = {"mask": rule, "kernel": kernel, "device": self.device, **{name: self.asked[name] for name in named}}
        if isinstance(rule, str):
            question["seqlen_q"] = self.asked["input"][0]
            if q_tile:
                question.update(q_tile=q_tile, kv_tile=kv_tile)
        try:
            answer = _core.mask(**question, backprop=self.found.backward, catalog=self.catalog)
        except (Error, TypeError):
            return None
        times = [answer.time_ms, *([answer.backward.time_ms] if self.found.backward else [])]
        plan = f"plan = natten_sim.flex.plan(mask={rule!r}, seqlen_q={self.asked['input'][0]}, q_tile={q_tile}, kv_tile={kv_tile})"
        call = (f"{plan}; flex_attention(q, k, v, block_mask=plan.block_mask())" if kernel == "flexattention"
                else f"{plan}; natten_sim.flash4.forward(plan) for flash_attn.cute") if isinstance(rule, str) else ""
        return _summed(kernel, call, times, question)

    def natten(self, backend: str, q_tile: Any, kv_tile: Any) -> Way | None:
        """A neighborhood by a backend's kernel with these tiles; its other pass has its own."""
        try:
            counted = _core.count(**self.asked, device=self.device, backend=backend, q_tile=q_tile, kv_tile=kv_tile,
                                  backprop=self.found.backward, catalog=self.catalog)
            call = natten_kwargs(counted)
        except Error:
            return None
        if counted.kernel is None:
            return None
        times = [counted.time_ms, *([counted.backward.time_ms] if self.found.backward and counted.backward else [])]
        words = ", ".join(f"{name}={value!r}" for name, value in call.items())
        rank = len(self.asked["input"])
        return _summed(backend, f"natten.na{rank}d(query, key, value, {words})", times,
                       {**self.asked, "kernel": backend, "q_tile": tuple(counted.input.q_tile),
                        "kv_tile": tuple(counted.input.kv_tile)})

    def now(self) -> Way | None:
        kind = self.found.kind
        if kind == "natten":
            counted = _core.count(**self.asked, device=self.device, backprop=self.found.backward, catalog=self.catalog)
            times = [counted.time_ms, *([counted.backward.time_ms] if self.found.backward and counted.backward else [])]
            kernel = counted.kernel.name if counted.kernel else ""
            return _summed(kernel, "", times, {**self.asked, "kernel": kernel, "q_tile": tuple(counted.input.q_tile),
                                               "kv_tile": tuple(counted.input.kv_tile)})
        if kind == "flexattention" or (self.found.mask is not None and kind == "fa4"):
            way = self.blocks(kind, None, None)
        elif self.found.mask is not None:
            return None
        else:
            way = self.sequence(_PYTORCHS_CHOICE if kind == "sdpa" else kind)
        return dataclasses.replace(way, call="") if way else None

    def others(self) -> list[Way]:
        """Each kernel once, with its fastest tiles."""
        if self.found.kind == "natten":
            rank = len(self.asked["input"])
            pairs = [(backend.name, pair.q_tile, pair.kv_tile) for backend in _core.backends() for pair in backend.forward
                     if len(pair.q_tile) == rank]
            ways = [self.natten(*pair) for pair in dict.fromkeys(pairs)]
        elif self.found.mask is None or self.found.mask == "full":
            ways = [*(self.sequence(kernel) for kernel in _SEQUENCES), *self._by_blocks()]
        else:
            ways = list(self._by_blocks()) if isinstance(self.found.mask, str) else [self.blocks("fa4", None, None)]
        best: dict[str, Way] = {}
        for way in ways:
            if way and (way.kernel not in best or way.total < best[way.kernel].total):
                best[way.kernel] = way
        return sorted(best.values(), key=lambda way: way.total)

    def _by_blocks(self) -> Iterable[Way | None]:
        for kernel in ("flexattention", *(["fa4"] if self.found.mask not in (None, "full") else [])):
            for q_tile, kv_tile in itertools.product(_BLOCKS, _BLOCKS):
                yield self.blocks(kernel, q_tile, kv_tile)
