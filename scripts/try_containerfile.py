#!/usr/bin/env python3
"""Runs the steps of Containerfile on this machine, in folders of its own, where no registry of images can be reached.

usage: scripts/try_containerfile.py FOLDER [CMAKE_ARGUMENT...]

/source is this clone, /build, /out and the roots of the stages are folders in FOLDER. Packages are not installed:
apt-get says whether it could. The last stage is a folder that holds what the image would, and nothing else; its
program runs there by chroot, as root. CMAKE_ARGUMENTs join those of its configuration. What this does not try: the base image, and the engine that builds.
"""
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
KNOWN = ("FROM", "RUN", "COPY", "ENTRYPOINT")


def instructions(text):
    """(keyword, rest) of each instruction; lines that end in a backslash go on."""
    lines = [line for line in text.splitlines() if line.strip() and not line.lstrip().startswith("#")]
    for line in re.sub(r"\\\n\s*", "", "\n".join(lines)).splitlines():
        keyword, rest = line.split(None, 1)
        if keyword not in KNOWN:
            raise SystemExit(f"Containerfile: {keyword} is not known here; known: {', '.join(KNOWN)}")
        yield keyword, rest


class Trial:
    def __init__(self, folder, arguments):
        self.folder, self.arguments = folder, arguments
        self.stages = {}
        self.root = None
        self.entry = None

    def here(self, path):
        """`path` of the build stage, on this machine."""
        return str(ROOT) if path == "/source" else str(self.folder / path.lstrip("/"))

    def step_from(self, rest):
        words = rest.split()
        self.root = self.folder / "stages" / (words[2] if len(words) == 3 else "last")
        shutil.rmtree(self.root, ignore_errors=True)
        self.root.mkdir(parents=True)
        self.stages[self.root.name] = words[0]

    def step_run(self, rest):
        if rest.startswith("apt-get update && apt-get install "):
            rest = rest.removeprefix("apt-get update && ").replace("apt-get install", "apt-get install --simulate", 1) + " >/dev/null"
        else:
            rest = re.sub(r"(?<![\w./])/(source|build|out)\b", lambda match: shlex.quote(self.here(match[0])), rest)
            rest = re.sub(r"^cmake -S \S+", lambda match: shlex.join([*match[0].split(), *self.arguments]), rest)
        print("+", rest, flush=True)
        subprocess.run(["bash", "-euo", "pipefail", "-c", rest], check=True)

    def step_copy(self, rest):
        words = rest.split()
        if words == [".", "/source"]:
            return  # this clone
        stage, source, target = words
        if stage.removeprefix("--from=") not in self.stages:
            raise SystemExit(f"Containerfile: COPY {rest}: no such stage")
        place = self.root / target.lstrip("/")
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(self.here(source), place)

    def step_entrypoint(self, rest):
        self.entry = shlex.split(rest.strip("[]").replace(",", " "))

    def run(self, *arguments):
        command = ["chroot", str(self.root), *self.entry, *arguments]
        if os.geteuid() != 0:
            command = ["unshare", "--map-root-user", *command]
        print("+", shlex.join(command), flush=True)
        subprocess.run(command, check=True)


def main():
    if len(sys.argv) < 2 or sys.argv[1] in ("-h", "--help"):
        print(__doc__.strip())
        return 0 if len(sys.argv) > 1 else 2
    trial = Trial(pathlib.Path(sys.argv[1]).resolve(), sys.argv[2:])
    trial.folder.mkdir(parents=True, exist_ok=True)
    for keyword, rest in instructions((ROOT / "Containerfile").read_text(encoding="utf-8")):
        getattr(trial, f"step_{keyword.lower()}")(rest)
    trial.run("count", "--preset", "hunyuan-video", "-w", "18", "24", "24")
    files = [str(path.relative_to(trial.root)) for path in trial.root.rglob("*") if path.is_file()]
    print("the image holds", ", ".join(files))
    return 0


if __name__ == "__main__":
    sys.exit(main())
