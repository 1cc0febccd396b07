"""Which configurations of an autotuner are worth a try, by what their tiles cost."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from natten_sim import _core
from natten_sim._error import Error

Config = TypeVar("Config")
# What a configuration asks of count(): its tiles, and what else depends on it.
Question = Callable[..., dict[str, Any]]


def cost(keywords: dict[str, Any], workers: int = 1) -> float:
    """Predicted milliseconds where count() has them, else the pairs that the busiest worker multiplies at least.

    Raises:
        Error: The configuration makes no sense.
    """
    answer = _core.count(**keywords)
    times = getattr(answer, "time_ms", None)
    if times is not None:
        return float(times.total)
    pairs_of_tile = answer.mma_pairs / answer.visited_tiles
    heads = answer.input.batch_size * answer.input.heads
    return float(max(answer.max_tiles_per_q_tile, heads * answer.visited_tiles / workers) * pairs_of_tile)


def ranked(configs: Iterable[Config], ask: Callable[[Config], dict[str, Any]], workers: int = 1) -> list[Config]:
    """Cheapest first; those that make no sense are left out. Ties keep their order."""
    costs: list[tuple[float, int, Config]] = []
    for number, config in enumerate(configs):
        try:
            costs.append((cost(ask(config), workers), number, config))
        except Error:
            continue
    return [config for _, _, config in sorted(costs, key=lambda one: one[:2])]
