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
from natten_sim._ranking import device_here, floor_ms, ranked


def autotune_seed_configs(
    candidates: Iterable[Any], question: Callable[[Any], dict[str, Any]], *, top: int = 4, device: str | None = None,
    ctas_per_sm: int = 1,
) -> list[Any]:
    """The `top` of `candidates` with the least floors, the fastest first.

    Args:
        candidates: helion.Config objects, or whatever `question` understands.
        question: Returns keywords of count() for a candidate.
        top: How many, 1 or more.
        device: Whose rates are used, see devices() [the GPU that PyTorch would run on].
        ctas_per_sm: Workgroups resident on an SM, 1 or more.

    Returns:
        Some of the candidates as they are; those that make no sense are left out.

    Raises:
        Error: The device is not in the catalog, or is not named where there is no GPU.

    Source:
        The floor of natten_sim.triton.early_config_prune().
    """
    return ranked(candidates, question, device, ctas_per_sm)[:top]


def autotune_config_filter(
    question: Callable[[Any], dict[str, Any]], *, best: Any, within: float = 2.0, device: str | None = None,
    ctas_per_sm: int = 1,
) -> Callable[[Any], Any]:
    """A filter that drops configurations whose floor is more than `within` times that of `best`.

    Args:
        question: Returns keywords of count() for a configuration.
        best: The configuration to compare with.
        within: How many times its floor is still kept, 1 or more.
        device: Whose rates are used, see devices() [the GPU that PyTorch would run on].
        ctas_per_sm: Workgroups resident on an SM, 1 or more.

    Returns:
        A function that returns the configuration, or None to drop it; what makes no sense is dropped.

    Raises:
        Error: The device is not in the catalog, or is not named where there is no GPU; `within` is below 1, or `best` makes no sense.

    Source:
        The floor of natten_sim.triton.early_config_prune().
    """
    if within < 1:
        raise Error(f"within: {within} is not valid; accepted: 1 or more", "within", str(within), "1 or more", "2")
    whose = device or device_here()
    limit = within * floor_ms(question(best), whose, ctas_per_sm)

    def keep(config: Any) -> Any:
        try:
            return config if floor_ms(question(config), whose, ctas_per_sm) <= limit else None
        except Error:
            return None

    return keep
