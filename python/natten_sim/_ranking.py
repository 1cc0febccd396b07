"""Which configurations of an autotuner are worth a try, by what their tiles cost."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from natten_sim import _core
from natten_sim._error import Error

Config = TypeVar("Config")
# What a configuration asks of count(): its tiles, and what else depends on it.
Question = Callable[..., dict[str, Any]]

_BYTES = {"fp32": 4, "fp16": 2, "bf16": 2, "e4m3": 1, "e5m2": 1}


@functools.lru_cache
def rates(device: str) -> tuple[float, float, int]:
    """Of a device of the catalog: products in FLOP/s, bytes/s from its L2, and SMs.

    Raises:
        Error: The catalog does not have the device, or not all three.
    """
    entry = next((entry for entry in _core.devices() if entry.name == device), None)
    numbers = entry["values"] if entry else {}
    names = ("dense_bf16_flops_per_s", "l2_hit_bandwidth_bytes_per_s", "sms")
    if any(name not in numbers for name in names):
        known = ", ".join(entry.name for entry in _core.devices() if all(name in entry["values"] for name in names))
        raise Error(f"device: '{device}' is not valid; accepted: {known}", "device", device, known)
    flops, bandwidth, sms = (numbers[name].value for name in names)
    return flops, bandwidth, sms


def floor_ms(keywords: dict[str, Any], device: str, ctas_per_sm: int = 1) -> float:
    """The least time of a forward kernel with these tiles, by the device's rates.

    A pair of tiles takes as long as its two products, or as its K and V tiles take from the L2, whichever is longer;
    the kernel takes at least as long as its busiest Q tile, and as all tiles spread over the workgroups. It compares
    configurations: a kernel takes longer.

    Raises:
        Error: The configuration makes no sense.
    """
    flops_per_s, bytes_per_s, sms = rates(device)
    answer = _core.count(**keywords)
    asked = answer.input
    workers = sms * ctas_per_sm
    pairs = answer.mma_pairs / answer.visited_tiles  # of tokens, of one pair of tiles
    kv_tokens = 1
    for size in asked.kv_tile:
        kv_tokens *= size
    dims = asked.head_dim + asked.dim_value
    pair_of_tiles_s = workers * max(2 * pairs * dims / flops_per_s, kv_tokens * dims * _BYTES[asked.dtype] / bytes_per_s)
    tiles = asked.batch_size * asked.heads * answer.visited_tiles
    return float(1e3 * pair_of_tiles_s * max(answer.max_tiles_per_q_tile, tiles / workers))


def ranked(configs: Iterable[Config], ask: Callable[[Config], dict[str, Any]], device: str, ctas: int) -> list[Config]:
    """The fastest first; those that make no sense are left out. Ties keep their order."""
    rates(device)  # an unknown device is the caller's mistake, not a configuration's
    floors: list[tuple[float, int, Config]] = []
    for number, config in enumerate(configs):
        try:
            floors.append((floor_ms(ask(config), device, ctas), number, config))
        except Error:
            continue
    return [config for _, _, config in sorted(floors, key=lambda one: one[:2])]
