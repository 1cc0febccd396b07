#!/usr/bin/env python3
"""The table of docs/time-model.md: what a pair of tiles takes where a kernel was measured, in microseconds."""
import json
from pathlib import Path

KERNELS = ("hopper-fna", "hopper-fmha", "blackwell-fna", "flexattention", "gna")
ENTRIES = json.loads((Path(__file__).resolve().parents[1] / "data/kernel-times.json").read_text(encoding="utf-8"))["kernels"]


def us(time: float) -> str:
    return f"{time:.2f}" if time < 9.995 else f"{time:.1f}"


def row(entry: dict, walk: str) -> str:
    costs = entry[walk]
    ctas = costs.get("ctas_per_sm", entry.get("ctas_per_sm", 1))
    added = costs.get("axes_tile_us", [0, 0, 0])
    unmasked = [us(costs["unmasked_tile_us"] + each) for each in added]
    cells = [entry["kernel"], entry["device"].upper(), str(entry["head_dim"]), walk, str(ctas),
             ", ".join(unmasked if any(added) else unmasked[:1]), us(costs["bounds_masked_tile_us"]),
             ", ".join(us(each) for each in costs["masked_tile_us"]), us(costs["cta_us"]), str(costs["runs"])]
    return "| " + " | ".join(cells) + " |"


print("| kernel | device | head dim | pass | CTAs an SM | unmasked | bounds | masked, 1, 2 and 3 axes | CTA | runs |")
print("|---|---|---|---|---|---|---|---|---|---|")
measured = [each for each in ENTRIES if each["kernel"] in KERNELS and
            (each["kernel"] != "flexattention" or each["head_dim"] in (64, 128))]
for each in sorted(measured, key=lambda each: (KERNELS.index(each["kernel"]), each["device"], each["head_dim"])):
    print("\n".join(row(each, walk) for walk in ("forward", "backward") if walk in each))
