#!/usr/bin/env python3
"""Times FlashAttention-2 and cuDNN, as PyTorch's scaled_dot_product_attention calls them, on the points of a suite.

    python3 scripts/time_sdpa_suite.py --out recordings/time-sdpa-times.json
    natten-sim validate sdpa-times --recorded recordings --fidelity timed

The points are those of the suite `sdpa-times` (--suite names another). The method is that of `natten-sim validate`: CUDA
events around one call, the L2 overwritten before each repetition, random inputs, clocks read and never set. 64 queries of
each point are checked against softmax(q k) v.
"""

import argparse
import itertools
import json
import math
import os
import sys

import time_flexattention as flex

BACKENDS = {"fa2": "FLASH_ATTENTION", "cudnn": "CUDNN_ATTENTION"}
DEFAULTS = {"heads": 1, "head_dim": 128, "dtype": "bf16", "causal": False}


def points_of(suite):
    for sweep in suite["sweeps"]:
        values = [value if isinstance(value, list) else [value] for value in sweep.values()]
        for chosen in itertools.product(*values):
            yield {**DEFAULTS, **dict(zip(sweep.keys(), chosen))}


def error_of(q, k, v, out, causal, torch):
    """Of queries of the last head."""
    picked = torch.randint(q.shape[2], (flex.CHECKED_QUERIES,), device="cuda")
    logits = q[0, -1, picked].double() @ k[0, -1].double().T / math.sqrt(q.shape[3])
    if causal:
        logits.masked_fill_(torch.arange(k.shape[2], device="cuda")[None, :] > picked[:, None], float("-inf"))
    expected = torch.softmax(logits, dim=1) @ v[0, -1].double()
    return ((out[0, -1, picked].double() - expected).norm() / expected.norm()).item()


def times_of(point, arguments, cover, torch):
    """Milliseconds, or why not."""
    from torch.nn.attention import SDPBackend, sdpa_kernel
    from torch.nn.functional import scaled_dot_product_attention

    kind = {"bf16": torch.bfloat16, "fp16": torch.float16}[point["dtype"]]
    shape = (1, point["heads"], point["tokens"], point["head_dim"])
    q, k, v = (torch.randn(shape, device="cuda", dtype=kind) for _ in range(3))
    try:
        with torch.inference_mode(), sdpa_kernel(getattr(SDPBackend, BACKENDS[point["implementation"]])):
            work = lambda: scaled_dot_product_attention(q, k, v, is_causal=point["causal"])
            error = error_of(q, k, v, work(), point["causal"], torch)
            if not error <= flex.TOLERANCE:
                return f"wrong: relative error {error:.2e}"
            work()
            events = []
            for i in range(arguments.repetitions):
                cover.fill_(i % 256)
                torch.cuda._sleep(flex.HOST_LEAD_CYCLES)
                begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
                begin.record()
                work()
                end.record()
                events.append((begin, end))
            torch.cuda.synchronize()
            return [begin.elapsed_time(end) for begin, end in events]
    except RuntimeError as error:
        if "CUDA error" in str(error):
            raise  # the context is lost
        return f"refused: {str(error)[:300]}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--suite", default=os.path.join(os.path.dirname(__file__), "../data/suites/sdpa-times.json"))
    parser.add_argument("--out", required=True, help="the recording")
    parser.add_argument("--commit", default="unknown", help="commit of the sources, for the recording")
    parser.add_argument("--repetitions", type=int, default=3)
    arguments = parser.parse_args()
    arguments.warm_up_ms = 0  # of the head: two launches warm each point up
    with open(arguments.suite, encoding="utf-8") as file:
        suite = json.load(file)
    import torch

    if not torch.cuda.is_available():
        print("this needs a CUDA GPU, but PyTorch sees none", file=sys.stderr)
        return 4
    cover = torch.empty(128 << 20, dtype=torch.uint8, device="cuda")
    points = list(points_of(suite))
    times = [times_of(point, arguments, cover, torch) for point in points]
    head, rows = flex.recording_of(suite, points, times, arguments)
    head["clocks_policy"] = "untouched; two launches before each timed point"
    flex.write(arguments.out, head, rows)
    for point, values in zip(points, times):
        shown = values if isinstance(values, str) else f"{flex.spread_of(values)['median']:.3f} ms"
        print(*point.values(), shown)
    return 0


if __name__ == "__main__":
    sys.exit(main())
