"""Sixteen configurations of a windowed attention kernel: which four are worth compiling?

The hooks are those of triton.autotune (prune_configs_by) and helion.kernel (autotune_seed_configs,
autotune_config_filter). Uses Triton's own Config where Triton is installed.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import natten_sim

try:
    from triton import Config
except ImportError:

    @dataclasses.dataclass
    class Config:  # type: ignore[no-redef]
        """As much of triton.Config as the hook looks at."""

        kwargs: dict[str, int]


def question(config: Any, arguments: dict[str, Any]) -> dict[str, Any]:
    """What the kernel computes for these arguments, with the tiles of this configuration."""
    tiles = {"q_tile": config.kwargs["BLOCK_M"], "kv_tile": config.kwargs["BLOCK_N"]}
    return {"input": arguments["tokens"], "window": 1500, "causal": True, "heads": arguments["heads"], "head_dim": 128, **tiles}


def main() -> None:
    configs = [Config({"BLOCK_M": m, "BLOCK_N": n}) for m in (32, 64, 128, 256) for n in (32, 64, 128, 256)]
    prune = natten_sim.triton.early_config_prune(question, top=4, device="h200")
    for config in prune(configs, {"tokens": 16384, "heads": 16}):
        print(config.kwargs["BLOCK_M"], config.kwargs["BLOCK_N"])

    def ask(config: Any) -> dict[str, Any]:
        return question(config, {"tokens": 16384, "heads": 16})

    seeds = natten_sim.helion.autotune_seed_configs(configs, ask, top=2, device="h200")
    keep = natten_sim.helion.autotune_config_filter(ask, best=seeds[0], within=1.2, device="h200")
    print(sum(keep(config) is not None for config in configs), "of", len(configs), "within 1.2 of the best")


if __name__ == "__main__":
    main()
