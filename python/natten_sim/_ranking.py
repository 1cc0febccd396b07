"""Which configurations of an autotuner are worth a try, by what their tiles cost."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from natten_sim import _core
from natten_sim._check import device_name
from natten_sim._error import Error

Config = TypeVar("Config")
# What a configuration asks of count(): its tiles, and what else depends on it.
Question = Callable[..., dict[str, Any]]

_BYTES = {"fp32": 4, "fp16": 2, "bf16": 2, "e4m3": 1, "e5m2": 1}


def device_here() -> str:
    """The device of the catalog that PyTorch would run on.

    Raises:
        Error: There is no GPU, or the catalog does not have it.
    """
    try:
        import torch

        name = torch.cuda.get_device_name() if torch.cuda.is_available() else ""
    except ImportError:
        name = ""
    if name:
        return device_name(name)
    accepted = "a device by name, see devices(): there is no GPU here to take it from"
    raise Error(f"device: not given; accepted: {accepted}", "device", "not given", accepted)


@functools.lru_cache
def rates(device: str) -> tuple[float, float, int]:
    """Of a device of the catalog: products in FLOP/s, bytes/s from its L2, and SMs.

    Where nobody has measured the L2 its rate is taken to be as many times the DRAM's as on the H200, where both are.

    Raises:
        Error: The catalog does not have the device, or not the rates.
    """
    devices = {entry.name: entry["values"] for entry in _core.devices()}
    names = ("dense_bf16_flops_per_s", "dram_bandwidth_bytes_per_s", "sms")
    usable = [name for name, numbers in devices.items() if all(number in numbers for number in names)]
    if device not in usable:
        known = ", ".join(usable)
        raise Error(f"device: '{device}' is not valid; accepted: {known}", "device", device, known)
    numbers, measured = devices[device], devices["h200"]
    over_dram = measured["l2_hit_bandwidth_bytes_per_s"].value / measured["dram_bandwidth_bytes_per_s"].value
    flops, dram, sms = (numbers[name].value for name in names)
    own = "l2_hit_bandwidth_bytes_per_s"
    return flops, numbers[own].value if own in numbers else over_dram * dram, sms


def require_workers(ctas_per_sm: int) -> None:
    """Raises Error unless something can run."""
    if ctas_per_sm < 1:
        accepted = "1 or more"
        raise Error(f"ctas_per_sm: {ctas_per_sm} is not valid; accepted: {accepted}", "ctas_per_sm", str(ctas_per_sm), accepted, "1")


def floor_ms(keywords: dict[str, Any], device: str | None, ctas_per_sm: int = 1) -> float:
    """The least time of a forward kernel with these tiles, by the device's rates.

    A pair of tiles takes as long as its two products, or as its K and V tiles take from the L2, whichever is longer;
    the kernel takes at least as long as its busiest Q tile, and as all tiles spread over the workgroups. It compares
    configurations: a kernel takes longer.

    Raises:
        Error: The configuration makes no sense.
    """
    flops_per_s, bytes_per_s, sms = rates(device or device_here())
    require_workers(ctas_per_sm)
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


def ranked(configs: Iterable[Config], ask: Callable[[Config], dict[str, Any]], device: str | None,
           ctas: int) -> list[Config]:
    """The fastest first; those that make no sense are left out. Ties keep their order."""
    device = device or device_here()
    rates(device)  # an unknown device is the caller's mistake, not a configuration's
    require_workers(ctas)
    floors: list[tuple[float, int, Config]] = []
    refused = None
    for number, config in enumerate(configs):
        try:
            floors.append((floor_ms(ask(config), device, ctas), number, config))
        except Error as error:
            refused = error
    if refused and not floors:
        warnings.warn(f"no configuration makes sense: {refused}", stacklevel=3)
    return [config for _, _, config in sorted(floors, key=lambda one: one[:2])]
