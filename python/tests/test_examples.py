"""Every example and every notebook runs from start to end."""

from __future__ import annotations

import os
import pathlib
import subprocess
import sys

import pytest
from conftest import ABSENT, FAKES

PYTHON = pathlib.Path(__file__).resolve().parents[1]
SCRIPTS = sorted([*PYTHON.glob("examples/*.py"), *PYTHON.glob("notebooks/*.py")])


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_a_script_runs(script: pathlib.Path, tmp_path: pathlib.Path) -> None:
    if script.stem == "flex_attention" and "torch" in ABSENT:
        pytest.skip("needs PyTorch: the made-up one of the other tests computes nothing")
    environment = dict(os.environ)
    if ABSENT:
        environment["PYTHONPATH"] = os.pathsep.join([os.environ.get("PYTHONPATH", ""), str(FAKES)])
    arguments = ["cpu"] if script.stem == "flash4_tensors" else []
    command = [sys.executable, str(script), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path, env=environment, timeout=300)
    assert done.returncode == 0, done.stderr
    assert done.stdout
