#!/usr/bin/env python3
"""What the largest legal questions take: one of each subcommand, and of each option that multiplies work.

usage: scripts/largest_questions.py PROGRAM [--seconds N] [--only TEXT]

Runs each in a process of its own, for N seconds (20) at most, and prints a JSON object with the processor time, the
peak of resident memory and how it ended: answered, refused (which option), or stopped at the limit. What --estimate
says of it is printed beside. scripts/reliability_report.py prints the table.
"""
import argparse
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
QUESTIONS = [
    "count -i 3037000499 -w 1518500249 -s 999983 --q-tile 64 --kv-tile 128",
    "count -i 16384 16384 16384 -w 4099 4099 4099 -s 1021 1021 1021 --q-tile 1 8 8 --kv-tile 1 8 8 --device h200 -n 1",
    "count -i 4096 4096 -w 1024 1024 --q-tile 64 --kv-tile 64 --tiling single",
    "search -i 16777216",
    "search -i 96 96 96 --pareto --device h200",
    "advise -i 60 96 160 -n 24 -d 128 --device h200 --speedup 4",
    "plan --preset hunyuan-video --device h200 --gpus 8 --parallel ring",
    "mask --mask causal --seqlen-q 16777216 --device h200",
    "schedule --q-tiles 16384 --heads 1 --mask causal --algorithm spt",
    "schedule --q-tiles 4096 --heads 8 --mask causal",
    "schedule --q-tiles 1 --heads 1048576 --algorithm spt --workers 1",
    "schedule --q-tiles 65536 --heads 1048576 --algorithm spt",
    "reuse -i 16777216 -d 64 --device h200",
    "reuse -i 16777216 -d 64 --device h200 --fidelity lru",
    "reuse -i 1048576 -d 64 --device h200 --fidelity timed",
    "reuse -i 131072 -d 64 --device h200 --fidelity lru --ways 16",
    "reuse --sweep seqlen=8192:67108864:8192 -d 64 --device h200",
    "atomics --updates 4294967295",
    "atomics --updates 4294967295 --rows 268435456 --distribution zipf:1.1",
    "msda --workload B64_1600x2666_d256_L4_h8_p4_q20000 --order all",
    "calibrate --plan --kernel hopper-fna --device h200 --suggestions 6",
    "reproduce all",
    "trust",
    "list coverage",
    "diff LINES LINES",
    "sweep count -w 16 --q-tile 8 --kv-tile 4 --over input=64:100063 --quiet",
    "count -w 16 --q-tile 8 --kv-tile 4 --batch LINES",
]


def measured(program, words, seconds, folder):
    """Processor seconds, MiB at the peak, and how it ended."""
    with open(folder / "err", "w+", encoding="utf-8") as err:
        limits = [] if "--max-time" in words else ["--max-time", str(seconds)]
        process = subprocess.Popen([program, *words, *limits], stdout=subprocess.DEVNULL, stderr=err)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        err.seek(0)
        message = err.read()
    found = re.search(r"error: ([^\n]*)", message)
    end = "answered"
    if process.returncode != 0:
        end = f"refused: {found[1].split(':')[0].lstrip('-')}" if found else f"exit code {process.returncode}"
    if found and found[1].startswith(("max-time", "--max-time")):
        end = "stopped"
    return {"seconds": round(usage.ru_utime + usage.ru_stime, 1), "mib": round(usage.ru_maxrss / 1024), "end": end}


def estimated(program, words):
    run = subprocess.run([program, *words, "--estimate", "--json"], capture_output=True, text=True, check=False)
    if run.returncode != 0:
        return {}
    found = json.loads(run.stdout)["result"]
    return {"estimated_steps": found["steps"], "estimated_mib": round(found["bytes"] / 2**20)}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--only", default="")
    arguments = parser.parse_args()
    rows = []
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        lines = folder / "lines.jsonl"
        lines.write_text("".join(f'{{"id": {i}, "input": {64 + i}}}\n' for i in range(100_000)))
        for question in QUESTIONS:
            if arguments.only not in question:
                continue
            words = [str(lines) if word == "LINES" else word for word in question.split()]
            rows.append({"question": question.replace("LINES", "lines.jsonl"), **estimated(arguments.program, words),
                         **measured(arguments.program, words, arguments.seconds, folder)})
            print(rows[-1], file=sys.stderr, flush=True)
    print(json.dumps({"limit_s": arguments.seconds, "questions": rows}))


if __name__ == "__main__":
    main()
