#!/usr/bin/env python3
"""The workflows of the release and of every night: their files are what GitHub reads, their scripts are here, their
packages are Debian's, and what they run is what `scripts/nightly.sh` runs on any machine, or a test.

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
TRIGGERS = {
    "release": {"push", "workflow_dispatch"},
    "nightly": {"schedule", "workflow_dispatch"},
    "tests": {"push", "pull_request", "workflow_dispatch"},
}
OTHERS = {"scripts/setup.sh", "scripts/name_home.py"}  # the second is tried by python/tests/test_documents.py
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
    """Words of each command of a step, without sudo and variables that are set before it."""
    for command in re.split(r"&&|\n", text):
        words = shlex.split(command)
        while words and (words[0] == "sudo" or re.match(r"\w+=", words[0])):
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


def check_command(words, parts):
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
        assert script in parts or script in OTHERS, f"scripts/nightly.sh does not run {script}"
        if script.endswith(".sh"):
            subprocess.run(["bash", "-n", str(ROOT / script)], check=True)
            said = subprocess.run([str(ROOT / script), "--help"], capture_output=True, text=True, check=True).stdout
            assert "usage: " + script in said, f"{script} --help: {said}"
        # Files that the command names, but for those that it or a step before it writes.
        for word in words[2:]:
            if word.startswith(("tests/", "scripts/", "docs/")):
                assert (ROOT / word).exists(), word


def check_workflow(name, parts):
    """Counts of jobs and commands."""
    workflow = yaml.safe_load((ROOT / f".github/workflows/{name}.yml").read_text(encoding="utf-8"))
    assert workflow["name"] == name
    assert set(workflow[True]) == TRIGGERS[name], "YAML reads `on` as true"
    assert workflow["permissions"] == {"contents": "read"}
    commands = 0
    for job, step in steps_of(workflow):
        if "uses" in step:
            assert re.fullmatch(r"actions/[a-z-]+@v\d+", step["uses"]), f"{job}: {step['uses']}"
        else:
            for words in commands_of(step["run"]):
                check_command(words, parts)
                commands += 1
    assert commands >= len(workflow["jobs"])
    return len(workflow["jobs"]), commands


def main():
    here = {path.stem for path in (ROOT / ".github/workflows").glob("*.yml")}
    assert here == set(TRIGGERS), f"workflows: {sorted(here)}, checked: {sorted(TRIGGERS)}"
    nightly = (ROOT / "scripts/nightly.sh").read_text(encoding="utf-8")
    parts = nightly + (ROOT / "scripts/nightly_parts.sh").read_text(encoding="utf-8")
    for name in sorted(TRIGGERS):
        jobs, commands = check_workflow(name, parts)
        print(f"{name}: {jobs} jobs, {commands} commands: their scripts are here, and scripts/nightly.sh runs them")
    return 0


if __name__ == "__main__":
    sys.exit(main())
