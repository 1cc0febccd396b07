#!/usr/bin/env python3
"""natten_release.py rules SOURCES          prints the rules of a release of NATTEN, as data/natten/VERSION.json has them
natten_release.py check SOURCES FILE     compares them with such a file, and its tile tables with data/backends.json
natten_release.py diff OLD NEW           prints what two such files say differently, a line a rule
natten_release.py digest FILE            prints the SHA-256 of the rules in such a file

SOURCES is the folder that holds `natten/__init__.py`: `src` of an unpacked source package (pip download
natten==VERSION --no-binary :all: --no-deps), or site-packages. The rules are read off the release's own Python checks,
which are asked about every compute capability, element type and head dim on tensors that are only shapes. Neither PyTorch
nor a GPU is needed. What a release changed for users (`changes`) and whose copies it has (`copies`) is written by hand.
"""
import hashlib
import json
import os
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
CAPABILITIES = [50, 52, 53, 60, 61, 62, 70, 72, 75, 80, 86, 87, 88, 89, 90, 100, 101, 103, 110, 120, 121]
HEAD_DIMS = [*range(1, 1025), 2048, 4096, 32768, 65528, 65536, 65544, 131072]
DTYPES = ["fp16", "bf16", "fp32", "e4m3", "e5m2"]
BY_HAND = ("source", "copies", "changes")
Rules = dict[str, Any]


def fail(sentence: str) -> None:
    print(f"natten_release.py: {sentence}", file=sys.stderr)
    sys.exit(2)


class Release:
    """A release's own checks, on tensors of the made-up PyTorch of the tests."""

    def __init__(self, sources: Path) -> None:
        if not (sources / "natten" / "__init__.py").is_file():
            fail(f"{sources}: accepted: the folder that holds natten/__init__.py")
        os.environ["NATTEN_LOG_LEVEL"] = "critical"
        sys.dont_write_bytecode = True
        sys.path[:0] = [str(ROOT / "tests" / "natten_checks" / "fake_torch"), str(sources)]
        import torch

        torch.device.capability = 90  # while NATTEN is imported
        import natten
        from natten.backends import configs
        from natten.backends.configs import checks, cutlass, cutlass_blackwell, cutlass_hopper, flex

        checks.HAS_LIBNATTEN = True  # the compiled library is only asked whether it is there
        natten.allow_flex_compile()
        natten.allow_flex_compile_backprop()
        self.torch, self.natten, self.checks, self.configs = torch, natten, checks, configs
        self.tables = {"hopper": cutlass_hopper, "blackwell": cutlass_blackwell, "cutlass": cutlass, "flex": flex}
        self.dtypes = dict(zip(DTYPES, (torch.float16, torch.bfloat16, torch.float32, torch.float8_e4m3fn,
                                        torch.float8_e5m2), strict=True))

    def tensors(self, rank: int, dtype: str, head_dim: int, value_dim: int, grad: bool) -> list[Any]:
        return [self.torch.Tensor([1, *[64] * rank, 2, dim], self.dtypes[dtype], grad)
                for dim in (head_dim, head_dim, value_dim)]

    def runs(self, family: str, capability: int, dtype: str, head_dim: int, *, value_dim: int | None = None,
             grad: bool = False, deterministic: bool = False, dense: bool = False, compiled: bool = False) -> bool:
        """Whether the release runs a call by the kernels of this family."""
        self.torch.device.capability = capability
        self.torch.deterministic.enabled = deterministic
        call = self.tensors(1 if dense else 2, dtype, head_dim, value_dim or head_dim, grad)
        if family == "flex":
            return bool(self.checks.can_run_flex_attention(*call, torch_compile=compiled))
        name = {"hopper": "cutlass_hopper", "blackwell": "cutlass_blackwell", "cutlass": "cutlass"}[family]
        if dense:
            return bool(getattr(self.checks, f"can_run_{name}_fmha")(*call, is_causal=False, is_varlen=False))
        return bool(getattr(self.checks, f"can_run_{name}_fna")(*call))

    def tiles(self, family: str, which: str, rank: int, capability: int, head_dim: int) -> list[list[list[int]]]:
        """All pairs of shapes that a pass has, in NATTEN's order; the default alone for which="default_..."."""
        self.torch.device.capability = capability
        tensor = self.tensors(rank, "fp16", head_dim, head_dim, which.endswith("backward"))[0]
        table, names = self.tables[family], {"forward": "", "backward": ""}
        kind, _, walk = which.rpartition("_")
        for name in ((f"get_default_{walk}_config", f"get_default_{walk}_tile_shapes") if kind
                     else (f"get_all_{walk}_configs", f"get_all_tile_shapes_{walk}")):
            if hasattr(table, name):
                found = getattr(table, name)(tensor)
                return [pair_of(found)] if kind else [pair_of(entry) for entry in found]
        assert family == "flex" and walk in names, (family, which)
        return []


def pair_of(entry: Any) -> list[list[int]]:
    """The Q and the KV shape of an entry, which may be ((q, kv), schedule)."""
    pair = entry[0] if isinstance(entry[0][0], tuple) else entry
    return [list(shape) for shape in pair]


def head_dim_rule(accepted: Callable[[int], bool]) -> Rules:
    dims = [dim for dim in HEAD_DIMS if accepted(dim)]
    lowest, highest = dims[0], dims[-1]
    multiple = next(step for step in (16, 8, 4, 2, 1) if all(dim % step == 0 for dim in dims))
    if dims == [dim for dim in HEAD_DIMS if lowest <= dim <= highest and dim % multiple == 0]:
        return {"lowest": lowest, "highest": highest, "multiple": multiple}
    if dims == [dim for dim in HEAD_DIMS if lowest <= dim <= highest and dim & (dim - 1) == 0] and len(dims) > 4:
        return {"lowest": lowest, "highest": highest, "power_of_two": True}
    return {"only": dims}


def capability_rule(accepted: Iterable[int], among: list[int] = CAPABILITIES) -> Rules:
    found = list(accepted)
    if len(found) > 4 and found == [each for each in among if each >= found[0]]:
        return {"lowest_compute_capability": found[0]}
    return {"compute_capabilities": found}


def default_tiles(release: Release, family: str, capability: int, head_dim: int) -> list[Rules]:
    found = []
    for rank in (1, 2, 3):
        passes = {}
        for walk in ("forward", "backward"):
            for q_tile, kv_tile in release.tiles(family, f"default_{walk}", rank, capability, head_dim):
                passes[walk] = {"q_tile": q_tile, "kv_tile": kv_tile}
        found.append(passes)
    return found


def gemm_rules(release: Release) -> list[Rules]:
    """Where cutlass-fna has its forward tiles of 64x128: at most capabilities or at all but a few."""
    tables = release.tables["cutlass"]
    large = [pair_of(entry) for entry in tables._FNA_FORWARD_64x128_TILE_SIZES[2]]
    usual = [each for each in CAPABILITIES if each >= 60]
    has = [each for each in usual
           if all(pair in release.tiles("cutlass", "forward", 2, each, 64) for pair in large)]
    if len(has) > len(usual) / 2:
        return [{"gemm": "64x128", "without_compute_capabilities": [each for each in usual if each not in has]}]
    return [{"gemm": "64x128", "compute_capabilities": has}]


def backend_rules(release: Release, family: str) -> Rules:
    dim = 64
    capabilities = [each for each in CAPABILITIES if release.runs(family, each, "fp16", dim)]
    at = capabilities[-1] if family == "cutlass" else capabilities[0]
    rules: Rules = {"backend": f"{family}-fna", **capability_rule(capabilities)}
    trained = [dtype for dtype in DTYPES if release.runs(family, at, dtype, dim, grad=True)]
    forward = [dtype for dtype in DTYPES if release.runs(family, at, dtype, dim) and dtype not in trained]
    rules["dtypes"] = trained
    if forward:
        rules["forward_dtypes"] = forward
    dims = head_dim_rule(lambda each: release.runs(family, at, "fp16", each))
    rules["head_dims"] = dims
    optional = {"backward_head_dims": head_dim_rule(lambda each: release.runs(family, at, "fp16", each, grad=True))}
    if forward:
        optional["fp8_head_dims"] = head_dim_rule(lambda each: release.runs(family, at, forward[0], each))
    if family == "flex":
        rules["compiled_dtypes"] = [each for each in DTYPES if release.runs(family, at, each, dim, compiled=True)]
        optional["compiled_head_dims"] = head_dim_rule(
            lambda each: release.runs(family, at, "fp16", each, compiled=True))
    rules.update({name: rule for name, rule in optional.items() if rule != dims})
    if release.runs(family, at, "fp16", 64, value_dim=128):
        rules["value_head_dim_may_differ"] = True
    if family != "flex":
        for name, dense in (("deterministic_backward", False), ("deterministic_dense_backward", True)):
            if not release.runs(family, at, "fp16", dim, grad=True, deterministic=True, dense=dense):
                rules[name] = False
    if family == "hopper":
        largest = max(dims["only"])
        if not release.tiles(family, "backward", 2, at, largest):
            rules["backward_config_required"] = refuses_inference(release, at, largest)
    else:
        rules["default_tiles"] = default_tiles(release, family, at, dim)
    if family == "cutlass":
        rules["forward_gemms"] = gemm_rules(release)
    return rules


def refuses_inference(release: Release, capability: int, head_dim: int) -> bool:
    """Whether a call without a backward pass is refused where no configuration for one exists."""
    release.torch.device.capability = capability
    release.torch.deterministic.enabled = False
    try:
        release.natten.na2d(*release.tensors(2, "fp16", head_dim, head_dim, False), kernel_size=(8, 8),
                            backend="hopper-fna")
    except (ValueError, NotImplementedError, RuntimeError, AssertionError):
        return True
    return False


def rules_of(release: Release) -> Rules:
    return {"schema": "natten-sim.natten-release/1", "version": release.natten.__version__,
            "backends": [backend_rules(release, family) for family in ("hopper", "blackwell", "cutlass", "flex")]}


def flattened(value: Any, name: str = "") -> dict[str, Any]:
    """Members by dotted names; backends by theirs."""
    if isinstance(value, list) and value and all(isinstance(each, dict) and "backend" in each for each in value):
        value = {each["backend"]: {key: member for key, member in each.items() if key != "backend"} for each in value}
    if not isinstance(value, dict):
        return {name: value}
    found = {}
    for key, member in value.items():
        found.update(flattened(member, f"{name}.{key}" if name else key))
    return found


def differences(old: Rules, new: Rules) -> list[str]:
    a, b = flattened(old), flattened(new)
    lines = []
    for name in [*a, *(each for each in b if each not in a)]:
        if a.get(name) == b.get(name) or name in BY_HAND or name == "version":
            continue
        before, after = (json.dumps(side[name]) if name in side else "none" for side in (a, b))
        lines.append(f"{name.removeprefix('backends.')}: {before} -> {after}")
    return lines


def digest(rules: Rules) -> str:
    flat = {name: value for name, value in flattened(rules).items() if name not in BY_HAND}
    return hashlib.sha256(json.dumps(flat, sort_keys=True).encode()).hexdigest()


def stored_pairs(backend: Rules, walk: str, rank: int) -> set[str]:
    """Tile pairs of data/backends.json, of all head dims and GEMMs."""
    tables = [backend[walk]] if walk in backend else list(backend.get(f"{walk}_by_gemm", {}).values())
    entries: list[Rules] = []
    for table in tables:
        of_rank = table.get(f"{rank}d", [])
        entries += [entry for group in of_rank.values() for entry in group] if isinstance(of_rank, dict) else of_rank
    return {json.dumps([entry["q_tile"], entry["kv_tile"]]) for entry in entries}


def tile_differences(release: Release) -> list[str]:
    """Where the release's tables of tile shapes are not those of data/backends.json."""
    backends = json.loads((ROOT / "data" / "backends.json").read_text())["backends"]
    lines = []
    for name, backend in backends.items():
        family = name.removesuffix("-fna")
        capabilities = {"hopper": [90], "blackwell": [100]}.get(family, [70, 80, 86])
        for walk in ("forward", "backward"):
            for rank in (1, 2, 3):
                own = {json.dumps(pair) for each in capabilities for dim in (32, 64, 128, 256)
                       for pair in release.tiles(family, walk, rank, each, dim)}
                stored = stored_pairs(backend, walk, rank)
                lines += [f"{name}: {walk} pair {pair} is not in data/backends.json" for pair in sorted(own - stored)]
                lines += [f"{name}: {walk} pair {pair} is in data/backends.json alone" for pair in sorted(stored - own)]
    return lines


def main() -> int:
    if len(sys.argv) < 3:
        print(__doc__, file=sys.stderr)
        return 2
    command, first, *rest = sys.argv[1:]
    if command == "digest":
        print(digest(json.loads(Path(first).read_text())))
        return 0
    if command == "diff" and len(rest) == 1:
        print("\n".join(differences(*(json.loads(Path(path).read_text()) for path in (first, rest[0])))))
        return 0
    if command not in ("rules", "check") or len(rest) != (command == "check"):
        fail(f"{' '.join(sys.argv[1:])}: accepted: rules SOURCES, check SOURCES FILE, diff OLD NEW, digest FILE")
    release = Release(Path(first).resolve())
    rules = rules_of(release)
    if command == "rules":
        print(json.dumps(rules, indent=1))
        return 0
    lines = differences(json.loads(Path(rest[0]).read_text()), rules) + tile_differences(release)
    print("\n".join(lines) if lines else f"NATTEN {rules['version']}: {rest[0]} has its rules and tiles")
    return 3 if lines else 0


if __name__ == "__main__":
    sys.exit(main())
