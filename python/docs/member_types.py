"""Writes python/natten_sim/_members.pyi: the members of answers and their types, for checkers and editors.

    python member_types.py FILE

The members are those that the questions below are answered with. Tests hold them against other answers.
"""

from __future__ import annotations

import keyword
import pathlib
import sys
from collections.abc import Iterator
from typing import Any

import natten_sim

ROOT = pathlib.Path(__file__).resolve().parents[2]
VIDEO: dict[str, Any] = {"preset": "hunyuan-video", "window": (18, 24, 24)}
TILES: dict[str, Any] = {"q_tile": (2, 8, 8), "kv_tile": (2, 8, 8)}
LONG: dict[str, Any] = {"seqlen": 131072, "device": "h200"}
CAUSAL: dict[str, Any] = {"seqlen_q": 8192, "mask": "causal", "device": "h200"}

PROFILE = str(ROOT / "tests" / "golden" / "ncu" / "attention-h200.csv")
BYTES = str(ROOT / "tests" / "golden" / "ncu" / "read-and-written.csv")

# Type of the answer, function, and keywords that between them bring out every member.
QUESTIONS: list[tuple[str, str, list[dict[str, Any]]]] = [
    ("Count", "count", [
        {**VIDEO, **TILES, "device": "h200"},
        {**VIDEO, **TILES, "device": "h200", "stride": (2, 8, 8), "backprop": True, "head_dim": 128},
        {**VIDEO, "device": "b200", "q_tile": (4, 8, 8), "kv_tile": (2, 8, 8), "dense_steps": (3, 9)},
        {"input": 4096, "window": 512, "causal": True, "add_kv": 77, "attention_share": 0.6},
        {"input": (64, 64), "window": (1, 8), "device": "h100", "backprop": True},
        {"input": (64, 64), "device": "h100", "head_dim": 128, "backprop": True},
        {"input": (64, 64), "window": (16, 16), "device": "h100", "head_dim": 80},
        {"input": 4096, "window": 1000, "stride": 256, "device": "b200"},
        {"input": (2, 3, 4, 5), "window": (2, 2, 2, 2), "q_tile": (1, 1, 2, 2), "kv_tile": (1, 1, 2, 2)},
        {"input": (40, 40), "window": (8, 8), "dilation": (2, 3), "device": "h200", "add_kv": 5},
        {"input": (64, 128), "window": (16, 32), "cyclic": (False, True), "device": "h100", "head_dim": 128},
        {**VIDEO, "stride": (2, 8, 8), "q_tile": (4, 4, 8), "kv_tile": (2, 8, 8), "device": "h200", "head_dim": 128},
        {**VIDEO, "stride": (16, 8, 8), "q_tile": (2, 8, 8), "kv_tile": (4, 4, 8), "device": "h200", "head_dim": 128},
        {"input": 2**30, "window": 2**20, "q_tile": 2**20, "kv_tile": 2**20},
        {"input": 8192, "window": 512, "heads": 2**20, "batch_size": 2**20},
        {"input": 128, "heads": 2**20, "batch_size": 2**20, "backprop": True},
        {"input": 4096, "window": 512, "device": "a100", "kernel": "flexattention", "kernel_schedule": "pingpong"},
        {"input": (30, 48, 80), "window": (18, 24, 24), "device": "h100", "head_dim": 256, "backend": "cutlass-fna"},
        {"input": (256, 256), "window": (80, 80), "heads": 24, "heads_kv": 8, "head_dim": 128, "device": "h200",
         "kernel": "hopper-fna", "kernel_schedule": "pingpong", "rest_ms": 5},
    ]),
    ("Search", "search", [
        {"preset": "hunyuan-video", "device": "h200", "sparsity": (0.9, 0.92), "top": 2, "rest_ms": 5},
        {"preset": "hunyuan-video", "device": ["h200", "b200"], "phase": "both", "top": 2},
        {**VIDEO, **TILES, "ladder": True}, {"input": 4096, "window_range": (2, 64), "top": 2},
        {"input": (64, 64), "stride_max": 4, "sparsity": (0.1, 0.6), "pareto": True, "dense_axes": [0]},
        {"input": (64, 64), "window": (16, 16), "sparsity": (0.1, 0.2), "attention_share": 0.5},
        {"preset": "hunyuan-video", "device": "h200", "kernel": ["flexattention", "hopper-fna"], "top": 2, "dense_steps": "3/9"},
        {"input": 4096, "device": "h200", "phase": "backward", "top": 2, "window_range": (64, 512), "add_kv": 3},
        {"input": (64, 64), "window": (16, 16), "device": "h100", "head_dim": 80, "top": 1},
        {"input": (64, 64), "window": (16, 16), "device": "a100", "kernel": ["gna", "flexattention"], "top": 1},
        {"input": (64, 64), "window": (16, 16), "device": ["a100", "h200"], "kernel": ["gna", "flexattention"], "top": 1},
        {"input": (64, 64), "window": (16, 16), "device": "gb10", "head_dim": 128, "q_tile": (8, 8), "kv_tile": (16, 8), "any": True,
         "top": 1},
    ]),
    ("Advice", "advise", [
        {"preset": "hunyuan-video", "device": "h200", "for_": "training"},
        {"preset": "hunyuan-video", "device": "h200"}, {"input": (16, 16, 16), "device": ["h200", "b200", "a100"]},
        {"preset": "hunyuan-video", "device": "h200", "speedup": 3, "add_kv": 7, "dense_steps": "3/9"},
        {"preset": "hunyuan-video", "device": "h200", "sparsity": (0.5, 0.9)}, {"preset": "hunyuan-video", "device": "h200", "sparsity": 0.9},
        {"input": (64, 128), "cyclic": (False, True), "device": "h100"},
    ]),
    ("Mask", "mask", [
        {"mask": "document:1024,3072&causal", "heads": 4, "head_dim": 128, "device": "h200", "backprop": True},
        {"mask": "causal|prefix:512", "seqlen_q": 4096, "seqlen_k": 8192, "device": "h200"},
        {"mask": {"indptr": [0, 1], "indices": [0], "shape": [1, 1]}}, {"mask": "causal", "seqlen_q": 4096, "rest_ms": 5},
    ]),
    ("Plan", "plan", [
        {"preset": "hunyuan-video", "device": "h100", "window": (18, 24, 24), "gpus": 8, "parallel": "sequence",
         "dollars_per_hour": 3, "rest_flops": 1e15},
        {"preset": "hunyuan-video", "device": "h200", "window": (18, 24, 24), "for_": "training", "add_kv": 7},
        {"input": (64, 64), "window": (16, 16), "heads": 8, "head_dim": 128, "device": "h200"},
        {"preset": "wan2-2-a14b", "window": (21, 24, 24), "device": "h200", "dense_steps": "3/9", "attention_share": 0.5},
    ]),
    ("Time", "time", [
        {"kernel": "hopper-fna", "device": "h200", "input": (30, 48, 80), "window": (18, 24, 24), **TILES, "head_dim": 128},
        {"kernel": "hopper-fna", "device": "h100", "input": (8, 8), "window": (4, 4), "q_tile": (2, 2), "kv_tile": (2, 2)},
        {"kernel": "hopper-fmha", "device": "h200", "input": 4096, "head_dim": 128, "phase": "backward"},
        {"kernel": "hopper-fna", "device": "h200", "input": (256, 256), "window": (80, 80), "q_tile": (16, 8), "kv_tile": (16, 8),
         "head_dim": 128, "heads": 24, "heads_kv": 8, "kernel_schedule": "pingpong", "rest_ms": 5},
    ]),
    ("Calibration", "calibrate", [
        {"runs": str(ROOT / "data" / "kernel-runs" / "natten-h200.csv"), "suggestions": 2},
        {"runs": str(ROOT / "data" / "kernel-runs" / "natten-h200.csv"), "decimal": "point"},
        {"runs": [{"kernel": "hopper-fna", "device": "h200", "input": (tokens, tokens), "window": (32, 32), "stride": (1, 1),
                   "q_tile": (8, 8), "kv_tile": (8, 8), "head_dim": 64, "ms": tokens * 1e-3} for tokens in (64, 128)]},
    ]),
    ("Schedule", "schedule", [
        {"q_tiles": 8, "heads": 2, "mask": "causal", "compute": 7, "reduce": 2, "critical_path": True},
        {**CAUSAL, "algorithm": "spt", "critical_path": True, "handoff": (1, 2), "overlap": "async:2"},
        {"q_tiles": 8, "mask": "causal", "heads": 8, "heads_kv": 2, "algorithm": "best", "release": "after-next", "dkv_turns": "apart"},
        {"q_tiles": 4, "mask": "causal", "algorithm": "symmetric-shift"}, {"q_tiles": 4, "algorithm": "shift"},
        {"q_tiles": 8, "heads": 4, "heads_kv": 2, "gqa_chains": "kv-heads", "algorithm": "ascending", "time_limit": 0.1},
        {**CAUSAL, "costs": "fa4-h200-d128", "algorithm": "spt", "q_tile": 64},
        {"kernel": "fa4", "device": "h200", "seqlen_q": 8192, "heads": 16, "heads_kv": 4, "mask": "window:1000,0"},
        {"kernel": "fa4", "device": "h200", "seqlen_q": 8192, "heads": 16, "mask": "causal"},
        {"kernel": "ours", "device": "h200", "seqlen_q": 8192, "heads": 16, "mask": "causal"},
        {"table": natten_sim.schedule(q_tiles=4, algorithm="spt").table(), "compute": 7},
        {"q_tiles": 7, "mask": "document:3,4", "algorithm": "all"}, {"seqlen_q": 1000, "seqlen_k": 3000, "mask": "window:100,0"},
    ]),
    ("Reuse", "reuse", [
        {**LONG, "tile": 128, "fidelity": "lru", "compare": "sawtooth"}, {**LONG, "kernel": "fa2", "causal": True},
        {"seqlen": 32768, "head_dim": 64, "tile": 80}, {"sweep": (1024, 4096, 1024), "device": "h200"},
        {"sweep": (1024, 4096, 1024), "device": "h200", "compare": "sawtooth"}, {"seqlen": 4096, "device": "h200", "fidelity": "lru"},
        {"stream_bytes": 2**26, "passes": 8, "device": "h200", "order": "sawtooth"},
        {"stream_bytes": 2**22, "passes": 2, "l2_bytes": 2**20, "fidelity": "lru", "sample": 0.5},
        {"seqlen": 4096, "device": "h200", "fidelity": "lru", "ways": 8, "hashed": True, "granularity": "sector"},
        {"kernel": "fa2", "seqlen": 16384, "head_dim": 128, "causal": True, "device": "h200", "fidelity": "timed"},
        {"seqlen": 16384, "device": "h200", "fidelity": "timed", "compare": "sawtooth", "jitter": 0.01},
        {"seqlen": (32, 32), "window": (8, 8), "q_tile": (8, 8), "kv_tile": (8, 8), "device": "h200", "fidelity": "lru", "heads": 2},
        {"seqlen": (32, 32), "q_tile": (8, 8), "kv_tile": (8, 8), "causal": (True, False)},
    ]),
    ("Scatter", "scatter", [
        {"distribution": "hot:4", "dtype": "fp32", "device": "a100-40gb"}, {"updates": 1000, "rows": 100, "width": 3},
        {"distribution": "zipf:1.5", "updates": 10000, "path": "cas", "values": "constant"}, {"updates": 0},
        {"distribution": "zipf:1.5", "dtype": "bf16", "prior_runs": 3}, {"dtype": "fp16", "device": "h100"},
        {"compare": ["2.9", "main"]},
    ]),
    ("Msda", "msda", [
        {"config": "B1_640_d256_L4"}, {"config": "B4_800x1333_d256_L4", "phase": "backward", "accumulator": "fp32"},
        {"config": "B1_640_d256_L4", "order": "all", "tiling": "point"},
        {"config": "B1_640_d256_L4", "phase": "backward", "order": "all", "device": "a100-40gb", "l2_bytes": 2**20},
        {"config": "B1_640_d256_L4", "phase": "backward", "dtype": "fp32", "construct": "cuda-atomicadd-float"},
        {"config": "B4_800x1333_d256_L4", "phase": "backward", "device": "h200", "update": "red-16"},
    ]),
    ("Explanation", "explain", [
        {"profile": PROFILE, "ncu_kernel": "cudnn", "seqlen": 131072}, {"profile": PROFILE},
        {"profile": PROFILE, "seqlen": 32768, "heads": 1, "head_dim": 128, "kv_tile": 64},
        {"profile": BYTES}, {"profile": BYTES, "device": "h200", "family": "any", "seqlen": 8192, "head_dim": 128},
    ]),
    ("Comparison", "compare", [{"recorded": str(ROOT / "data" / "recordings"), "suites": ["reuse", "stream", "natten"]}]),
]
CATALOGS = {"PresetEntry": "presets", "BackendEntry": "backends", "DeviceEntry": "devices", "KernelEntry": "kernels"}

ORDER = ["bool", "int", "float", "str"]
Kinds = set[str]


def merged(kinds: Kinds) -> str:
    """A union as an annotation."""
    if "float" in kinds:
        kinds = kinds - {"int"}
    plain = [kind for kind in ORDER if kind in kinds]
    others = sorted(kinds - set(ORDER) - {"None"})
    if len(others) > 1:
        others = [kind for kind in others if kind != "tuple[Any, ...]"]
    return " | ".join([*plain, *others, *(["None"] if "None" in kinds else [])]) or "Any"


def singular(name: str) -> str:
    """remedies: remedy; rows: row."""
    return f"{name[:-3]}y" if name.endswith("ies") else name.removesuffix("s")


def camel(name: str) -> str:
    """time_ms: TimeMs."""
    return "".join(f"{word[:1].upper()}{word[1:]}" for word in name.split("_"))


class Types:
    """Classes by their members. Records that have half of their members in common, under the same name, are one."""

    def __init__(self) -> None:
        self.classes: dict[str, dict[str, Kinds]] = {}

    def kinds(self, owner: str, member: str, values: list[Any]) -> Kinds:
        """Of values that stand at the same place of several answers."""
        found = {"None" if value is None else type(value).__name__ for value in values if not isinstance(value, (dict, list))}
        records = [value for value in values if isinstance(value, dict)]
        arrays = [value for value in values if isinstance(value, list)]
        if records:
            found.add(self.record(owner, member, records))
        if arrays:
            elements = [element for array in arrays for element in array]
            found.add(f"tuple[{merged(self.kinds(owner, singular(member), elements))}, ...]")
        return found

    def name_of(self, owner: str, member: str, members: set[str]) -> str:
        """Of a class that has such members already, or a new name."""
        own = "SourcedValue" if {"value", "source"} <= members else camel(member)
        for name in (own, f"{owner.removesuffix('Members')}{own}"):
            known = set(self.classes.get(name, ()))
            if name not in self.classes or 2 * len(known & members) >= len(known | members) or known == members:
                return name
        return f"{owner.removesuffix('Members')}{own}"

    def record(self, owner: str, member: str, records: list[dict[str, Any]]) -> str:
        names = list(dict.fromkeys(name for record in records for name in record))
        if any(not name.isidentifier() for name in names):
            return "Record"
        name = self.name_of(owner, member, set(names))
        self.classes.setdefault(name, {})
        for one in names:
            found = self.kinds(name, one, [record[one] for record in records if one in record])
            self.classes[name].setdefault(one, set()).update(found)
        return name


def text(types: Types, results: dict[str, str]) -> Iterator[str]:
    yield '"""Members of answers and their types, written by python/docs/member_types.py. At run time all are Records.'
    yield 'Some members are there only where they were asked for: docs/cli.md says which.\n"""\n'
    yield "from typing import Any, Final\n\nfrom natten_sim._record import Record\n"
    for name, members in types.classes.items():
        yield f"class {name}:" if name.endswith("Members") else f"class {name}(Record):"
        yield from (f"    {member}: Final[{merged(kinds)}]" for member, kinds in members.items() if member not in ("items", "keys") and not keyword.iskeyword(member))
        yield from () if members else ("    ...",)
        yield ""
    for answer, result in results.items():
        yield f"class {answer}Result({answer}Members, Record): ...\n"
        yield f"class {answer}Answer({answer}Members):"
        yield f"    @property\n    def input(self) -> {answer}Input: ..."
        yield f"    @property\n    def result(self) -> {result}: ...\n"


def main() -> None:
    types, results = Types(), {}
    for answer, function, questions in QUESTIONS:
        dicts = [getattr(natten_sim, function)(**keywords).to_dict() for keywords in questions]
        found = [one["result"] for one in dicts]
        records = [record for result in found for record in (result if isinstance(result, list) else [result])]
        types.record("", f"{answer}Members", records)
        types.record("", f"{answer}Input", [one["input"] for one in dicts])
        several = any(isinstance(result, list) for result in found)
        results[answer] = f"{answer}Result | tuple[{answer}Result, ...]" if several else f"{answer}Result"
    for name, function in CATALOGS.items():
        types.record("", name, [entry.to_dict() for entry in getattr(natten_sim, function)()])
    lines = "\n".join(line.rstrip() for line in text(types, results))
    pathlib.Path(sys.argv[1]).write_text(lines.rstrip() + "\n")


if __name__ == "__main__":
    main()
