#!/usr/bin/env python3
"""Four clients ask `natten-sim serve` for a while, rightly and wrongly, while its workers are killed at random.

usage: scripts/soak_server.py PROGRAM [--seconds N] [--seed N] [--workers N]

Two clients use the local socket, one HTTP, and one the socket with every answer as soon as it is ready. What a good
request has to be answered was asked of `natten-sim serve` in one process before. Prints a JSON object of what was
counted; the exit code is 1 where an answer was wrong or missing, or the memory of the supervisor grew.
"""
import argparse
import http.client
import json
import os
import pathlib
import random
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

LATE_S = 5  # of --request-time: much more than a good request takes on a busy machine
LONG = [{"command": "atomics", "options": {"updates": 4294967295}},
        {"command": "reuse", "options": {"input": 16777216, "device": "h200", "fidelity": "lru"}},
        {"command": "schedule", "options": {"q_tiles": 4096, "heads": 8, "mask": "causal"}}]


def good_question(draw):
    """A question that takes some milliseconds at most."""
    axes = draw.randint(1, 3)
    length = [draw.randint(8, 64) for _ in range(axes)]
    window = [draw.randint(2, each) for each in length]
    kind = draw.randrange(10)
    if kind < 4:
        options = {"input": length, "window": window, "stride": [draw.randint(1, each) for each in window],
                   "q_tile": [4] * axes, "kv_tile": [2] * axes}
        return {"command": "count", "options": options}
    if kind == 4:
        return {"command": "schedule", "options": {"q_tiles": draw.randint(1, 24), "heads": draw.randint(1, 4),
                                                   "mask": draw.choice(["full", "causal"]),
                                                   "algorithm": draw.choice(["spt", "ascending", "shift"])}}
    if kind == 5:
        return {"command": "reuse", "options": {"input": 1024 * draw.randint(1, 16), "device": "h200",
                                                "fidelity": draw.choice(["closed-form", "lru"])}}
    if kind == 6:
        return {"command": "atomics", "options": {"updates": draw.randint(1, 4096), "rows": draw.randint(1, 4096)}}
    if kind == 7:
        return {"command": "search", "options": {"input": [draw.randint(4, 24), draw.randint(4, 24)]}}
    if kind == 8:
        return {"command": "mask", "options": {"mask": "causal", "seqlen_q": 128 * draw.randint(1, 64), "device": "h200"}}
    return {"command": "list", "options": {"what": draw.choice(["presets", "devices", "kernels"])}}


def broken_line(draw, good):
    """Bytes that are no request, or ask for what there is not; in one line."""
    kind = draw.randrange(8)
    if kind == 0:
        return good[: draw.randrange(1, len(good))]
    if kind == 1:
        at = draw.randrange(len(good))
        return good[:at] + bytes([draw.choice(b"\x00\xff{}[]\",:0-")]) + good[at + 1:]
    if kind == 2:
        return bytes(draw.choice(range(11, 256)) for _ in range(draw.randint(1, 200)))
    if kind == 3:
        return b"[" * draw.randint(1, 100_000)
    if kind == 4:
        return b'{"command": "count", "options": {"preset": "' + b"x" * draw.randint(1, 2_000_000) + b'"}}'
    if kind == 5:
        return b'{"command": "reuse", "options": {"trace": "/etc/passwd"}}'
    if kind == 6:
        return b'{"command": "atomics", "options": {"updates": 1, "rows": 268435456, "distribution": "zipf:1"}}'
    return json.dumps({"command": "count", "options": {"input": 2**60, "window": draw.randint(1, 2**60)}}).encode()


class Tally:
    def __init__(self):
        self.lock = threading.Lock()
        self.counts = {"good": 0, "broken": 0, "late": 0, "cancelled": 0, "wrong": 0, "kills": 0}
        self.first_wrong = ""

    def add(self, name, count=1):
        with self.lock:
            self.counts[name] += count

    def wrong(self, what):
        with self.lock:
            self.counts["wrong"] += 1
            self.first_wrong = self.first_wrong or what


class Asker:
    """One client: draws requests, sends a few at a time and compares the answers."""

    def __init__(self, known, seed, tally):
        self.known, self.draw, self.tally = known, random.Random(seed), tally
        self.number = 0

    def lines(self):
        """(line, kind, what is expected) of one round."""
        drawn = []
        for _ in range(self.draw.randint(1, 24)):
            self.number += 1
            question, answer = self.draw.choice(self.known)
            line = json.dumps({**question, "id": self.number}).encode()
            chance = self.draw.random()
            if chance < 0.85:
                drawn.append((line, "good", b'{"id":%d,' % self.number + answer[1:]))
            elif chance < 0.98:
                drawn.append((broken_line(self.draw, line), "broken", None))
            elif chance < 0.982:
                drawn.append((json.dumps({**self.draw.choice(LONG), "id": self.number}).encode(), "late", None))
            elif chance < 0.99:
                drawn.append((json.dumps({**self.draw.choice(LONG), "id": self.number}).encode(), "late", None))
                drawn.append((b'{"cancel": %d, "id": "c"}' % self.number, "cancelled", None))
        return [each for each in drawn if each[0].strip(b" \t\r")]

    def judge(self, kind, expected, answer):
        if kind == "good":
            right = answer == expected
        else:
            parsed = json.loads(answer)
            right = "cancelled" in parsed if kind == "cancelled" else "error" in parsed or (kind == "broken" and "result" in parsed)
        if right:
            self.tally.add(kind)
        else:
            self.tally.wrong(f"{kind}: expected {expected!r:.300}, got {answer!r:.300}")


class SocketAsker(Asker):
    def __init__(self, path, *others):
        super().__init__(*others)
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(path)
        self.reader = self.socket.makefile("rb")

    def round(self):
        drawn = self.lines()
        writer = threading.Thread(target=self.socket.sendall, args=(b"".join(line + b"\n" for line, _, _ in drawn),))
        writer.start()
        for _, kind, expected in drawn:
            self.judge(kind, expected, self.reader.readline())
        writer.join()


class HttpAsker(Asker):
    def __init__(self, port, *others):
        super().__init__(*others)
        self.connection = http.client.HTTPConnection("127.0.0.1", port)

    def round(self):
        drawn = self.lines()
        self.connection.request("POST", "/", b"\n".join(line for line, _, _ in drawn))
        answers = self.connection.getresponse().read().splitlines(keepends=True)
        if len(answers) != len(drawn):
            return self.tally.wrong(f"HTTP: {len(drawn)} lines, {len(answers)} answers")
        for (_, kind, expected), answer in zip(drawn, answers):
            self.judge(kind, expected, answer)


class ReadySocketAsker(SocketAsker):
    """Of a server that answers as soon as it can: answers are found by their ids."""

    def round(self):
        drawn = [each for each in self.lines() if each[1] == "good"]
        self.socket.sendall(b"".join(line + b"\n" for line, _, _ in drawn))
        expected = {each[2] for each in drawn}
        for _ in drawn:
            answer = self.reader.readline()
            self.judge("good", answer if answer in expected else b"one of them", answer)
            expected.discard(answer)


def resident_kib(process):
    try:
        text = pathlib.Path(f"/proc/{process}/status").read_text()
        return next(int(line.split()[1]) for line in text.splitlines() if line.startswith("VmRSS"))
    except (OSError, StopIteration):
        return 0


def workers_of(process):
    found = []
    for entry in pathlib.Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and int((entry / "stat").read_text().rpartition(")")[2].split()[1]) == process:
                found.append(int(entry.name))
        except (OSError, IndexError):
            pass
    return found


def known_answers(program, draw, count):
    """Pairs of a question and its line, without an id."""
    questions = [good_question(draw) for _ in range(count)]
    lines = "".join(json.dumps(question) + "\n" for question in questions).encode()
    answers = subprocess.run([program, "serve"], input=lines, capture_output=True, check=True).stdout.splitlines(keepends=True)
    return list(zip(questions, answers))


def start(program, options):
    server = subprocess.Popen([program, "serve", "--request-time", str(LATE_S), "--max-memory", "2048", *options],
                              stderr=subprocess.PIPE, text=True)
    places = [server.stderr.readline().strip().rpartition("answering at ")[2] for option in options if option in ("--http", "--socket")]
    threading.Thread(target=server.stderr.read, daemon=True).start()
    return server, places


def soak(arguments):
    draw, tally = random.Random(arguments.seed), Tally()
    known = known_answers(arguments.program, draw, 400)
    folder = tempfile.TemporaryDirectory()
    paths = [os.path.join(folder.name, name) for name in ("a", "b")]
    workers = ["--workers", str(arguments.workers)]
    asked, (http_place, _) = start(arguments.program, [*workers, "--http", "0", "--socket", paths[0]])
    ready, _ = start(arguments.program, [*workers, "--as-ready", "--socket", paths[1]])
    others = lambda: (known, draw.getrandbits(32), tally)
    askers = [SocketAsker(paths[0], *others()), SocketAsker(paths[0], *others()),
              HttpAsker(int(http_place.rpartition(":")[2]), *others()), ReadySocketAsker(paths[1], *others())]
    end = time.monotonic() + arguments.seconds

    def ask(asker):
        try:
            while time.monotonic() < end:
                asker.round()
        except Exception as error:  # pylint: disable=broad-except
            tally.wrong(f"{type(asker).__name__}: {error!r}")

    threads = [threading.Thread(target=ask, args=(asker,)) for asker in askers]
    for thread in threads:
        thread.start()
    memory = []
    while any(thread.is_alive() for thread in threads) and time.monotonic() < end + 60:
        time.sleep(draw.uniform(0.1, 1.0))
        for server in (asked, ready):
            living = workers_of(server.pid)
            if living and time.monotonic() < end:
                try:
                    os.kill(draw.choice(living), signal.SIGKILL)
                    tally.add("kills")
                except ProcessLookupError:
                    pass
        memory.append((resident_kib(asked.pid), sum(map(resident_kib, workers_of(asked.pid)))))
    alive = asked.poll() is None and ready.poll() is None
    if not alive:
        tally.wrong("a server ended")
    for server in (asked, ready):
        server.send_signal(signal.SIGTERM)
        server.wait()
    folder.cleanup()
    return tally, memory


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--workers", type=int, default=2)
    arguments = parser.parse_args()
    tally, memory = soak(arguments)
    part = max(1, len(memory) // 4)
    mib = lambda rows, column: round(max(row[column] for row in rows) / 1024)
    result = {"seconds": round(arguments.seconds), "clients": 4, "workers": 2 * arguments.workers, "seed": arguments.seed,
              **tally.counts,
              "supervisor_mib": [mib(memory[part:2 * part], 0), mib(memory[-part:], 0)],
              "workers_mib": [mib(memory[part:2 * part], 1), mib(memory[-part:], 1)]}
    print(json.dumps(result))
    if tally.first_wrong:
        sys.exit(f"soak_server: {tally.first_wrong}")
    if result["supervisor_mib"][1] > 1.25 * result["supervisor_mib"][0] + 8:
        sys.exit("soak_server: the supervisor's memory grew")


if __name__ == "__main__":
    main()
