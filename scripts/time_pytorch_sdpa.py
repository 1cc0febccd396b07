#!/usr/bin/env python3
"""Times PyTorch's scaled_dot_product_attention on this machine's GPU, backend by backend.

    natten-sim validate tiles --out recordings
    python3 scripts/time_pytorch_sdpa.py --out recordings/sdpa.json
    natten-sim validate --recorded recordings --view heat-map

The method is that of `natten-sim validate`: CUDA events around one call, three warm-up calls, 20 repetitions, the L2
overwritten before each, median and 95th percentile, random inputs of mean 0 and variance 1, contiguous tensors (batch,
heads, tokens, head_dim), clocks read and never set. The host runs ahead of the GPU, so that neither side's launch counts.

What cannot run is a row with its reason, never a gap. After every problem the file is written beside itself and renamed;
--resume goes on with it. The format (natten-sim.sdpa-recording/1) is described in docs/measurements-pytorch.md. Needs PyTorch.
"""

import argparse
import json
import math
import os
import subprocess
import sys
import warnings

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.functional import scaled_dot_product_attention

SCHEMA = "natten-sim.sdpa-recording/1"
# Name in the recording, PyTorch's own, and how its warnings call it.
BACKENDS = {
    "auto": (None, ""),
    "flash": ("FLASH_ATTENTION", "flash"),
    "cudnn": ("CUDNN_ATTENTION", "cudnn"),
    "efficient": ("EFFICIENT_ATTENTION", "memory efficient"),
    "math": ("MATH", "math"),
}
DTYPES = {"bf16": torch.bfloat16, "fp16": torch.float16}
# Heads of each head dim, as in the suite `tiles`.
HEADS = {64: 32, 96: 16, 128: 16, 160: 16}
# The GPU waits this long behind the L2's overwriting while the host prepares the call.
HOST_LEAD_CYCLES = 600_000


def numbers(text):
    return [int(word) for word in text.split(",")]


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--out", required=True, help="the recording")
    parser.add_argument("--resume", action="store_true", help="go on with a recording that is there")
    parser.add_argument("--tokens", type=numbers, default=[512, 1024, 2048, 4096, 8192, 16384, 32768])
    parser.add_argument("--fp16-most-tokens", type=int, default=16384, help="longest sequence in fp16")
    parser.add_argument("--head-dims", type=numbers, default=[64, 96, 128, 160])
    parser.add_argument("--dtypes", type=lambda text: text.split(","), default=["bf16", "fp16"])
    parser.add_argument("--backends", type=lambda text: text.split(","), default=list(BACKENDS))
    parser.add_argument("--repetitions", type=int, default=20)
    parser.add_argument("--warm-up", type=int, default=3)
    arguments = parser.parse_args()
    for name, given, known in (("dtypes", arguments.dtypes, DTYPES), ("backends", arguments.backends, BACKENDS)):
        for word in given:
            if word not in known:
                parser.error(f"--{name}: no '{word}', but {', '.join(known)}")
    if arguments.repetitions < 1 or min(arguments.tokens + arguments.head_dims) < 1:
        parser.error("--repetitions, --tokens and --head-dims take positive numbers")
    return arguments


def read_clocks():
    """MHz of SMs and memory, and the driver's version, as nvidia-smi says; None without it."""
    query = "--query-gpu=clocks.sm,clocks.mem,driver_version"
    try:
        text = subprocess.run(["nvidia-smi", query, "--format=csv,noheader,nounits"], capture_output=True, text=True,
                              check=True, timeout=60).stdout.splitlines()[0]
        sm, memory, driver = (word.strip() for word in text.split(","))
        return {"sm_mhz": int(sm), "memory_mhz": int(memory)}, driver
    except (OSError, subprocess.SubprocessError, ValueError, IndexError):
        return None, "unknown"


def head_of():
    device = torch.cuda.get_device_properties(0)
    clocks, driver = read_clocks()
    head = {
        "schema": SCHEMA,
        "device": {
            "name": device.name,
            "sms": device.multi_processor_count,
            "l2_bytes": device.L2_cache_size,
            "memory_bytes": device.total_memory,
            "compute_capability": f"{device.major}.{device.minor}",
        },
        "driver": driver,
        "framework": f"PyTorch {torch.__version__}",
        "cudnn": str(torch.backends.cudnn.version()),
        "clocks_policy": "untouched",
        "cache_control": "L2 overwritten before each repetition",
    }
    if clocks:
        head["clocks_before"] = clocks
    return head


def spread_of(values):
    ordered = sorted(values)
    n = len(ordered)
    middle = n // 2
    return {
        "median": ordered[middle] if n % 2 else (ordered[middle - 1] + ordered[middle]) / 2,
        "p95": ordered[math.ceil(0.95 * n) - 1],
        "smallest": ordered[0],
        "largest": ordered[-1],
        "repetitions": n,
    }


class Timer:
    def __init__(self, l2_bytes, repetitions, warm_up):
        self.cover = torch.empty(2 * l2_bytes, dtype=torch.uint8, device="cuda")
        self.repetitions = repetitions
        self.warm_up = warm_up

    def milliseconds(self, work):
        for _ in range(self.warm_up):
            work()
        torch.cuda.synchronize()
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        values = []
        for i in range(self.repetitions):
            self.cover.fill_(i % 256)
            torch.cuda._sleep(HOST_LEAD_CYCLES)
            begin.record()
            work()
            end.record()
            end.synchronize()
            values.append(begin.elapsed_time(end))
        return values


def why_refused(error, caught, spoken_name):
    """PyTorch's own words: the error, and what it warned about this backend."""
    reasons, about_this = [], False
    for warning in caught:
        text = str(warning.message).split(" (Triggered")[0].strip()
        if text.endswith("because:"):
            about_this = spoken_name != "" and spoken_name in text.lower()
        elif about_this:
            reasons.append(text)
    first_line = str(error).strip().split("\n")[0]
    return ("refused: " + " ".join([first_line] + reasons))[:400]


def run_row(problem, backend, tensors, timer):
    """The row's status, and its times where there are any."""
    torch_name, spoken_name = BACKENDS[backend]

    def attention():
        return scaled_dot_product_attention(*tensors, is_causal=problem["causal"])

    def measured():
        if not bool(torch.isfinite(attention()).all()):
            return {"status": "wrong: the output is not finite"}
        return {"status": "measured", "time_ms": spread_of(timer.milliseconds(attention))}

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            if torch_name is None:
                return measured()
            if not hasattr(SDPBackend, torch_name):
                return {"status": "refused: this PyTorch has no such backend"}
            with sdpa_kernel(getattr(SDPBackend, torch_name)):
                return measured()
        except torch.OutOfMemoryError:
            return {"status": "out of memory"}
        except RuntimeError as error:
            if "CUDA error" in str(error):
                raise  # the context is lost: what was measured so far is in the file
            return {"status": why_refused(error, caught, spoken_name)}


def problems_of(arguments):
    for head_dim in arguments.head_dims:
        heads = HEADS.get(head_dim, 16)
        for dtype in arguments.dtypes:
            for causal in (False, True):
                for tokens in arguments.tokens:
                    if dtype == "fp16" and tokens > arguments.fp16_most_tokens:
                        continue
                    yield {"batch": 1, "heads": heads, "heads_kv": heads, "tokens": tokens, "head_dim": head_dim,
                           "dtype": dtype, "causal": causal}


def write(path, recording):
    head = json.dumps({key: value for key, value in recording.items() if key != "rows"}, indent=2)
    rows = ",\n    ".join(json.dumps(row) for row in recording["rows"])
    partial = path + ".partial"
    with open(partial, "w", encoding="utf-8") as file:
        file.write(head[:-2] + ',\n  "rows": [\n    ' + rows + "\n  ]\n}\n")
    os.replace(partial, path)


def opened(path, head, resume):
    if not os.path.exists(path):
        return {**head, "rows": []}
    if not resume:
        sys.exit(f"{path} is there already: choose another file, or --resume to go on with it")
    with open(path, encoding="utf-8") as file:
        recording = json.load(file)
    for key, value in head.items():
        if not key.startswith("clocks_before") and recording.get(key) != value:
            sys.exit(f"{path} is of another {key}: choose another file")
    return recording


def main():
    arguments = parse_arguments()
    if not torch.cuda.is_available():
        print("this needs a CUDA GPU, but PyTorch sees none", file=sys.stderr)
        return 4
    head = head_of()
    recording = opened(arguments.out, head, arguments.resume)
    done = {(json.dumps(row["problem"]), row["backend"]) for row in recording["rows"]}
    timer = Timer(head["device"]["l2_bytes"], arguments.repetitions, arguments.warm_up)
    generator = torch.Generator(device="cuda").manual_seed(1)
    with torch.inference_mode():
        for problem in problems_of(arguments):
            missing = [name for name in arguments.backends if (json.dumps(problem), name) not in done]
            if not missing:
                continue
            shape = [problem[axis] for axis in ("batch", "heads", "tokens", "head_dim")]
            tensors = [torch.randn(shape, dtype=DTYPES[problem["dtype"]], device="cuda", generator=generator)
                       for _ in range(3)]
            for backend in missing:
                row = {"problem": problem, "backend": backend, **run_row(problem, backend, tensors, timer)}
                recording["rows"].append(row)
                if backend == "math" or row["status"] != "measured":
                    torch.cuda.empty_cache()
            write(arguments.out, recording)
            print(json.dumps(problem), {row["backend"]: row.get("time_ms", {}).get("median", row["status"])
                                        for row in recording["rows"] if row["problem"] == problem}, flush=True)
    clocks, _ = read_clocks()
    if clocks:
        recording["clocks_after"] = clocks
    write(arguments.out, recording)
    return 0


if __name__ == "__main__":
    sys.exit(main())
