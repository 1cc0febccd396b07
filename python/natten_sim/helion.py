"""Helion: seed and filter the search of an autotuned kernel.

    ask = lambda config: {"input": 65536, "window": 4096, "q_tile": config["block_sizes"][0],
                          "kv_tile": config["block_sizes"][1]}
    seeds = natten_sim.helion.autotune_seed_configs(candidates, ask, top=4)

    @helion.kernel(autotune_seed_configs=seeds, autotune_config_filter=natten_sim.helion.autotune_config_filter(
        ask, within=2.0, best=seeds[0]))
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from natten_sim._error import Error
from natten_sim._ranking import cost, ranked


def autotune_seed_configs(
    candidates: Iterable[Any], question: Callable[[Any], dict[str, Any]], *, top: int = 4, workers: int = 132
) -> list[Any]:
    """The `top` of `candidates` whose tiles cost least, cheapest first.

    Args:
        candidates: helion.Config objects, or whatever `question` understands.
        question: Returns keywords of count() for a candidate.
        workers: Workgroups that run at a time.
    """
    return ranked(candidates, question, workers)[:top]


def autotune_config_filter(
    question: Callable[[Any], dict[str, Any]], *, best: Any, within: float = 2.0, workers: int = 132
) -> Callable[[Any], Any]:
    """A filter that drops configurations whose tiles cost more than `within` times those of `best`.

    The filter returns the configuration, or None to drop it; what makes no sense is dropped.
    """
    limit = within * cost(question(best), workers)

    def keep(config: Any) -> Any:
        try:
            return config if cost(question(config), workers) <= limit else None
        except Error:
            return None

    return keep
