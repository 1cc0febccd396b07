"""Triton: leave out configurations before any is compiled.

    @triton.autotune(configs, key=["tokens"], prune_configs_by={
        "early_config_prune": natten_sim.triton.early_config_prune(
            lambda config, arguments: {"input": arguments["tokens"], "window": 512,
                                       "q_tile": config.kwargs["BLOCK_M"], "kv_tile": config.kwargs["BLOCK_N"]},
            top=4)})
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from natten_sim._ranking import Question, floor_ms, ranked


def early_config_prune(
    question: Question, *, top: int = 8, device: str | None = None, ctas_per_sm: int = 1
) -> Callable[..., list[Any]]:
    """A hook for `prune_configs_by`: keeps the `top` configurations with the least floors (floor_ms).

    Args:
        question: Called with a config and a dict of the kernel's arguments; returns keywords of count().
        top: How many are kept, at least one. Where none makes sense, all are.
        device: Whose rates are used, see devices() [the GPU that PyTorch would run on].
        ctas_per_sm: Workgroups resident on an SM, 1 or more.

    Returns:
        A function (configs, arguments) that returns a list of some of the configs, the fastest first.

    Raises:
        Error: When the hook is called: the device is not in the catalog, or is not named where there is no GPU.

    Source:
        The floor: two products of 2 FLOPs a pair and dim, and K and V once a pair of tiles from the L2.
    """

    def prune(configs: list[Any], named_args: dict[str, Any], **kwargs: Any) -> list[Any]:
        arguments = {**named_args, **kwargs}
        kept = ranked(configs, lambda config: question(config, arguments), device, ctas_per_sm)
        return kept[: max(1, top)] or list(configs)

    return prune


def perf_model(
    question: Callable[[dict[str, Any]], dict[str, Any]], *, device: str | None = None, ctas_per_sm: int = 1
) -> Callable[..., float]:
    """A hook for `prune_configs_by` with `top_k`: the floor of a configuration.

    Args:
        question: Called with a dict of the kernel's arguments and the config's; returns keywords of count().
        device: Whose rates are used, see devices() [the GPU that PyTorch would run on].
        ctas_per_sm: Workgroups resident on an SM, 1 or more.

    Returns:
        A function that returns milliseconds.

    Raises:
        Error: When the hook is called: the device is not in the catalog, or is not named where there is no GPU, or the
            configuration makes no sense.

    Source:
        As early_config_prune().
    """

    def model(**arguments: Any) -> float:
        return floor_ms(question(arguments), device, ctas_per_sm)

    return model
