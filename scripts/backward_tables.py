#!/usr/bin/env python3
"""Prints the tables of docs/backward-measured.md that hold recordings of suites backward*, as Markdown.

usage: scripts/backward_tables.py [times|throughput|promises|errors|ratios|misses]...

Predictions are the frozen ones (data/predictions/h200_backward*.json); points of suite backward-costs, which the
costs were fitted to, count in times and throughput alone.
"""
import itertools
import json
import os
import statistics
import sys

DATA = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../data")
LENGTHS = (512, 1024, 2048, 4096, 8192, 16384)
ORDERS = ("ascending", "descending", "spt", "outside-in", "shift", "wave-shift", "symmetric-shift", "best")
WAITING = ("ascending", "descending", "outside-in")


def key_of(point):
    return (f"attention_backward b{point['batch']} h{point['heads']} s{point['tokens']} d{point['head_dim']} bf16 "
            f"{point['mask']} {point['algorithm']} {point['mode']}")


def read_rows():
    frozen = {}
    for suite in ("backward", "backward_masks"):
        with open(f"{DATA}/predictions/h200_{suite}.json", encoding="utf-8") as file:
            frozen.update({row[0]: row[3] / 1e6 for row in json.load(file)["rows"]})
    rows = []
    for suite in ("backward-costs", "backward", "backward-masks"):
        with open(f"{DATA}/recordings/nvidia-h200-{suite}.json", encoding="utf-8") as file:
            for row in json.load(file)["rows"]:
                point = row["point"]
                rows.append({**point, "ms": row["time_ms"]["median"], "ordered": point["mode"] == "deterministic",
                             "judged": suite != "backward-costs", "promised": frozen.get(key_of(point)),
                             "problem": tuple(point[k] for k in ("batch", "heads", "tokens", "head_dim", "mask"))})
    return rows


def kind(mask):
    name = mask.split(":")[0]
    return {"document": "documents", "gna": "neighborhoods", "window": "windows"}.get(name, name)


def line(cells):
    print("| " + " | ".join(cells) + " |")


def table(head, lines):
    line(head)
    print("|" + "---|" * len(head))
    for cells in lines:
        line(cells)
    print()


def find(rows, head_dim, tokens, mask, order):
    """The time of an order of 16,384 tokens in all and 2,048 columns; of no order: unordered."""
    for row in rows:
        same = row["head_dim"] == head_dim and row["tokens"] == tokens and row["mask"] == mask
        if same and row["heads"] * head_dim == 2048 and (row["algorithm"] if row["ordered"] else "unordered") == order:
            return row["ms"]
    return None


def times(rows):
    for head_dim in (128, 64):
        columns = ("unordered",) + ORDERS
        table([f"causal, head dimension {head_dim}", *columns],
              [[f"{n:,}"] + [f"{t:.3f}" if (t := find(rows, head_dim, n, "causal", c)) else "-" for c in columns]
               for n in LENGTHS])


def throughput(rows):
    def rate(head_dim, n, mask, order):
        ms = find(rows, head_dim, n, mask, order)
        pairs = n * n if mask == "full" else n * (n + 1) // 2
        return f"{10 * pairs * 2048 * (16384 // n) / ms / 1e9:.0f}" if ms else "-"

    for mask, columns in (("full", ("unordered", "ascending", "outside-in", "shift", "wave-shift", "best")),
                          ("causal", ("unordered", "ascending", "descending", "outside-in", "spt", "shift",
                                      "wave-shift", "symmetric-shift", "best"))):
        table([f"{mask}, length", *columns],
              [[f"{n:,}"] + [rate(128, n, mask, c) + " / " + rate(64, n, mask, c) for c in columns] for n in LENGTHS])


def promises(rows):
    lines = []
    by = {}
    for row in rows:
        by.setdefault(row["problem"], {})[row["algorithm"] if row["ordered"] else "unordered"] = row
    for problem, orders in sorted(by.items(), key=lambda item: (item[0][4], -item[0][1])):
        _, heads, tokens, head_dim, mask = problem
        if tokens != 16384 or head_dim != 128 or "best" not in orders or "spt" not in orders or mask == "full":
            continue
        best, spt, unordered = orders["best"], orders["spt"], orders["unordered"]
        if best["promised"] is None:
            continue
        gain = f"{spt['promised'] / best['promised']:.2f}" if spt["promised"] else "fitted"
        lines.append([mask, str(heads), f"{unordered['ms']:.3f}", f"{spt['ms']:.3f}", f"{best['promised']:.3f}",
                      f"{best['ms']:.3f}", gain, f"{spt['ms'] / best['ms']:.2f}"])
    table(["mask", "heads", "unordered", "spt", "best, promised", "best, measured", "gain promised", "measured"], lines)


def summary(errors):
    ordered = sorted(abs(e) for e in errors)
    p90 = ordered[min(len(ordered) - 1, int(0.9 * len(ordered)))]
    return [str(len(ordered)), f"{sum(e <= .05 for e in ordered) / len(ordered):.0%}",
            f"{statistics.median(ordered):.1%}", f"{p90:.1%}", f"{ordered[-1]:.0%}"]


def errors(rows):
    judged = [row for row in rows if row["judged"]]
    lines = []
    for name, chosen in itertools.chain(
            (("all", lambda r: True), ("unordered", lambda r: not r["ordered"])),
            ((o, lambda r, o=o: r["ordered"] and r["algorithm"] == o) for o in ORDERS),
            ((m, lambda r, m=m: kind(r["mask"]) == m)
             for m in ("full", "causal", "windows", "documents", "neighborhoods")),
            ((f"{n:,} tokens", lambda r, n=n: r["tokens"] == n) for n in LENGTHS)):
        part = [row["promised"] / row["ms"] - 1 for row in judged if chosen(row)]
        lines.append([name, *summary(part)])
    table(["", "points", "within 5%", "median", "90th percentile", "worst"], lines)


def ratios_of(rows):
    """Ordered rows that were judged, with the error of their ratio to unordered. Where the unordered point was
    fitted to, its fitted time stands for the promise."""
    base = {row["problem"]: row for row in rows if not row["ordered"]}
    for row in rows:
        if row["ordered"] and row["judged"] and row["problem"] in base:
            unordered = base[row["problem"]]
            promised = unordered["promised"] or unordered["fitted_ms"]
            yield row, row["promised"] / promised / (row["ms"] / unordered["ms"]) - 1


def with_fits(rows):
    with open(f"{DATA}/predictions/h200_backward_costs.json", encoding="utf-8") as file:
        fitted = {row[0]: row[3] / 1e6 for row in json.load(file)["rows"]}
    for row in rows:
        row["fitted_ms"] = fitted.get(key_of(row))
    return rows


def ratios(rows):
    found = list(ratios_of(with_fits(rows)))
    lines = [["all", *summary([e for _, e in found])],
             ["all but " + ", ".join(WAITING), *summary([e for r, e in found if r["algorithm"] not in WAITING])]]
    for name, chosen in itertools.chain(
            ((o, lambda r, o=o: r["algorithm"] == o) for o in ORDERS),
            ((f"{n:,} tokens", lambda r, n=n: r["tokens"] == n) for n in LENGTHS)):
        lines.append([name, *summary([e for r, e in found if chosen(r)])])
    table(["ratio to unordered", "points", "within 5%", "median", "90th percentile", "worst"], lines)
    right = pairs = 0
    by = {}
    for row in rows:
        if row["ordered"] and row["judged"]:
            by.setdefault(row["problem"], []).append(row)
    for orders in by.values():
        for a, b in itertools.combinations(orders, 2):
            if max(a["ms"], b["ms"]) / min(a["ms"], b["ms"]) > 1.03:
                pairs += 1
                right += (a["ms"] - b["ms"]) * (a["promised"] - b["promised"]) > 0
    print(f"Pairs of orders of a problem that differ by more than 3%: {right} of {pairs} the right way round.\n")


def misses(rows):
    far = [(e, row) for row, e in ratios_of(with_fits(rows)) if abs(e) > .05]
    table(["ratio off by", "heads", "tokens", "head dim", "mask", "order", "ms"],
          [[f"{e:+.0%}", str(r["heads"]), f"{r['tokens']:,}", str(r["head_dim"]), r["mask"], r["algorithm"],
            f"{r['ms']:.3f}"] for e, r in sorted(far, key=lambda item: -abs(item[0]))])


def main():
    tables = {f.__name__: f for f in (times, throughput, promises, errors, ratios, misses)}
    chosen = sys.argv[1:] or list(tables)
    if not set(chosen) <= set(tables):
        sys.exit(__doc__)
    rows = read_rows()
    for name in chosen:
        tables[name](rows)


if __name__ == "__main__":
    main()
