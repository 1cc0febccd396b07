#!/usr/bin/env python3
"""Times FlashAttention-4's backward pass on this machine's GPU, deterministic and not.

    python3 scripts/time_flash_attention.py --out recordings/fa4.json
    natten-sim validate schedules --recorded recordings

The cases are those of data/predictions/h200_fa4_backward.json (--cases names another file of that format): full and
causal masks, windows, grouped heads. PyTorch and flash-attn-4 (the CuTe DSL package, Hopper or later) must be
installed. Kernels compile at their first call; FLASH_ATTENTION_CUTE_DSL_CACHE_ENABLED=1 keeps them.

The method is that of `natten-sim validate`: CUDA events around one call (with the kernels before and after the main
one), the L2 overwritten before each repetition, random inputs, clocks read and never set. The two modes take turns.
Before that, gradients of short problems of every kind are compared with float32 arithmetic, and deterministic
gradients of each case with themselves, bit by bit. The format is natten-sim.recording/1.
"""

import argparse
import json
import os
import statistics
import subprocess
import time

HOST_LEAD_CYCLES = 2_000_000  # the GPU waits this long while the host prepares the call
TOLERANCE = 1e-2
MODES = ("unordered", "deterministic")


def arguments_of():
    here = os.path.dirname(os.path.abspath(__file__))
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--cases", default=os.path.join(here, "../data/predictions/h200_fa4_backward.json"))
    parser.add_argument("--out", required=True, help="the recording")
    parser.add_argument("--profile", default="h200", help="natten-sim's name of the device")
    parser.add_argument("--commit", default="unknown", help="commit of the predictions, for the recording")
    parser.add_argument("--repetitions", type=int, default=21)
    parser.add_argument("--milliseconds", type=float, default=700, help="at most so long a mode, from 5 repetitions on")
    return parser.parse_args()


def cases_of(path):
    with open(path, encoding="utf-8") as file:
        table = json.load(file)
    return [dict(zip(table["columns"], row)) for row in table["rows"]]


def mask_arguments(mask):
    if mask == "full":
        return {}
    if mask == "causal":
        return {"causal": True}
    left, right = mask.removeprefix("window:").split(",")
    return {"window_size_left": int(left), "window_size_right": int(right)}


def attends(torch, length, mask):
    distance = torch.arange(length, device="cuda")[:, None] - torch.arange(length, device="cuda")[None, :]
    window = mask_arguments(mask)
    if not window:
        return torch.ones(length, length, device="cuda", dtype=torch.bool)
    if "causal" in window:
        return distance >= 0
    return (distance <= window["window_size_left"]) & (-distance <= window["window_size_right"])


def relative_error(got, expected):
    return ((got.float() - expected.float()).norm() / expected.float().norm()).item()


class Bench:
    def __init__(self, arguments):
        import torch
        from flash_attn.cute import interface

        self.torch, self.interface, self.arguments = torch, interface, arguments
        self.cover = torch.empty(256 << 20, dtype=torch.uint8, device="cuda")

    def inputs(self, case, seed=1):
        torch = self.torch
        generator = torch.Generator(device="cuda").manual_seed(seed)
        make = lambda heads: torch.randn(case["batch"], case["tokens"], heads, case["head_dim"], device="cuda",
                                         generator=generator, dtype=torch.bfloat16)
        return make(case["heads"]), make(case["heads_kv"]), make(case["heads_kv"]), make(case["heads"])

    def backward_of(self, case, inputs):
        """One call a mode, each giving dQ, dK and dV."""
        q, k, v, grad = inputs
        mask = mask_arguments(case["mask"])
        out, lse = self.interface._flash_attn_fwd(q, k, v, return_lse=True, **mask)[:2]
        call = lambda ordered: self.interface._flash_attn_bwd(q, k, v, out, grad, lse, deterministic=ordered, **mask)
        return [lambda ordered=ordered: call(ordered)[:3] for ordered in (False, True)]

    def check(self, case):
        """Against softmax in float32, on a short problem of the same kind."""
        torch = self.torch
        group = case["heads"] // case["heads_kv"]
        short = dict(case, tokens=768, batch=2, heads=4, heads_kv=4 // group)
        q, k, v, grad = inputs = self.inputs(short, seed=7)
        leaves = [x.float().transpose(1, 2).detach().requires_grad_() for x in (q, k, v)]
        keys, values = (x.repeat_interleave(group, 1) for x in leaves[1:])
        logits = leaves[0] @ keys.transpose(-1, -2) * short["head_dim"]**-0.5
        out = logits.masked_fill(~attends(torch, 768, short["mask"]), float("-inf")).softmax(-1) @ values
        expected = torch.autograd.grad(out, leaves, grad.float().transpose(1, 2))
        for mode, run in zip(MODES, self.backward_of(short, inputs)):
            for got, reference in zip(run(), expected):
                error = relative_error(got.transpose(1, 2), reference)
                if not error < TOLERANCE:
                    raise SystemExit(f"{short} {mode}: gradients are off by {error:.1e}")

    def once(self, run):
        torch = self.torch
        torch.cuda._sleep(HOST_LEAD_CYCLES)
        self.cover.fill_(1)
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        run()
        end.record()
        torch.cuda.synchronize()
        return begin.elapsed_time(end)

    def times(self, case):
        """Milliseconds of each mode."""
        torch = self.torch
        runs = self.backward_of(case, self.inputs(case))
        first = [x.clone() for x in runs[1]()]
        for _ in range(2):
            if not all(torch.equal(x, y) for x, y in zip(first, runs[1]())):
                raise SystemExit(f"{case}: deterministic gradients differ from run to run")
        del first
        for run in runs:
            self.once(run)
        repetitions = max(5, min(self.arguments.repetitions, int(self.arguments.milliseconds / self.once(runs[1]))))
        warm_up, times = 3, ([], [])
        for i in range(warm_up + repetitions):
            for mode in ((0, 1) if i % 2 else (1, 0)):
                elapsed = self.once(runs[mode])
                if i >= warm_up:
                    times[mode].append(elapsed)
        return times


def row_of(case, mode, times):
    times = sorted(times)
    at = lambda part: times[min(len(times) - 1, int(part * len(times)))]
    point = {"kernel": "flash_attention_backward", "implementation": case["kernel"], "head_dim": case["head_dim"],
             "tokens": case["tokens"], "batch": case["batch"], "heads": case["heads"], "heads_kv": case["heads_kv"],
             "dtype": "bf16", "mask": case["mask"], "mode": mode}
    spread = {"median": statistics.median(times), "p95": at(0.95), "smallest": times[0], "largest": times[-1]}
    return {"point": point, "status": "measured", "counters": {},
            "time_ms": {**spread, "repetitions": len(times), "inputs": 1, "l2": "flushed"}}


def head_of(bench):
    import importlib.metadata

    torch, device = bench.torch, bench.torch.cuda.get_device_properties(0)
    driver = subprocess.run(["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"], capture_output=True,
                            text=True, check=True).stdout.split()[0]
    return {"schema": "natten-sim.recording/1", "suite": "schedules",
            "device": {"name": device.name, "profile": bench.arguments.profile, "sms": device.multi_processor_count,
                       "l2_bytes": device.L2_cache_size, "memory_bytes": device.total_memory,
                       "compute_capability": f"{device.major}.{device.minor}"},
            "driver": driver,
            "toolkit": f"PyTorch {torch.__version__}, flash-attn-4 {importlib.metadata.version('flash-attn-4')}",
            "profiler": "none: CUDA events around a call",
            "clocks_policy": "untouched; deterministic and unordered calls alternate in one process",
            "cache_control": "L2 overwritten before each repetition", "commit": bench.arguments.commit, "metrics": {}}


def main():
    arguments = arguments_of()
    cases = cases_of(arguments.cases)
    bench = Bench(arguments)
    kinds = {(c["head_dim"], c["heads"] // c["heads_kv"], c["mask"].split(":")[0]): c for c in cases}
    for case in kinds.values():
        bench.check(case)
    rows, start = [], time.monotonic()
    for case in cases:
        for mode, times in zip(MODES, bench.times(case)):
            rows.append(row_of(case, mode, times))
        print(f"{time.monotonic() - start:6.1f} s  {case}", flush=True)
        with open(arguments.out, "w", encoding="utf-8") as file:
            json.dump({**head_of(bench), "rows": rows}, file, indent=1)


if __name__ == "__main__":
    main()
