"""Recordings of suites: points one by one, or in turns with others of their size."""

from __future__ import annotations

import argparse
import contextlib
import importlib
import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import definition
import own_kernels
import recording
import scatter_operators
import torch
from suite_points import points_of, run_of, shared_tensors, suite_of

from natten_sim import measure

Prepare = Callable[[dict[str, Any]], Any]
WAYS = {"rested": "untouched; rests of 3 ms and more before each launch, in which the GPU spins, and none at rest_us 0",
        "turns": "untouched; all kernels of a problem in turns",
        "after-itself": "untouched; launches for {} ms before each timed point"}


def preparer(arguments: argparse.Namespace) -> Prepare:
    """What makes launches of runs."""
    own = own_kernels.OwnKernels(arguments.build) if arguments.build else None
    return lambda run: own.prepared(run) if own and run["kernel"] == "gna" else measure.prepared(run)


def checked(prepare: Prepare, point: dict[str, Any]) -> Any:
    """The launch, or why there is none."""
    run = run_of(point)
    try:
        launch = prepare(run)
        return definition.wrong(run, launch) or launch
    except (measure.Unavailable, RuntimeError, ValueError) as error:
        return measure.refusal(error)


def alone(prepare: Prepare, points: list[dict[str, Any]], file: recording.File, arguments: argparse.Namespace) -> None:
    clock = measure.Clock(arguments.repetitions)
    for point in points:
        launch, more = checked(prepare, point), {}
        times = launch
        if not isinstance(launch, str):
            try:
                if arguments.way == "rested":
                    times = measure.times_of(run_of(point), launch, clock)
                else:
                    times, between = clock.after_itself(launch.work, arguments.warm_up_ms)
                    more = {"rest_ms": recording.spread_of(between)["median"]}
            except measure.Unavailable as error:
                times = measure.refusal(error)
        file.add(recording.row_of(point, times, **more))
        launch = None
        torch.cuda.empty_cache()


def keep_compiled() -> None:
    """FlexAttention is compiled for each mask of a group; by default PyTorch keeps 8 versions of one function."""
    with contextlib.suppress(ImportError):
        importlib.import_module("torch._dynamo.config").recompile_limit = 1024  # type: ignore[attr-defined]


def in_turns(prepare: Prepare, points: list[dict[str, Any]], file: recording.File,
             arguments: argparse.Namespace) -> None:
    keep_compiled()
    clock = measure.Clock(arguments.repetitions)
    for _, group in itertools.groupby(sorted(points, key=lambda each: repr(shared_tensors(each))), key=shared_tensors):
        launches = [(point, checked(prepare, point)) for point in group]
        ready = {number: launch.work for number, (_, launch) in enumerate(launches) if not isinstance(launch, str)}
        times = clock.in_turns(ready, arguments.warm_up_ms)
        for number, (point, launch) in enumerate(launches):
            file.add(recording.row_of(point, times[number] if number in times else launch))
        launches.clear()
        ready.clear()
        torch.cuda.empty_cache()


def record(arguments: argparse.Namespace) -> None:
    for name in arguments.suites:
        suite = suite_of(name)
        points = [point for point in points_of(suite) if not arguments.only
                  or run_of(point)["kernel"] in arguments.only]
        head = recording.head_of(suite["name"], arguments.commit, WAYS[arguments.way].format(arguments.warm_up_ms))
        file = recording.File(Path(arguments.out) / f"time-{suite['name']}.json", head, arguments.resume)
        if points[0]["kernel"].startswith("scatter"):
            scatter_operators.record(points, file, arguments.build, arguments.counters)
            continue
        points = [point for point in points if not file.has(point=point)]
        (in_turns if arguments.way == "turns" else alone)(preparer(arguments), points, file, arguments)
