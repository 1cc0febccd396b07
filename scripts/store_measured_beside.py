#!/usr/bin/env python3
"""store_measured_beside.py [--check]: writes data/measured-beside.json, what this project measured for published figures.

`natten-sim reproduce` shows these numbers beside the papers'. Each is computed here from a recording in
data/recordings, and named with the figure and the item of the row that it stands beside. --check writes nothing
and exits with 1 if the stored file is not what the recordings give.
"""
import json
import statistics
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
TARGET = ROOT / "data/measured-beside.json"
ORDER_FIGURES = {"shift": "figure 8", "descending": "figure 9", "symmetric-shift": "figure 9"}


class Recording:
    """One file of data/recordings and the numbers taken from it."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.document = json.loads((ROOT / f"data/recordings/{name}.json").read_text())
        self.device = self.document["device"]["name"]

    def measured(self) -> list[dict[str, Any]]:
        return [row for row in self.document["rows"] if row["status"] == "measured"]

    def number(self, work: str, figure: str, item: str, value: float, **place: Any) -> dict[str, Any]:
        return {"work": work, "figure": figure, "item": item, "value": float(f"{value:.6g}"), **place,
                "device": self.device, "recording": self.name}


def time_of(row: dict[str, Any]) -> float:
    return row["time_ms"]["median"]


def dash() -> list[dict[str, Any]]:
    """Time of the ascending order over that of another, of this project's deterministic backward kernel."""
    recording, numbers, times = Recording("nvidia-h200-backward"), [], {}
    for row in recording.measured():
        point = row["point"]
        if point["mode"] == "deterministic" and point["mask"] in ("full", "causal"):
            times[point["mask"], point["head_dim"], point["tokens"], point["algorithm"]] = time_of(row)
    for (mask, head_dim, tokens, order), time in sorted(times.items()):
        reference = times.get((mask, head_dim, tokens, "ascending"))
        wanted = "full" if order == "shift" else "causal"
        if order not in ORDER_FIGURES or mask != wanted or reference is None:
            continue
        numbers.append(recording.number("dash", ORDER_FIGURES[order], f"{order} over ascending, head dim {head_dim}, {tokens} tokens",
                                        reference / time, unit="x", series=f"{order}, head dim {head_dim}", axis="tokens", at=tokens))
    return numbers


def orders_of(recording: Recording, wanted: dict[str, Any]) -> dict[tuple[int, ...], dict[str, dict[str, Any]]]:
    """Rows by (batch, tokens) and order, of the points that have all of `wanted`."""
    pairs: dict[tuple[int, ...], dict[str, dict[str, Any]]] = {}
    for row in recording.measured():
        point = row["point"]
        if all(point.get(key) == value for key, value in wanted.items()):
            pairs.setdefault((point["batch"], point["tokens"]), {})[point["order"]] = row
    return {key: orders for key, orders in pairs.items() if {"cyclic", "sawtooth"} <= set(orders)}


def sawtooth() -> list[dict[str, Any]]:
    numbers = []
    sweep = Recording("nvidia-h200-sawtooth")
    for (batch, tokens), orders in sorted(orders_of(sweep, {"head_dim": 128}).items()):
        gain = time_of(orders["cyclic"]) / time_of(orders["sawtooth"])
        place = {"axis": "tokens", "at": tokens, "series": f"batch {batch}"}
        numbers.append(sweep.number("sawtooth", "figure 7", f"sawtooth over cyclic, batch {batch}, {tokens} tokens", gain, unit="x", **place))
        reads = [orders[order]["counters"]["dram_read_bytes"]["median"] for order in ("cyclic", "sawtooth")]
        if reads[0] > 2 * tokens * 128 * 2 * batch * 2:  # K and V, twice: there is something to save
            numbers.append(sweep.number("sawtooth", "figure 8", f"fewer DRAM reads, batch {batch}, {tokens} tokens",
                                        1 - reads[1] / reads[0], unit="of the cyclic misses", **place))
    active = Recording("nvidia-h200-active-sms")
    for row in active.measured():
        point, counters = row["point"], row["counters"]
        if point["kernel"] != "attention" or point["head_dim"] != 128 or point["order"] != "cyclic":
            continue
        rate = 1 - counters["l2_tex_miss_sectors"]["median"] / counters["l2_read_sectors"]["median"]
        numbers.append(active.number("sawtooth", "figure 6", f"hit rate of {point['ctas']} SMs in lockstep", rate,
                                     axis="SMs at work", at=point["ctas"]))
    reuse = Recording("nvidia-h200-reuse")
    for causal, misses, rate in ((False, "figure 9", "figure 10"), (True, "figure 11", "figure 12")):
        wanted = {"head_dim": 64, "causal": causal, "schedule": "persistent", "heads": 1, "q_tile": 128, "kv_tile": 128, "stages": 1}
        for (_, tokens), orders in sorted(orders_of(reuse, wanted).items()):
            place = {"axis": "tokens", "at": tokens}
            reads = [orders[order]["counters"]["dram_read_bytes"]["median"] for order in ("cyclic", "sawtooth")]
            numbers.append(reuse.number("sawtooth", misses, f"fewer DRAM reads, {tokens} tokens", 1 - reads[1] / reads[0],
                                        unit="of the cyclic misses", **place))
            numbers.append(reuse.number("sawtooth", rate, f"sawtooth over cyclic, {tokens} tokens",
                                        time_of(orders["cyclic"]) / time_of(orders["sawtooth"]), unit="x", **place))
    return numbers


def msda() -> list[dict[str, Any]]:
    """This project's kernel in the cells of the sweep, which the paper has of an A100 and of an H100."""
    recording, numbers = Recording("nvidia-h200-msda"), []
    linear: dict[tuple[str, str, str, str], float] = {}
    for row in recording.measured():
        point = row["point"]
        # The path that NVIDIA's compiler takes on an H100; other paths are this project's remedies.
        if point.get("path", "red-16") != "red-16":
            continue
        key = (point["config"], point["dtype"], point["tiling"], point["phase"])
        if point["order"] == "linear":
            linear.setdefault(key, time_of(row))
        elif key in linear and key[0] == "B4_800x1333_d256_L4" and key[1] == "bf16" and point["phase"] == "forward" and point["tiling"] == "block":
            numbers.append(recording.number("msda", "table 6", f"h100 {point['order']}, time over linear", time_of(row) / linear[key], unit="x"))
    for (config, dtype, tiling, phase), time in linear.items():
        for table, card in (("table 10", "a100-40gb"), ("table 11", "h100")):
            numbers.append(recording.number("msda", table, f"{card} {config} {dtype} {tiling} {phase}", time, unit="ms", series=f"{tiling} {phase}"))
    return numbers


def throughput(row: dict[str, Any]) -> float:
    """TFLOP/s of a row of SDPA."""
    problem = row.get("problem") or row["point"]
    pairs = problem["tokens"] ** 2 * (0.5 if problem["causal"] else 1)
    return 4 * problem["batch"] * problem["heads"] * problem["head_dim"] * pairs / time_of(row) * 1e-9


def tiled_attention() -> list[dict[str, Any]]:
    """This project's forward kernel, with its best tiles, over PyTorch's choice."""
    tiles, sdpa = Recording("nvidia-h200-tiles"), Recording("nvidia-h200-sdpa")
    best: dict[tuple[Any, ...], float] = {}
    theirs: dict[tuple[Any, ...], float] = {}

    def key(problem: dict[str, Any]) -> tuple[Any, ...]:
        return tuple(problem[name] for name in ("batch", "heads", "heads_kv", "tokens", "head_dim", "dtype", "causal"))
    for row in tiles.measured():
        place = key(row["point"])
        best[place] = max(best.get(place, 0), throughput(row))
    for row in sdpa.measured():
        if row["backend"] == "auto":
            theirs[key(row["problem"])] = throughput(row)
    grid = {512, 1024, 2048, 4096, 8192}  # the paper's lengths
    ratios = {place: best[place] / theirs[place] for place in best if place in theirs and place[3] in grid}
    numbers = []
    unit = "of PyTorch's throughput"
    for head_dim in sorted({place[4] for place in ratios}):
        of_dim = [ratio for place, ratio in ratios.items() if place[4] == head_dim]
        numbers.append(tiles.number("tiled-attention", "figure 4", f"head dim {head_dim}, mean over {len(of_dim)} points",
                                    statistics.mean(of_dim), unit=unit))
    for place, ratio in sorted(ratios.items()):
        if place[5] == "fp16" and not place[6]:
            numbers.append(tiles.number("tiled-attention", "figure 4", f"fp16, full mask, head dim {place[4]}, {place[3]} tokens", ratio,
                                        unit=unit))
    everything = list(ratios.values())
    numbers.append(tiles.number("tiled-attention", "section 5.1", f"mean over {len(everything)} points", statistics.mean(everything), unit=unit))
    numbers.append(tiles.number("tiled-attention", "section 5.1", f"median over {len(everything)} points", statistics.median(everything), unit=unit))
    numbers.append(tiles.number("tiled-attention", "section 5.1", f"points of {len(everything)} that it wins",
                                sum(ratio > 1 for ratio in everything), unit="points"))
    for place, value in sorted(theirs.items()):
        if place[4] == 128 and place[5] == "fp16" and not place[6] and place[3] in (4096, 8192):
            tokens = place[3]
            numbers.append(tiles.number("tiled-attention", "figure 2", f"tiled, {tokens} tokens", best[place], unit="TFLOP/s", series="tiled", axis="tokens", at=tokens))
            numbers.append(sdpa.number("tiled-attention", "figure 2", f"auto, {tokens} tokens", value, unit="TFLOP/s", series="auto", axis="tokens", at=tokens))
    return numbers


def main() -> int:
    numbers = [*dash(), *sawtooth(), *msda(), *tiled_attention()]
    lines = ",\n  ".join(json.dumps(number) for number in numbers)
    text = ('{\n "schema": "natten-sim.measured-beside/1",\n "source": "scripts/store_measured_beside.py, from data/recordings",\n'
            f' "numbers": [\n  {lines}\n ]\n}}\n')
    if "--check" in sys.argv[1:]:
        if TARGET.read_text() != text:
            print(f"{TARGET}: not what the recordings give; run scripts/store_measured_beside.py", file=sys.stderr)
            return 1
        return 0
    TARGET.write_text(text)
    print(f"{len(numbers)} numbers")
    return 0


if __name__ == "__main__":
    sys.exit(main())
