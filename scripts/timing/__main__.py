"""Times other people's kernels, and this project's with them, on this machine's GPU, for natten-sim validate.

    python3 scripts/timing suites flex sdpa-times --out recordings          # a recording of each
    python3 scripts/timing suites beside-turns --way turns --build build/cuda --out recordings
    python3 scripts/timing count sdpa-reads --out recordings                # DRAM reads, by Nsight Compute
    python3 scripts/timing regimes --out recordings/sdpa.json               # every backend of PyTorch's attention
    python3 scripts/timing compare backward --build build/cuda --kernels "gna deterministic" "fa4 deterministic" cudnn
    python3 scripts/timing draw my-draw dense --kernels fa2 --seed 7 > data/suites/my-draw.json
    natten-sim validate my-draw --freeze --json > data/predictions/h200_my_draw.json
    python3 scripts/timing judge data/predictions/h200_my_draw.json recordings/time-my-draw.json

The method is that of natten_sim.measure, which is to be installed with PyTorch: CUDA events around one call, the L2
overwritten before each repetition, random inputs, clocks read and never set. Before a point is timed, 64 queries of its
forward pass are checked against softmax(q k) v, and deterministic gradients against those of a second launch, bit by
bit. Points of kernel `gna` are this project's; they and scatters need the folder of a build with
-DNATTEN_SIM_BUILD_BENCH=ON.
"""

from __future__ import annotations

import argparse
import importlib
import sys
from collections.abc import Callable

Command = Callable[[argparse.Namespace], None]
WAYS = ("rested", "turns", "after-itself")


def of(module: str, function: str) -> Command:
    """A function of a module that is imported when it is called: not all of them need PyTorch."""
    def call(arguments: argparse.Namespace) -> None:
        getattr(importlib.import_module(module), function)(arguments)
    return call


def parsed(words: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="scripts/timing", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)

    def command(name: str, call: Command, text: str) -> argparse.ArgumentParser:
        made = commands.add_parser(name, help=text)
        made.set_defaults(call=call)
        return made

    suites = command("suites", of("suites", "record"), "record suites")
    suites.add_argument("suites", nargs="+", metavar="SUITE", help="a name of data/suites, or a file")
    suites.add_argument("--way", choices=WAYS, default="rested")
    suites.add_argument("--only", nargs="+", metavar="KERNEL", help="leave other kernels out")
    suites.add_argument("--counters", action="store_true", help="scatters: also count sectors of the first run")
    count = command("count", of("counts", "record"), "count what a suite reads from DRAM")
    count.add_argument("suite")
    count.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    every = command("regimes", of("regimes", "record"), "time PyTorch's attention backend by backend")
    compare = command("compare", of("turns", "compare"), "time dense kernels in turns, as CSV")
    compare.add_argument("passes", choices=["forward", "backward"])
    compare.add_argument("--kernels", nargs="+", default=["gna", "fa4", "cudnn"],
                         help="a kernel, or \"KERNEL deterministic\"")
    compare.add_argument("--dtype", choices=["bf16", "fp16"], default="bf16")
    compare.add_argument("--hidden", type=int, default=2048, help="heads times head dim")
    compare.add_argument("--tokens", type=int, default=16384, help="of all sequences, or of one that is longer")
    compare.add_argument("--rest-ms", type=float, default=0)
    for each in (every, compare):
        each.add_argument("--head-dims", type=int, nargs="+",
                          default=[64, 96, 128, 160] if each is every else [128, 64])
        each.add_argument("--lengths", type=int, nargs="+", default=[512 << i for i in range(7 + (each is compare))])
    for each, repetitions in ((suites, 7), (count, 5), (every, 20), (compare, 20)):
        each.add_argument("--repetitions", type=int, default=repetitions)
        each.add_argument("--commit", default="unknown", help="commit of the sources, for the recording")
        each.add_argument("--build", default="", help="folder of a build with the benches")
        each.add_argument("--warm-up-ms", type=float, default=250)
        each.add_argument("--resume", action="store_true", help="go on with a recording that is there")
        if each is not compare:
            each.add_argument("--out", required=True,
                              help="the recording" if each is every else "folder of the recordings")
    draw = command("draw", of("draws", "draw"), "draw a suite at random")
    draw.add_argument("name")
    draw.add_argument("what", choices=["neighborhoods", "dense", "reads", "schedules"])
    draw.add_argument("--kernels", nargs="+", required=True)
    draw.add_argument("--seed", type=int, required=True)
    draw.add_argument("--points", type=int, default=24, help="of each kernel")
    draw.add_argument("--head-dims", type=int, nargs="+", default=[64, 128])
    draw.add_argument("--short", action="store_true", help="one to four heads of short sequences and small layouts")
    draw.add_argument("--long", action="store_true", help="neighborhoods: launches of 20 to 100 ms at 500 TFLOP/s")
    draw.add_argument("--back-to-back", action="store_true", help="dense: launches without rests between them")
    draw.add_argument("--place", type=int, default=1000)
    draw.add_argument("--title")
    judge = command("judge", of("judgement", "judge"), "say how far frozen predictions were off")
    judge.add_argument("predictions")
    judge.add_argument("recording")
    return parser.parse_args(words)


def main(words: list[str] | None = None) -> int:
    """4: there is no GPU."""
    arguments = parsed(words)
    if arguments.command not in ("draw", "judge"):
        import torch

        if not torch.cuda.is_available():
            print("this needs a CUDA GPU, but PyTorch sees none", file=sys.stderr)
            return 4
        torch.manual_seed(1)
    arguments.call(arguments)
    return 0


if __name__ == "__main__":
    sys.exit(main())
