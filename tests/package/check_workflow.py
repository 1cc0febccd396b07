#!/usr/bin/env python3
"""The release's workflow: its file is what GitHub reads, its scripts are here, its packages are Debian's, and what it
runs is what `scripts/release.sh packages` runs, or a test.

usage: check_workflow.py ROOT                              Exit code 77: skipped.
"""
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys

try:
    import yaml
except ImportError:
    print("skipped: Python's yaml is missing (Debian: python3-yaml)")
    sys.exit(77)

ROOT = pathlib.Path(sys.argv[1])
# Programs that a step may call besides this clone's: {name: what tries the same without that service}
SERVICES = {"docker": "scripts/try_containerfile.py", "natten-sim": "tests/golden/help_test.cpp"}


def steps_of(workflow):
    for name, job in workflow["jobs"].items():
        assert isinstance(job["runs-on"], str) and job["steps"], name
        for other in [job["needs"]] if isinstance(job.get("needs"), str) else job.get("needs", []):
            assert other in workflow["jobs"], f"{name} needs {other}, which is no job"
        for step in job["steps"]:
            assert ("run" in step) != ("uses" in step), f"{name}: a step either runs or uses: {step}"
            yield name, step


def commands_of(text):
    """Words of each command of a step, without variables that are set before it."""
    for command in re.split(r"&&|\n", text):
        words = shlex.split(command)
        while words and re.match(r"\w+=", words[0]):
            words = words[1:]
        if words:
            yield words


def check_apt(words):
    if words[1] != "install" or shutil.which("apt-cache") is None:
        return
    names = [word for word in words[2:] if not word.startswith(("-", "./"))]
    for name in names:
        shown = subprocess.run(["apt-cache", "show", name], capture_output=True, text=True, check=False)
        assert shown.returncode == 0 and f"Package: {name}\n" in shown.stdout, f"apt-get install {name}: no such package"


def check_command(words, release):
    program = words[0]
    if program == "apt-get":
        check_apt(words)
    elif program == "python3" and words[1] == "-m":
        assert words[2] == "venv", words
    elif program in SERVICES:
        assert (ROOT / SERVICES[program]).exists(), SERVICES[program]
    elif program == "site-tools/bin/pip":
        assert words[1] == "install", words
    else:
        script = words[1] if program == "python3" else program
        assert (ROOT / script).is_file(), f"{script} is not here"
        assert program == "python3" or os.access(ROOT / script, os.X_OK), f"{script} cannot be run"
        assert script in release or script == "scripts/setup.sh", f"scripts/release.sh does not run {script}"
        if script.endswith(".sh"):
            subprocess.run(["bash", "-n", str(ROOT / script)], check=True)
            said = subprocess.run([str(ROOT / script), "--help"], capture_output=True, text=True, check=True).stdout
            assert "usage: " + script in said, f"{script} --help: {said}"
        # Files that the command names, but for those that it or a step before it writes.
        for word in words[2:]:
            if word.startswith(("tests/", "scripts/", "docs/")):
                assert (ROOT / word).exists(), word


def main():
    workflow = yaml.safe_load((ROOT / ".github/workflows/release.yml").read_text(encoding="utf-8"))
    assert set(workflow[True]) == {"push", "workflow_dispatch"}, "YAML reads `on` as true"
    assert workflow["permissions"] == {"contents": "read"}
    release = (ROOT / "scripts/release.sh").read_text(encoding="utf-8")
    commands = 0
    for name, step in steps_of(workflow):
        if "uses" in step:
            assert re.fullmatch(r"actions/[a-z-]+@v\d+", step["uses"]), f"{name}: {step['uses']}"
        else:
            for words in commands_of(step["run"]):
                check_command(words, release)
                commands += 1
    assert commands >= len(workflow["jobs"])
    print(f"{len(workflow['jobs'])} jobs, {commands} commands: their scripts are here, and scripts/release.sh runs them")
    return 0


if __name__ == "__main__":
    sys.exit(main())
