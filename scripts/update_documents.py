#!/usr/bin/env python3
"""Renews the outputs that README.md and docs/ show: ```console blocks, <!-- begin: command --> parts, and the
pictures that ```sh blocks draw by --picture docs/FILE.

usage: scripts/update_documents.py [PROGRAM_FOLDER] [DOCUMENT...]

PROGRAM_FOLDER holds natten-sim (default build/tests/apps/natten-sim). Review the diff: the tests compare the
same blocks with the program, so a wrong answer that is stored here is wrong in the documents too.
"""
import glob
import os
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def output_of(command, folder):
    environment = {**os.environ, "PATH": folder + os.pathsep + os.environ["PATH"]}
    run = subprocess.run(["bash", "-c", command], cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    return run.stdout.splitlines()


def renewed(lines, folder):
    """The document's lines with every output made again."""
    result, at = [], 0
    while at < len(lines):
        line = lines[at]
        result.append(line)
        at += 1
        if line == "```console":
            while lines[at] != "```":
                if lines[at].startswith("$ "):
                    first = at
                    while lines[at].endswith("\\"):
                        at += 1
                    result += lines[first:at + 1]
                    command = " ".join(line.rstrip("\\").strip() for line in lines[first:at + 1])
                    result += output_of(command[2:], folder)
                at += 1
        elif line == "```sh":
            while lines[at] != "```":
                command, first = lines[at], at
                while command.endswith("\\"):
                    at += 1
                    command = command[:-1] + lines[at].strip()
                result += lines[first:at + 1]
                at += 1
                if " --picture docs/" in command:
                    output_of(command, folder)
        elif line.startswith("<!-- begin: ") and line.endswith(" -->"):
            blank = lines[at] == ""
            while lines[at] != "<!-- end -->":
                at += 1
            body = output_of(line[len("<!-- begin: "):-len(" -->")], folder)
            result += ["", *body, ""] if blank else body
    return result


def main():
    arguments = sys.argv[1:]
    if arguments and arguments[0] in ("-h", "--help"):
        print(__doc__)
        return
    folder = os.path.abspath(arguments[0]) if arguments else os.path.join(ROOT, "build/tests/apps/natten-sim")
    documents = arguments[1:] or [os.path.join(ROOT, "README.md"), *sorted(glob.glob(os.path.join(ROOT, "docs/*.md")))]
    for path in documents:
        with open(path, encoding="utf-8") as file:
            before = file.read()
        after = "\n".join(renewed(before.splitlines(), folder)) + "\n"
        if after != before:
            print("renewed", os.path.relpath(path, ROOT))
            with open(path, "w", encoding="utf-8") as file:
                file.write(after)


if __name__ == "__main__":
    main()
