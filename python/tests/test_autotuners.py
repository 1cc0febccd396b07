"""Hooks of autotuners, and what is said where PyTorch is missing."""

from __future__ import annotations

import importlib
import sys
import types
from typing import Any

import natten_sim
import pytest


class Config:
    """Of Triton and of Helion, as far as questions look at them."""

    def __init__(self, block_m: int, block_n: int) -> None:
        self.kwargs = {"BLOCK_M": block_m, "BLOCK_N": block_n}

    def __repr__(self) -> str:
        return str(tuple(self.kwargs.values()))


def test_hooks_keep_the_configurations_whose_tiles_cost_least() -> None:
    configs = [Config(m, n) for m in (16, 32, 64, 128) for n in (16, 32, 64, 128)]

    def ask(config: Config, arguments: dict[str, Any] | None = None) -> dict[str, Any]:
        tokens = arguments["tokens"] if arguments else 4096
        return {"input": tokens, "window": 512, "q_tile": config.kwargs["BLOCK_M"], "kv_tile": config.kwargs["BLOCK_N"]}

    # The H200 of the catalog: 790 TFLOP/s, 8.6968 TB/s from the L2, 132 SMs; head dims 64, two bytes.
    def floor(config: Config) -> float:
        answer = natten_sim.count(**ask(config))
        m, n = config.kwargs["BLOCK_M"], config.kwargs["BLOCK_N"]
        pair = max(4 * m * n * 64 / 790e12, 2 * n * 64 * 2 / 8.6968e12)
        return float(max(132 * answer.max_tiles_per_q_tile, answer.visited_tiles) * pair * 1e3)

    kept = natten_sim.triton.early_config_prune(ask, top=3, device="h200")(configs, {"tokens": 4096}, num_warps=4)
    assert len(kept) == 3
    assert max(map(floor, kept)) <= min(floor(config) for config in configs if config not in kept)
    assert natten_sim.helion.autotune_seed_configs(configs, ask, top=3, device="h200") == kept
    keep = natten_sim.helion.autotune_config_filter(ask, best=kept[0], within=1.5, device="h200")
    assert [config for config in configs if keep(config)] == [
        config for config in configs if floor(config) <= 1.5 * floor(kept[0])]
    model = natten_sim.triton.perf_model(lambda arguments: ask(Config(arguments["BLOCK_M"], arguments["BLOCK_N"])),
                                         device="h200")
    assert model(BLOCK_M=64, BLOCK_N=32, tokens=4096) == pytest.approx(floor(Config(64, 32)), rel=1e-12)
    with pytest.raises(natten_sim.Error, match="device: 'h2000'"):
        natten_sim.helion.autotune_seed_configs(configs, ask, device="h2000")
    # Where nothing makes sense, Triton still has to try something.
    nonsense = natten_sim.triton.early_config_prune(lambda config, arguments: {"input": 8, "window": 9},
                                                      device="h200")
    with pytest.warns(UserWarning, match="no configuration makes sense: window: 9"):
        assert nonsense(configs, {}) == configs
    for wrong in ({"ctas_per_sm": 0}, {"within": 0.5}):
        with pytest.raises(natten_sim.Error, match="1 or more"):
            natten_sim.helion.autotune_config_filter(ask, best=kept[0], device="h200", **wrong)


def test_hooks_take_the_device_that_pytorch_runs_on_and_assume_none(monkeypatch: pytest.MonkeyPatch) -> None:
    def ask(config: Config) -> dict[str, Any]:
        return {"input": 4096, "window": 512, "q_tile": config.kwargs["BLOCK_M"], "kv_tile": config.kwargs["BLOCK_N"]}

    torch: Any = types.ModuleType("torch")
    torch.cuda = types.SimpleNamespace(is_available=lambda: True, get_device_name=lambda: "NVIDIA B200")
    monkeypatch.setitem(sys.modules, "torch", torch)
    here = natten_sim.triton.perf_model(lambda arguments: ask(Config(64, 64)))
    assert here() == natten_sim.triton.perf_model(lambda arguments: ask(Config(64, 64)), device="b200")()
    assert here() != natten_sim.triton.perf_model(lambda arguments: ask(Config(64, 64)), device="h200")()
    torch.cuda.is_available = lambda: False
    configs = [Config(64, 64), Config(128, 64)]
    for refused in (lambda: natten_sim.triton.early_config_prune(lambda config, arguments: ask(config))(configs, {}),
                    lambda: natten_sim.helion.autotune_seed_configs(configs, ask),
                    lambda: natten_sim.helion.autotune_config_filter(ask, best=configs[0])):
        with pytest.raises(natten_sim.Error, match="device: not given"):
            refused()


@pytest.mark.parametrize("device", ["a100", "b200", "h100", "h200", "h800"])
def test_hooks_rank_on_every_gpu_whose_rates_are_known(device: str) -> None:
    configs = [Config(m, n) for m in (16, 64, 256) for n in (32, 64)]

    def ask(config: Config) -> dict[str, Any]:
        return {"input": 4096, "window": 512, "heads": 64, "q_tile": config.kwargs["BLOCK_M"], "kv_tile": config.kwargs["BLOCK_N"]}

    seeds = natten_sim.helion.autotune_seed_configs(configs, ask, top=6, device=device)
    assert sorted(map(repr, seeds)) == sorted(map(repr, configs))
    # A Q tile of 16 loads K and V 16 times as often as one of 256, and so is last wherever the L2 limits.
    assert seeds[-1].kwargs["BLOCK_M"] == 16


def test_what_needs_pytorch_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in [name for name in sys.modules if name == "natten_sim.ops" or name.startswith("natten_sim.ops.")]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(ModuleNotFoundError, match=r"natten_sim.ops needs torch: pip install natten-sim\[ops\]"):
        importlib.import_module("natten_sim.ops")
    with pytest.raises(ModuleNotFoundError, match=r"check\(\) needs torch: pip install natten-sim\[ops\]"):
        natten_sim.check(None, None, None)
