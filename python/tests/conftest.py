"""What tests share: the installed program, and its answers."""

from __future__ import annotations

import importlib.util
import json
import os
import pathlib
import shutil
import subprocess
import sys
import sysconfig
from typing import Any

import hypothesis
import pytest

# A failing example is printed with the seed that finds it again.
# A busy machine is no failure.
hypothesis.settings.register_profile("ci", deadline=None, print_blob=True, max_examples=60,
                                     suppress_health_check=[hypothesis.HealthCheck.too_slow])
hypothesis.settings.load_profile("ci")

ROOT = pathlib.Path(__file__).resolve().parents[2]

# Partners that are absent are made up: as much of them as the bridges use.
FAKES = ROOT / "python" / "tests" / "fakes"
ABSENT = [partner for partner in ("torch", "flash_attn") if importlib.util.find_spec(partner) is None]
if ABSENT:
    sys.path.append(str(FAKES))


CONCLUDED = {"count", "search", "schedule", "reuse", "atomics", "msda", "advise", "plan", "mask", "validate",
             "calibrate", "reproduce"}


class Program:
    """The natten-sim program that the package carries."""

    def __init__(self, path: str) -> None:
        self.path = path

    def run(self, *arguments: object) -> subprocess.CompletedProcess[str]:
        words = [self.path, *map(str, arguments)]
        return subprocess.run(words, capture_output=True, text=True, check=False, timeout=120)

    def text(self, line: str) -> str:
        """What `line` prints with --json, without the closing sentence that answers of the program end with. A
        comparison that is out of tolerance exits with 3."""
        words = line.split()
        done = self.run(*words, "--json", *(["--no-conclusion"] if words[0] in CONCLUDED else []))
        assert done.returncode in (0, 3), done.stderr
        return done.stdout

    def json(self, line: str) -> dict[str, Any]:
        return json.loads(self.text(line))  # type: ignore[no-any-return]

    def batch(self, questions: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """`count --batch`: one answer or error a question."""
        lines = "".join(json.dumps(question) + "\n" for question in questions)
        words = [self.path, "count", "--batch", "-"]
        done = subprocess.run(words, input=lines, capture_output=True, text=True, check=False, timeout=120)
        return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.fixture(scope="session")
def program() -> Program:
    scripts = sysconfig.get_path("scripts")
    path = os.environ.get("NATTEN_SIM_PROGRAM") or shutil.which("natten-sim", path=scripts)
    assert path, f"the wheel installs natten-sim into {scripts}"
    return Program(path)


@pytest.fixture(scope="session")
def root() -> pathlib.Path:
    return ROOT
