#!/usr/bin/env python3
"""The tables of docs/reliability-runs.md, from what a release ran.

usage: scripts/reliability_report.py PART                 prints the table of docs/reliability/PART.json
       scripts/reliability_report.py --store PART FOLDER  writes that file, from the logs that scripts/nightly.sh
                                                          left in FOLDER (build/nightly)

PART is tests, nightly, sanitizers, threads, compilers, coverage, fuzz, soak, server, largest or mutants. No figure of these tables is
typed: the document's blocks are what this prints, which a test compares.
"""
import json
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
STORED = ROOT / "docs/reliability"


def single(pattern, text, what):
    found = re.findall(pattern, text)
    if not found:
        sys.exit(f"reliability_report: no {what} in the output")
    return found[-1]


def commit():
    run = subprocess.run(["git", "-C", str(ROOT), "rev-parse", "--short=12", "HEAD"], capture_output=True, text=True, check=False)
    return run.stdout.strip() or "unknown"


def ctest_counts(text):
    failed, total = single(r"(\d+) tests? failed out of (\d+)", text, "summary of ctest")
    skipped = re.findall(r"\(Skipped\)", text)
    seconds = single(r"Total Test time \(real\) =\s*([\d.]+) sec", text, "time of ctest")
    return {"tests": int(total), "failed": int(failed), "skipped": len(skipped), "seconds": round(float(seconds))}


def build_of(part, folder):
    return (folder / f"{part}.build").read_text().strip()


def store_ctest(part):
    def read(folder):
        return {"build": build_of(part, folder), **ctest_counts((folder / f"{part}.log").read_text(errors="replace"))}
    return read


def store_compilers(folder):
    rows = []
    for name, version, size in re.findall(r"^(\S+) \((.+)\): (\d+) bytes, the same$", (folder / "compilers.log").read_text(errors="replace"), re.M):
        rows.append({"build": name, "compiler": version, "bytes": int(size)})
    scenarios = len(list((ROOT / "tests/golden/scenarios").glob("*.txt")))
    return {"scenarios": scenarios, "builds": rows}


def store_coverage(folder):
    rows = []
    pattern = r"^(\w+): lines: [\d.]+% \((\d+) out of (\d+)\)"
    for room, run, lines in re.findall(pattern, (folder / "coverage.txt").read_text(), re.M):
        rows.append({"room": room, "lines": int(lines), "run": int(run)})
    return {"rooms": rows}


def fuzz_row(log):
    text = log.read_text(errors="replace")
    row = {"target": log.stem}
    if plain := re.search(r"(\d+) mutated inputs in (\d+) s, (\d+) accepted", text):
        row.update(inputs=int(plain[1]), seconds=int(plain[2]), driver="plain")
        return row
    inputs, seconds = single(r"Done (\d+) runs in (\d+) second", text, f"count of inputs of {row['target']}")
    edges = single(r"cov: (\d+)", text, f"coverage of {row['target']}")
    return {**row, "inputs": int(inputs), "seconds": int(seconds), "driver": "libFuzzer", "edges": int(edges)}


def store_fuzz(folder):
    return {"build": build_of("fuzz", folder), "targets": [fuzz_row(log) for log in sorted((folder / "fuzz").glob("*.log"))]}


def store_soak(folder):
    """Each log is one round of all properties, named by its seed."""
    logs = sorted((folder / "soak").glob("*.log"), key=lambda log: int(log.stem))
    rounds = [[int(count) for count in re.findall(r"OK, passed (\d+) test", log.read_text(errors="replace"))] for log in logs]
    if not rounds:
        sys.exit("reliability_report: no log of a round")
    return {"properties": len(rounds[0]), "cases": sum(map(sum, rounds)), "fewest": sum(map(min, rounds)),
            "seconds": sum(map(int, (folder / "soak/seconds").read_text().split())), "rounds": len(rounds), "seed": int(logs[0].stem)}


def store_server(folder):
    return json.loads((folder / "server.json").read_text())


def store_largest(folder):
    return json.loads((folder / "largest.json").read_text())


def store_mutants(folder):
    rooms = {}
    for line in (folder / "mutants/list.jsonl").read_text().splitlines():
        mutant = json.loads(line)
        room = rooms.setdefault(mutant["place"].split("/")[0], {"drawn": 0})
        room["drawn"] += 1
        room[mutant["fate"]] = room.get(mutant["fate"], 0) + 1
    return {"rooms": [{"room": room, **counts} for room, counts in sorted(rooms.items())]}


def table(head, rows):
    numbers = [all(isinstance(row[column], int) or str(row[column]).endswith("%") for row in rows) for column in range(len(head))]
    lines = ["| " + " | ".join(head) + " |", "|" + "|".join("---:" if number else "---" for number in numbers) + "|"]
    for row in rows:
        cells = [f"{cell:,}" if isinstance(cell, int) else str(cell) for cell in row]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def show_ctest(stored):
    return table(["build", "tests", "failed", "skipped", "s"],
                 [[stored["build"], stored["tests"], stored["failed"], stored["skipped"], stored["seconds"]]])


def show_compilers(stored):
    rows = [[row["build"], row["compiler"], stored["scenarios"], row["bytes"]] for row in stored["builds"]]
    return table(["build", "compiler", "scenarios", "bytes, the same"], rows)


def show_coverage(stored):
    rows = [[row["room"], row["lines"], row["run"], f"{100 * row['run'] / row['lines']:.1f}%"] for row in stored["rooms"]]
    return table(["room", "lines", "run", "share"], rows)


def show_fuzz(stored):
    rows = [[f"`{row['target']}`", row["inputs"], row["seconds"], row.get("edges", "")] for row in stored["targets"]]
    return stored["build"] + ":\n\n" + table(["target", "inputs", "s", "edges reached"], rows)


def show_soak(stored):
    return table(["properties", "cases", "fewest of one", "s", "seed"],
                 [[stored["properties"], stored["cases"], stored["fewest"], stored["seconds"], str(stored["seed"])]])


def show_server(stored):
    def memory(name):
        return "{} to {}".format(*stored[name])
    return table(["s", "good", "broken", "too long", "cancelled", "wrong or missing", "workers killed",
                  "MiB of the program", "of its workers"],
                 [[stored["seconds"], stored["good"], stored["broken"], stored["late"], stored["cancelled"], stored["wrong"],
                   stored["kills"], memory("supervisor_mib"), memory("workers_mib")]])


def show_largest(stored):
    def amount(row, name):
        return f"{row[name]:,.3g}" if name in row else ""
    rows = [[f"`{row['question']}`", f"{row['seconds']:g}", row["mib"], row["end"],
             amount(row, "estimated_steps"), f"{row['estimated_mib']:,}" if "estimated_mib" in row else ""] for row in stored["questions"]]
    return table(["question", "CPU s", "MiB", "end", "steps by `--estimate`", "MiB by it"], rows)


def show_mutants(stored):
    rows = []
    for room in stored["rooms"]:
        killed, unseen = room.get("killed", 0), room.get("explained", 0) + room.get("removed", 0)
        rows.append([room["room"], room["drawn"], killed, unseen, room.get("survived", 0) + room.get("not reached", 0),
                     f"{100 * killed / (room['drawn'] - unseen):.1f}%"])
    return table(["room", "drawn", "killed", "explained or removed", "alive", "killed of those that can be seen"], rows)


PARTS = {
    "tests": (store_ctest("tests"), show_ctest),
    "nightly": (store_ctest("nightly"), show_ctest),
    "sanitizers": (store_ctest("sanitizers"), show_ctest),
    "threads": (store_ctest("threads"), show_ctest),
    "compilers": (store_compilers, show_compilers),
    "coverage": (store_coverage, show_coverage),
    "fuzz": (store_fuzz, show_fuzz),
    "soak": (store_soak, show_soak),
    "server": (store_server, show_server),
    "largest": (store_largest, show_largest),
    "mutants": (store_mutants, show_mutants),
}


def main():
    arguments = sys.argv[1:]
    storing = arguments[:1] == ["--store"]
    if len(arguments) != (3 if storing else 1) or arguments[1 if storing else 0] not in PARTS:
        sys.exit(__doc__)
    if storing:
        part, folder = arguments[1], pathlib.Path(arguments[2])
        STORED.mkdir(exist_ok=True)
        stored = {"commit": commit(), **PARTS[part][0](folder)}
        (STORED / f"{part}.json").write_text(json.dumps(stored, indent=1) + "\n")
    else:
        print(PARTS[arguments[0]][1](json.loads((STORED / f"{arguments[0]}.json").read_text())))


if __name__ == "__main__":
    main()
