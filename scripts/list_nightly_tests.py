#!/usr/bin/env python3
"""Lists the tests that only scripts/nightly.sh runs, with the reason of each, as a Markdown table.

usage: scripts/list_nightly_tests.py

Reads the tags of test cases ([.nightly][reason]) and the labels of ctest (nightly;reason) from the sources. Exits
with 1 if one of them has no reason that it knows.
"""
import pathlib
import re
import sys

TESTS = pathlib.Path(__file__).resolve().parent.parent / "tests"
REASONS = {
    "long": "takes more than 2 s",
    "clock": "asks how far a run is when it is stopped or drawn: depends on the machine's speed",
    "memory": "needs hundreds of MiB",
    "tools": "needs programs or a network that not every machine has; skipped without them",
}


def test_cases():
    """(file, name, reason) of every test case with the tag [.nightly]; reason "" where there is none."""
    text = r'"((?:[^"\\]|\\.)*)"'
    case = re.compile(r"TEST_CASE(?:_METHOD)?\(\s*(" + text + r"(?:\s*" + text + r")*)\s*,\s*" + text)
    for path in sorted(TESTS.rglob("*.cpp")):
        for match in case.finditer(path.read_text(encoding="utf-8")):
            tags = match.group(match.lastindex)
            if "[.nightly]" in tags:
                name = "".join(re.findall(text, match.group(1)))
                reason = re.search(r"\[\.nightly\]\[(\w+)\]", tags)
                yield path.relative_to(TESTS).as_posix(), name, reason.group(1) if reason else ""


def entries_of_ctest():
    text = "".join(path.read_text(encoding="utf-8") for path in sorted(TESTS.rglob("CMakeLists.txt")))
    for match in re.finditer(r"natten_sim_nightly\((\w+)((?: [\w${}]+)+)\)", text):
        for name in match.group(2).split():
            yield "ctest", name, match.group(1)
    for match in re.finditer(r'set_tests_properties\(((?:\w+ )+)PROPERTIES[^)]*LABELS "?nightly(?:;(\w+))?"?\)', text):
        for name in match.group(1).split():
            yield "ctest", name, match.group(2) or ""


def main():
    if len(sys.argv) != 1:
        sys.exit(__doc__)
    rows = [*test_cases(), *entries_of_ctest()]
    print("| where | test | reason |\n|---|---|---|")
    unknown = 0
    for where, name, reason in rows:
        unknown += reason not in REASONS
        print("|", where, "|", name, "|", REASONS.get(reason, "**none**"), "|")
    print("\n" + str(len(rows)), "tests")
    sys.exit(1 if unknown else 0)


if __name__ == "__main__":
    main()
