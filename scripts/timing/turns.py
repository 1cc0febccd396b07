"""Dense attention of several kernels in turns, in one process: times and rates as CSV."""

from __future__ import annotations

import argparse
import csv
import statistics
import sys

import definition
from suite_points import dense_run
from suites import preparer

from natten_sim import measure


def kernel_and_mode(name: str) -> dict[str, str]:
    """"fa4 deterministic" or a kernel alone."""
    kernel, _, mode = name.partition(" ")
    return {"kernel": kernel, **({"mode": mode} if mode else {})}


def compare(arguments: argparse.Namespace) -> None:
    """Writes a line for each kernel of each problem. Causal operations count half, a backward pass five products."""
    prepare = preparer(arguments)
    clock, rows = measure.Clock(arguments.repetitions), csv.writer(sys.stdout, lineterminator="\n")
    rows.writerow(["head_dim", "mask", "length", "kernel", "ms", "tflops_per_s"])
    for head_dim in arguments.head_dims:
        for causal in (False, True):
            for length in arguments.lengths:
                batch, heads, launches = max(arguments.tokens // length, 1), arguments.hidden // head_dim, {}
                for name in arguments.kernels:
                    run = dense_run(tokens=length, batch=batch, heads=heads, head_dim=head_dim, dtype=arguments.dtype,
                                    causal=str(int(causal)), **{**kernel_and_mode(name), "pass": arguments.passes})
                    try:
                        launches[name] = prepare(run)
                        why = definition.wrong(run, launches[name])
                    except (measure.Unavailable, RuntimeError, ValueError) as error:
                        why = measure.refusal(error)
                    if why:
                        print(f"{name}: {why}", file=sys.stderr)
                        launches.pop(name, None)
                times = clock.in_turns({name: launch.work for name, launch in launches.items()}, arguments.warm_up_ms,
                                       arguments.rest_ms)
                products = (5 if arguments.passes == "backward" else 2) * (0.5 if causal else 1)
                operations = 2.0 * products * batch * heads * length * length * head_dim
                for name, each in times.items():
                    ms = statistics.median(each)
                    rows.writerow([head_dim, "causal" if causal else "full", length, name, f"{ms:.4f}",
                                   f"{operations / ms / 1e9:.1f}"])
                sys.stdout.flush()
