#!/usr/bin/env python3
"""update_schemas.py PROGRAM [SUBCOMMAND...]: writes data/result-schemas.json, the JSON Schemas of what --json prints as
`result`; with subcommands only theirs are made anew.

They describe the answers to every command line of the documents, the help and the tests: which members there
are, which of them always, and of which types. Review the diff: a member that went away, or has another type,
is a new schema number. Members of `kOpen` have names of data (devices, bounds), not of a contract.
"""
import json
import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
SUBCOMMANDS = ["count", "search", "schedule", "reuse", "atomics", "msda", "advise", "plan", "mask", "list", "calibrate", "reproduce",
               "validate", "diff", "explain", "trust"]
# Objects whose keys are names that data or the question give.
OPEN = re.compile(r"(options|values|bounds_ns|bounds|parameters|counters|input|axes|geometry|constants|flex|natten_json|"
                  r"block_mask|costs|point|parts_ms|metrics|tags|known)$")
# Answers that no text has a line for.
MORE = [f"count -i 64 64 -w 16 16 -s 4 4 --q-tile 8 8 --kv-tile 8 8 --emit {kind}"
        for kind in ("natten", "natten-profiler", "flex", "block-mask", "json")]
MORE += ["count -i 64 128 -w 16 32 --cyclic 0 1 -n 16 -d 128 --device h100", "count -i 64 -w 16 --cyclic --q-tile 8 --kv-tile 8"]
MORE += ["search -i 64 64 -w 16 16 -n 8 -d 64 --device a100 --kernel gna flexattention --top 1"]
MORE += ["search -i 64 64 -w 16 16 -n 8 -d 80 --device h100 --top 1", "search -i 64 64 -w 16 16 -n 8 -d 80 --device h100 a100 --top 1"]
MORE += [f"search -i 64 64 --sparsity 0.8:0.9 --emit {kind}"
         for kind in ("natten", "natten-profiler", "flex", "block-mask", "json")]
MORE += [f"validate --recorded data/recordings --view {view}"
         for view in ("heat-map", "sensitivity", "decisions", "misses", "throughput", "parting", "active-sms", "capacity",
                      "scatter-width", "scatter-updates", "scatter-exponent")]
MORE += ["trust --answers"]
MORE += [f"msda --workload B1_640_d256_L4 --phase {phase} --tiling {tiling} --device {device}"
         for phase in ("forward", "backward") for tiling in ("block", "point") for device in ("h200", "h100", "a100-40gb")]
MORE += [f"schedule -i 4096 --device {device} --kernel {kernel} --mask causal"
         for device in ("h200", "h100", "b200") for kernel in ("fa2", "fa3", "fa4", "ours")]
MORE += ["reuse -i 4096 --fidelity timed --device h200 --compare sawtooth", "reuse --stream-bytes 65536 --sample 0.5 --fidelity lru",
         "count -i 64 64 -w 16 16 --dim 8192", "count -i 30 48 80 -w 18 24 24 --device b200 --backprop -n 24 -d 128",
         "list", "list presets", "list devices", "list kernels", "list backends", "list releases"]
MORE += [f"plan --preset hunyuan-video --device {device} -w 18 24 24 {more}" for device, more in
         (("h100", "--gpus 8 --parallel sequence --dollars-per-hour 3"), ("h100", "--gpus 8 --parallel ring --rest-flops 1e15"),
          ("h200", "--for training"))]
MORE += ["plan -i 64 64 -w 16 16 -n 8 -d 128 --device h200"]
RECALL = "-i 64 64 -n 2 -d 128 --recall tests/data/attention.npy"
MORE += [f"search {RECALL} --device h200 h100 --{more}" for more in ("top 2", "least-recall 0.9", "budget-ms 1000")]
MORE += [f"search {RECALL} --device h200 --top 2", f"search {RECALL} --device h200 --least-recall 0.9",
         f"search {RECALL} --device h200 --budget-ms 1000", f"advise {RECALL} --device h200 --least-recall 0.9",
         f"advise {RECALL} --device h200", f"advise {RECALL} --device h200 --budget-ms 1000"]
MORE += ["mask --mask document:256,768&causal -n 4 -d 128 --device h200 --backprop", "mask -i 300 --seqlen-k 400 --device h200",
         "mask --mask causal|prefix:64 -i 512", "mask -i 4096 -d 128 --device h200 --rest-ms 5"]
MORE += [f"explain tests/golden/ncu/attention-h200.csv{more}" for more in ("", " -i 32768 -n 1 -d 128 --kv-tile 64")]
MORE += [f"explain tests/golden/ncu/read-and-written.csv{more}" for more in ("", " --device h200 --as any -i 8192 -d 128")]
MORE += ["diff data/recordings/nvidia-h200-stream.json data/recordings/nvidia-h100-stream.json --tolerance 5%",
         "diff data/recordings/nvidia-h200-stream.json data/recordings/nvidia-h200-stream.json"]
MORE += [f"reproduce {work}" for work in ("gna", "dash", "sawtooth", "flash-attention", "tiled-attention")]
# Subcommands that write files of their own instead of answering.
WRITERS = {"classroom": {"type": "object",
                         "properties": {"first": {"type": "string"},
                                        "files": {"type": "array", "items": {"type": "string"}}},
                         "required": ["files", "first"], "additionalProperties": False}}


class Shape:
    """What values of one place look like."""

    def __init__(self) -> None:
        self.types: set[str] = set()
        self.seen = 0  # objects
        self.members: dict[str, Shape] = {}
        self.counts: dict[str, int] = {}
        self.items: Shape | None = None

    def add(self, value: Any) -> None:
        if isinstance(value, dict):
            self.types.add("object")
            self.seen += 1
            for key, member in value.items():
                self.members.setdefault(key, Shape()).add(member)
                self.counts[key] = self.counts.get(key, 0) + 1
        elif isinstance(value, list):
            self.types.add("array")
            self.items = self.items or Shape()
            for item in value:
                self.items.add(item)
        else:
            self.types.add({bool: "boolean", int: "integer", float: "number", str: "string", type(None): "null"}[type(value)])

    def schema(self, name: str) -> dict[str, Any]:
        types = self.types - {"integer"} if "number" in self.types else self.types
        if not types or types == {"null"} or name in ("a", "b"):
            return {}  # nothing is known but that it may be absent; or any value of two documents
        schema: dict[str, Any] = {"type": sorted(types) if len(types) > 1 else next(iter(types))}
        if "array" in types and self.items is not None:
            schema["items"] = self.items.schema("")
        if "object" in types and not OPEN.search(name):
            schema["properties"] = {key: member.schema(key) for key, member in sorted(self.members.items())}
            schema["required"] = sorted(key for key, count in self.counts.items()
                                        if count == self.seen and key != "conclusion")  # see --no-conclusion
            schema["additionalProperties"] = False
        return schema


def merged(a: dict[str, Any], b: dict[str, Any]) -> dict[str, Any]:
    """What fits either of two schemas of one kind of value."""
    if not a or not b:
        return a or b
    types = {name for one in (a, b) for name in ([one["type"]] if isinstance(one["type"], str) else one["type"])}
    types -= {"integer"} if "number" in types else set()
    schema: dict[str, Any] = {"type": sorted(types) if len(types) > 1 else next(iter(types))}
    if "items" in a or "items" in b:
        schema["items"] = merged(a.get("items", {}), b.get("items", {}))
    if "properties" in a or "properties" in b:
        own, other = a.get("properties", {}), b.get("properties", {})
        schema["properties"] = {key: merged(own.get(key, {}), other.get(key, {})) for key in sorted({*own, *other})}
        objects = [one for one in (a, b) if "required" in one]
        schema["required"] = sorted(set.intersection(*(set(one["required"]) for one in objects)))
        schema["additionalProperties"] = False
    return schema


# Members that hold the same fields as the result around them.
ALIKE = {"search": ["devices"], "reuse": ["sweep", "compare"], "schedule": ["algorithms"]}


def with_alike_members(name: str, schema: dict[str, Any]) -> dict[str, Any]:
    properties = schema.get("properties", {})
    for member in ALIKE.get(name, []):
        inner = properties[member].get("items", properties[member])["properties"]
        for key in set(inner) & set(properties):
            inner[key] = properties[key] = merged(inner[key], properties[key])
    return schema


def command_lines(program: str) -> list[str]:
    lines: set[str] = set()
    for source in sorted((ROOT / "tests").rglob("*.cpp")):
        text = re.sub(r'"\s*\n\s*"', "", source.read_text())
        lines.update(re.findall(r'"((?:%s) [^"\\]*)"' % "|".join(SUBCOMMANDS), text))
    for scenario in sorted((ROOT / "tests/golden/scenarios").glob("*.txt")):
        lines.add(scenario.read_text().splitlines()[0].removeprefix("$ natten-sim "))
    for document in [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]:
        text = document.read_text().replace("\\\n", " ")
        lines.update(re.findall(r"^(?:\$ )?natten-sim ((?:%s) [^|>\n]*)" % "|".join(SUBCOMMANDS), text, re.M))
    for subcommand in SUBCOMMANDS:
        text = subprocess.run([program, subcommand, "--help"], capture_output=True, text=True, env={"COLUMNS": "1000"}).stdout
        lines.update(re.findall(r"^  natten-sim ((?:%s) [^|>\n]*)" % "|".join(SUBCOMMANDS), text, re.M))
    return sorted(lines | set(MORE))


def answer(program: str, line: str, folder: str) -> dict[str, Any] | None:
    try:
        words = [word for word in shlex.split(line) if word not in ("--csv", "--json", "--ascii", "--markdown", "--quiet")]
        writes = {"--output", "--emit-table", "--out", "--save", "--report", "--perfetto", "--pages", "--html", "--checkpoint",
                  "--journal", "--script"}
        if any(word in writes or word.startswith("--picture") or word.startswith("--emit-") for word in words):
            return None
        done = subprocess.run([program, *words, "--json"], capture_output=True, text=True, cwd=folder, timeout=20,
                              stdin=subprocess.DEVNULL)
        return json.loads(done.stdout) if done.stdout.startswith("{") else None
    except (ValueError, subprocess.TimeoutExpired):
        return None


def main(arguments: list[str]) -> int:
    if not arguments or arguments[0] in ("-h", "--help"):
        print(__doc__)
        return 0 if arguments else 2
    shapes: dict[str, Shape] = {}
    answered: dict[str, int] = {}
    subcommands = arguments[1:] or SUBCOMMANDS
    program = str(Path(arguments[0]).resolve())
    with tempfile.TemporaryDirectory() as folder:  # where a command may leave a file
        for entry in ROOT.iterdir():
            Path(folder, entry.name).symlink_to(entry)
        for line in command_lines(program):
            if line.split()[0] not in subcommands:
                continue
            found = answer(program, line, folder)
            if found is None or "result" not in found:
                continue
            name = found["schema"].split(".")[1].split("/")[0]
            shapes.setdefault(name, Shape()).add(found["result"])
            answered[name] = answered.get(name, 0) + 1
    path = ROOT / "data/result-schemas.json"
    kept = json.loads(path.read_text())["results"] if arguments[1:] else WRITERS
    results = kept | {name: with_alike_members(name, shape.schema("")) for name, shape in shapes.items()}
    document = {"schema": "natten-sim.result-schemas/1", "results": dict(sorted(results.items()))}
    path.write_text(json.dumps(document, indent=1) + "\n")
    print(", ".join(f"{name}: {count} answers" for name, count in sorted(answered.items())))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
