#!/usr/bin/env python3
"""What a backward with order `ascending` loses when workers draw their next chain too early.

    bench/attention_backward/early_draws.py

Simulates a causal mask (64 queries, 128 keys a tile) with dynamic dispatch, two dQ buffers a worker and two
rules of drawing: when the last addition of a chain has its turn (`in time`), and as a loader does that waits
for a phase of an mbarrier which may be two phases ahead (`early`): it draws at once if the buffer's use before
is still in line for its turn. Microseconds; times of a task as recorded on an H200 (docs/backward-kernel.md):
nothing is fitted to a makespan.
"""

import heapq

COMPUTE, ADDITION, HANDOFF, LOOK = 2.0, 1.3, 0.46, 0.42
READ = 0.7  # from a turn until the buffer is free
NEXT_CHAIN = 5.5  # from the last turn until the next chain computes: its K and V, dK and dV stored


class Worker:
    def __init__(self):
        self.drawn = None
        self.idle = True
        self.holds_next = False


class Run:
    def __init__(self, heads, q_tiles, kv_tiles, workers, early):
        self.chains = [(head, kv) for head in range(heads) for kv in range(kv_tiles)]
        self.q_tiles, self.kv_tiles, self.early = q_tiles, kv_tiles, early
        self.next_chain, self.end = 0, 0.0
        self.done, self.in_line, self.events, self.number = {}, {}, [], 0
        for _ in range(workers):
            self.draw(Worker(), 0.0)
        while self.events:
            time, _, call, subject = heapq.heappop(self.events)
            call(subject, time)

    def at(self, time, call, subject):
        self.number += 1
        heapq.heappush(self.events, (time, self.number, call, subject))

    def draw(self, worker, time):
        worker.drawn = self.next_chain if self.next_chain < len(self.chains) else None
        self.next_chain += 1
        if worker.idle:
            self.begin(worker, time)

    def begin(self, worker, time):
        if worker.drawn is None:
            return
        worker.head, worker.kv = self.chains[worker.drawn]
        worker.first = worker.kv * self.q_tiles // self.kv_tiles
        worker.tasks = self.q_tiles - worker.first
        worker.task, worker.idle, worker.waits = 0, False, False
        worker.free, worker.given_back = [True, True], set()
        self.at(time + (NEXT_CHAIN if time > 0 else 0), self.start, worker)

    def start(self, worker, time):
        buffer = worker.task % 2
        worker.waits = not worker.free[buffer]
        if worker.waits:
            return
        worker.free[buffer] = False
        self.at(time + COMPUTE, self.computed, worker)

    def computed(self, worker, time):
        task = worker.task
        worker.task += 1
        part = (worker, task, (worker.head, worker.first + task), worker.kv)
        # The loader has just loaded task + 2. Is that the last one, and this one's buffer still in use?
        if self.early and task + 2 == worker.tasks - 1:
            worker.holds_next = True
            self.draw(worker, time)
        if self.done.get(part[2], 0) == worker.kv:
            self.at(time + LOOK, self.turn, part)
        else:
            self.in_line[part[2], worker.kv] = part
        if task != worker.tasks - 1:
            self.start(worker, time)

    def turn(self, part, time):
        self.at(time + READ, self.give_back, part)
        self.at(time + ADDITION, self.added, part)

    def give_back(self, part, time):
        worker, task = part[0], part[1]
        worker.free[task % 2] = True
        if task == worker.tasks - 1:
            worker.idle = not worker.holds_next
            if worker.holds_next:
                worker.holds_next = False
                self.begin(worker, time - READ)
            else:
                self.draw(worker, time - READ)
        elif worker.waits and worker.free[worker.task % 2]:
            self.start(worker, time)

    def added(self, part, time):
        _, _, tile, rank = part
        self.done[tile] = rank + 1
        self.end = max(self.end, time)
        following = self.in_line.pop((tile, rank + 1), None)
        if following is not None:
            self.at(time + HANDOFF, self.turn, following)


if __name__ == "__main__":
    print("tokens heads workers     early   in time  recorded")
    for tokens, heads, workers, recorded in (
        (2048, 4, 32, 259),
        (1024, 256, 132, 1873),
        (2048, 128, 132, 5335),
        (4096, 64, 132, 10628),
        (8192, 32, 132, 11493),
        (16384, 16, 132, 12296),
    ):
        early, in_time = (
            Run(heads, tokens // 64, tokens // 128, workers, rule).end for rule in (True, False)
        )
        print(f"{tokens:6} {heads:5} {workers:7} {early:9.0f} {in_time:9.0f} {recorded:9}")
