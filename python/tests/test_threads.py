"""Long answers release the interpreter, can be interrupted, and nothing leaks."""

from __future__ import annotations

import _thread
import concurrent.futures
import gc
import resource
import signal
import threading
import time
from typing import Any

import natten_sim
import pytest

SLOW: dict[str, Any] = {"seqlen": 196608, "kernel": "fa2", "head_dim": 128, "causal": True, "device": "h200", "fidelity": "timed"}


def test_other_threads_run_during_a_long_answer() -> None:
    ticks: list[float] = []
    done = threading.Event()

    def tick() -> None:
        while not done.is_set():
            ticks.append(time.perf_counter())
            time.sleep(0.001)

    clock = threading.Thread(target=tick)
    clock.start()
    begin = time.perf_counter()
    natten_sim.reuse(**SLOW)
    end = time.perf_counter()
    done.set()
    clock.join()
    assert end - begin > 0.05, "an answer that takes long enough to tell"
    longest = max(after - before for before, after in zip([begin, *ticks], [*ticks, end], strict=True))
    assert longest < 0.5 * (end - begin), "the other thread never waits for the whole answer"


def test_answers_do_not_depend_on_threads() -> None:
    def ask(window: int) -> str:
        return natten_sim.search(input=(64, 64), window_range=(2, window), threads=1 + window % 3).to_json()

    windows = [8, 12, 16, 20] * 4
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        together = list(pool.map(ask, windows))
    assert together == [ask(window) for window in windows]


def test_interrupting_ends_a_long_answer() -> None:
    # Where tests run in the background the shell may have them ignore SIGINT, and then nothing interrupts.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    timer = threading.Timer(0.2, _thread.interrupt_main)
    begin = time.perf_counter()
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        natten_sim.reuse(**{**SLOW, "seqlen": 1048576})
    timer.join()
    signal.signal(signal.SIGINT, before)
    assert time.perf_counter() - begin < 30


def test_progress_is_reported_and_its_exceptions_are_raised() -> None:
    seen: list[float] = []
    natten_sim.reuse(**SLOW, progress=seen.append)
    assert seen == sorted(seen) and len(seen) >= 2 and 0 <= seen[0] and seen[-1] <= 1

    class Enough(Exception):
        pass

    def stop(fraction: float) -> None:
        raise Enough

    for threads in (1, 4):
        with pytest.raises(Enough):
            natten_sim.search(preset="hunyuan-video", progress=stop, threads=threads)


def test_nothing_leaks() -> None:
    def ask() -> None:
        answer = natten_sim.count(input=(64, 64), window=(16, 16))
        assert answer.kernel is not None and answer.to_dict()
        with pytest.raises(natten_sim.Error):
            natten_sim.count(input=(64, 64), window=(65, 1))
        natten_sim.count_many(input=(64, 64), window=[[8, 8]] * 100)

    for _ in range(300):
        ask()
    gc.collect()
    objects, memory = len(gc.get_objects()), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for _ in range(1500):
        ask()
    gc.collect()
    assert len(gc.get_objects()) - objects < 200
    # An answer has some 10 kB: one that leaked each time would show as 15 MB.
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - memory < 6000  # kB
