#!/usr/bin/env python3
"""What the lessons answer agrees with formulas, and with what the subcommands say.

usage: check_lessons.py LESSONS_PROGRAM
"""
import itertools
import json
import subprocess
import sys


def ask_all(program, requests):
    text = "".join(json.dumps({"command": command, "options": options}) + "\n" for command, options in requests)
    lines = subprocess.run([program], input=text, capture_output=True, text=True, check=True).stdout.splitlines()
    assert len(lines) == len(requests)
    return [json.loads(line)["result"] for line in lines]


def the_walks_misses_follow_the_closed_forms(program):
    """Cyclic: nothing below the number of tiles hits. Sawtooth: each later pass keeps what the cache holds."""
    tiles, passes = 16, 6
    capacities = range(1, tiles + 3)
    for order in ("cyclic", "sawtooth"):
        answers = ask_all(program, [("accesses", {"kv-tiles": tiles, "q-tiles": passes, "capacity-tiles": c, "order": order}) for c in capacities])
        for capacity, answer in zip(capacities, answers):
            if order == "cyclic":
                expected = tiles if capacity >= tiles else tiles * passes
            else:
                expected = tiles + (passes - 1) * max(tiles - capacity, 0)
            assert answer["misses"] == expected, (order, capacity, answer["misses"], expected)
            assert answer["accesses"] == tiles * passes and answer["cold"] == tiles


def a_causal_walk_visits_the_lower_triangle(program):
    answer = ask_all(program, [("accesses", {"kv-tiles": 8, "q-tiles": 8, "ctas": 3, "causal": True})])[0]
    pairs = {(q_tile, kv_tile) for _, _, q_tile, kv_tile, _ in answer["walk"]}
    assert pairs == {(q, kv) for q in range(8) for kv in range(q + 1)} and answer["accesses"] == 36


def the_rectangles_are_the_visited_tiles(program):
    """One axis: all at once. Three: over all Q tiles, those of each."""
    line = {"input": [64], "window": [16], "stride": [3], "q-tile": [8], "kv-tile": [4]}
    answer = ask_all(program, [("visited", line)])[0]
    assert len(answer["tiles"]) == answer["count"]["visited_tiles"]
    video = {"input": [6, 12, 20], "window": [3, 6, 9], "stride": [1, 2, 3], "q-tile": [2, 4, 4], "kv-tile": [2, 4, 4]}
    places = itertools.product(range(3), range(3), range(5))
    answers = ask_all(program, [("visited", {**video, "at-q-tile": list(place)}) for place in places])
    counts = [len(answer["tiles"]) for answer in answers]
    assert sum(counts) == answers[0]["count"]["visited_tiles"] and max(counts) == answers[0]["count"]["max_tiles_per_q_tile"]
    full = sum(tile[5] for answer in answers for tile in answer["tiles"])
    assert full == answers[0]["count"]["full_tiles"]


def a_timeline_is_the_schedule(program):
    """Workers do one thing at a time, the last step ends at the makespan, and the critical path has no hole."""
    options = {"q-tiles": 8, "heads": 2, "workers": 8, "mask": "causal", "compute": 7, "reduce": 2}
    for name in ("ascending", "descending", "symmetric-shift", "best"):
        answer, alone = ask_all(program, [("gantt", {**options, "algorithm": name}), ("schedule", {**options, "algorithm": name})])
        assert answer["makespan"] == alone["makespan"]
        steps = answer["passes"][0]["steps"]
        assert max(step[4] for step in steps) == answer["makespan"]
        assert sum(step[4] - step[3] for step in steps) == answer["total_work"] == 2 * 36 * 9
        lanes = {}
        for chain, _, _, start, end, _ in steps:
            lanes.setdefault(answer["passes"][0]["chains"][chain]["worker"], []).append((start, end))
        for lane in lanes.values():
            lane.sort()
            assert all(a[1] <= b[0] for a, b in zip(lane, lane[1:])), name
        path = sorted((step[3], step[4]) for step in steps if step[5])
        assert path[0][0] == 0 and path[-1][1] == answer["makespan"] and all(a[1] == b[0] for a, b in zip(path, path[1:])), name


def a_table_runs_as_the_order_that_it_came_from(program):
    options = {"q-tiles": 6, "heads": 2, "workers": 4, "mask": "causal"}
    first = ask_all(program, [("gantt", {**options, "algorithm": "best"})])[0]
    again = ask_all(program, [("gantt", {"workers": 4, "table-text": first["table"]})])[0]
    assert again["makespan"] == first["makespan"]


def an_order_that_hangs_says_why(program):
    answer = ask_all(program, [("gantt", {"q-tiles": 4, "workers": 4, "mask": "full", "algorithm": "shift", "release": "after-next"})])[0]
    assert answer["makespan"] is None and "a cycle" in answer["deadlock"]


def a_queue_serves_each_reduction_once(program):
    base = {"updates": 400, "addresses": 16, "hot": 100, "warps": 32, "service-ns": 5, "round-trip-ns": 600}
    swap = {**base, "compare-and-swap": True}
    red, cas, alone, full = ask_all(program, [("queue", base), ("queue", swap), ("queue", {**swap, "warps": 1}), ("queue", {**swap, "changing": 0})])
    assert red["requests"] == 400 and red["retries"] == 0 and red["time_ns"] >= 400 * 5
    assert cas["retries"] > 400 and alone["retries"] == 0 and full["retries"] == 0
    assert cas["time_ns"] > red["time_ns"]


def main():
    claims = [the_walks_misses_follow_the_closed_forms, a_causal_walk_visits_the_lower_triangle, the_rectangles_are_the_visited_tiles,
              a_timeline_is_the_schedule, a_table_runs_as_the_order_that_it_came_from, an_order_that_hangs_says_why,
              a_queue_serves_each_reduction_once]
    for claim in claims:
        claim(sys.argv[1])
        print("passed:", claim.__name__.replace("_", " "))


if __name__ == "__main__":
    main()
