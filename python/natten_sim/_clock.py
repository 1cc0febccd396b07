"""Times work on a GPU by CUDA events: after rests, in a row, in turns with other work."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any

Work = Callable[[], Any]

_SPIN_CYCLES_A_MS = 1_980_000
_HOST_LEAD_MS = 1.5  # of spinning, in which the host prepares a launch
_SHORTEST_REST_MS, _LONGEST_REST_MS = 3.0, 60.0
_LOOP_MS = 300.0  # of launches one right behind the other, after as many: power is limited from 60 to 80 ms on
_LAUNCHES_OF_HOST = 20
_COVER_BYTES = 128 << 20  # more than any L2


class Unavailable(Exception):
    """Nothing here runs the kernel."""


class Clock:
    """Times work on the GPU."""

    def __init__(self, repetitions: int = 7) -> None:
        """Args: repetitions: launches of a run that count, 2 or more."""
        import torch

        self.torch, self.repetitions = torch, repetitions
        self.cover = torch.empty(_COVER_BYTES, dtype=torch.uint8, device="cuda")

    def _spin(self, ms: float) -> None:
        self.torch.cuda._sleep(int(_SPIN_CYCLES_A_MS * ms))

    def _events_around(self, work: Work) -> tuple[Any, Any]:
        begin, end = (self.torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        work()
        end.record()
        return begin, end

    def _flushed(self, work: Work, spin_ms: float, step: int) -> tuple[Any, Any]:
        """The L2 is overwritten, then the GPU spins."""
        self.cover.fill_(step % 256)
        self._spin(spin_ms)
        return self._events_around(work)

    def rested(self, work: Work) -> list[float]:
        """Milliseconds of launches after rests, the L2 overwritten before each."""
        self._spin(_HOST_LEAD_MS)
        begin, end = self._events_around(work)
        self.torch.cuda.synchronize()
        rest = min(_LONGEST_REST_MS, max(_SHORTEST_REST_MS, 3 * begin.elapsed_time(end)))
        pairs = [self._flushed(work, rest, i) for i in range(self.repetitions)]
        self.torch.cuda.synchronize()
        return [begin.elapsed_time(end) for begin, end in pairs]

    def in_a_row(self, work: Work, once_ms: float) -> list[float]:
        """Milliseconds a launch, of many that follow each other.

        Raises:
            Unavailable: The host launches more slowly than the GPU runs, so that there would be rests.
        """
        turns = max(4, int(_LOOP_MS / max(once_ms, 1e-3)))
        began = time.perf_counter()
        self._spin(_HOST_LEAD_MS)
        for _ in range(_LAUNCHES_OF_HOST):
            work()
        host_ms = 1e3 * (time.perf_counter() - began) / _LAUNCHES_OF_HOST
        self.torch.cuda.synchronize()
        if once_ms < host_ms:
            raise Unavailable(f"the host takes {host_ms:.3f} ms to launch what the GPU runs in {once_ms:.3f} ms")
        pairs = [self._events_around(lambda: [work() for _ in range(turns)]) for _ in range(4)]
        self.torch.cuda.synchronize()
        return [begin.elapsed_time(end) / turns for begin, end in pairs[1:]]

    def after_itself(self, work: Work, warm_up_ms: float) -> tuple[list[float], list[float]]:
        """Milliseconds of launches one after the other, and of what lies between two of them: the L2 overwritten, and
        the host's lead. Before them the GPU launches for warm_up_ms."""
        until = time.monotonic() + 1e-3 * warm_up_ms
        while time.monotonic() < until:
            work()
            self.torch.cuda.synchronize()
        pairs = [self._flushed(work, _HOST_LEAD_MS, i) for i in range(self.repetitions)]
        self.torch.cuda.synchronize()
        between = [end.elapsed_time(begin) for (_, end), (begin, _) in zip(pairs, pairs[1:], strict=False)]
        return [begin.elapsed_time(end) for begin, end in pairs], between

    def in_turns(self, works: Mapping[Any, Work], warm_up_ms: float, rest_ms: float = 0,
                 seed: int = 1) -> dict[Any, list[float]]:
        """Milliseconds of each of several works: in every round each is launched once, in a new random order, the L2
        overwritten before, so that clocks and temperature are the same for all. The first two rounds do not count."""
        names, generator = list(works), random.Random(seed)
        pairs: dict[Any, list[tuple[Any, Any]]] = {name: [] for name in names}
        until = time.monotonic() + 1e-3 * warm_up_ms
        while time.monotonic() < until:
            for name in names:
                works[name]()
            self.torch.cuda.synchronize()
        for step in range(self.repetitions + 2):
            generator.shuffle(names)
            for name in names:
                timed = self._flushed(works[name], rest_ms + _HOST_LEAD_MS, step)
                if step >= 2:
                    pairs[name].append(timed)
            self.torch.cuda.synchronize()
        return {name: [begin.elapsed_time(end) for begin, end in each] for name, each in pairs.items()}

    def of_kernels(self, work: Work, words: Iterable[str]) -> list[float]:
        """Milliseconds of the kernels whose names hold one of the words, launch by launch, as the profiler has them."""
        from torch.profiler import ProfilerActivity, profile

        times = []
        for _ in range(self.repetitions):
            self._spin(_SHORTEST_REST_MS)
            self.torch.cuda.synchronize()
            with profile(activities=[ProfilerActivity.CUDA]) as profiled:
                work()
                self.torch.cuda.synchronize()
            times.append(1e-3 * sum(event.device_time_total for event in profiled.events()
                                    if any(word in event.name.lower() for word in words)))
        return times
