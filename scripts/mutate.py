#!/usr/bin/env python3
"""Mutation testing: which changed operators, constants and bounds of models/, sim/ and search/ does no test notice?

    scripts/mutate.py TREE [--count 500] [--seed N] [--only models/src/tiles] [--list FILE]

All mutants stand in one build: each changed place asks at run time whether its mutant is the one that
NATTEN_SIM_MUTANT names (mutant.hpp). TREE is a folder that this writes: a copy of the commit with these changes, and
its build. A first run of the tests without a mutant records what each test case takes and reaches. Then each mutant
runs the test cases that reach it, quickest first, until one fails. It is killed when a test case fails, crashes, or
takes over five times its time. Survivors are printed; `--list FILE` writes one JSON line a mutant.

Needs libclang for Python (Debian: python3-clang). Not changed: constant expressions, headers of include/, messages.
"""
import argparse
import bisect
import collections
import json
import os
import pathlib
import random
import re
import resource
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
ROOMS = ("models", "sim", "search")
TESTS = ("models_tests", "sim_tests", "search_tests", "study_tests", "property_*_test")
BINARY = {
    "<": ("lt", ("<=", ">")), "<=": ("le", ("<", ">")), ">": ("gt", (">=", "<")), ">=": ("ge", (">", "<")),
    "==": ("eq", ("!=",)), "!=": ("ne", ("==",)), "+": ("add", ("-",)), "-": ("sub", ("+",)),
    "*": ("mul", ("/",)), "/": ("div", ("*",)), "%": ("mod", ("/",)),
    "+=": ("add_to", ("-=", "=")), "-=": ("sub_from", ("+=",)),
}
NUMBERS = {"INT", "LONG", "LONGLONG", "UINT", "ULONG", "ULONGLONG", "DOUBLE", "FLOAT", "BOOL", "SHORT", "USHORT", "UCHAR",
           "SCHAR", "CHAR_S", "INT128", "UINT128", "ENUM", "POINTER", "DEPENDENT", "UNEXPOSED", "AUTO"}


class File:
    """One source with all its mutants: `sites` are (first number, what is said of each, edits)."""

    def __init__(self, path, text):
        self.path, self.text = path, text
        self.starts = [0] + [at + 1 for at, byte in enumerate(text) if byte == 10]
        self.sites = []

    def line_of(self, offset):
        return bisect.bisect_right(self.starts, offset)

    def add(self, begin, depth, changes, edits):
        self.sites.append({"line": self.line_of(begin), "depth": depth, "changes": changes, "edits": edits})

    def source(self):
        """With every site rewritten. Edits are (begin, end, opens, text with N for the site's number)."""
        edits = []
        for site in self.sites:
            for begin, end, kind, text in site["edits"]:
                # At one place: closings first, inner ones first; then openings, outer ones first.
                order = (begin, 0, -site["depth"]) if kind == "close" else (begin, 1, site["depth"])
                edits.append((order, begin, end, text.replace("$", str(site["first"]))))
        out, at = [b'#include "natten_sim_mutant.hpp"\n'], 0
        for _, begin, end, text in sorted(edits, key=lambda edit: edit[0]):
            out.append(self.text[at:begin])
            out.append(text.encode())
            at = max(at, end)
        out.append(self.text[at:])
        return b"".join(out)


def visit(file, node, depth, kinds):
    """Adds the sites of a node and of what is below it."""
    for child in node.get_children():
        location = child.location
        if location.file is None or pathlib.Path(location.file.name).resolve() != file.path:
            continue
        visit_one(file, child, node, depth, kinds)


def visit_one(file, node, parent, depth, kinds):
    begin, end = node.extent.start.offset, node.extent.end.offset
    text = file.text[begin:end].decode(errors="replace")
    kind = node.kind
    if kind in (kinds.STATIC_ASSERT, kinds.CXX_THROW_EXPR, kinds.STRING_LITERAL, kinds.ENUM_DECL):
        return
    if kind == kinds.VAR_DECL and "constexpr" in [token.spelling for token in node.get_tokens()][:4]:
        return
    if kind == kinds.CASE_STMT:
        for child in list(node.get_children())[1:]:
            visit_one(file, child, node, depth + 1, kinds)
        return
    children = list(node.get_children())
    if kind in (kinds.BINARY_OPERATOR, kinds.COMPOUND_ASSIGNMENT_OPERATOR) and len(children) == 2:
        binary(file, children, begin, end, depth)
    elif kind == kinds.UNARY_OPERATOR and children:
        unary(file, children[0], begin, end, text, depth)
    elif kind == kinds.CALL_EXPR:
        called = re.match(r"std::(min|max)(?:<[\w:]+>)?\((?!\{)", text)
        if called and text.endswith(")") and len(children) == 3:
            name = "smaller" if called.group(1) == "min" else "larger"
            template = re.search(r"<[\w:]+>", called.group(0))
            file.add(begin, depth, [f"std::{'max' if name == 'smaller' else 'min'} for {called.group(0)[:-1]}"],
                     [(begin, begin + len(called.group(0)), "open",
                       f"natten_sim_mutant::{name}{template.group(0) if template else ''}($, ")])
    elif kind == kinds.INTEGER_LITERAL and re.fullmatch(r"\d+", text):
        wrap(file, begin, end, depth, "plus_one", f"{int(text) + 1} for {text}")
    elif kind == kinds.FLOATING_LITERAL and re.fullmatch(r"[\d.e+-]+", text):
        wrap(file, begin, end, depth, "plus_one", f"{text} + 1 for {text}")
    elif kind == kinds.CXX_BOOL_LITERAL_EXPR and text in ("true", "false"):
        wrap(file, begin, end, depth, "flip", f"not {text}")
    elif kind == kinds.IF_STMT and children:
        condition = children[0]
        at, to = condition.extent.start.offset, condition.extent.end.offset
        before, after = file.text[begin:at], file.text[to:to + 1]
        if re.fullmatch(rb"if \(", before) and after == b")" and condition.kind.is_expression():
            wrap(file, at, to, depth + 0.5, "flip", "condition negated")
    elif kind == kinds.CONTINUE_STMT and text == "continue":
        file.add(begin, depth, ["break for continue"],
                 [(begin, end, "open", "{ if (natten_sim_mutant::on($)) break; continue; }")])
    stated = children[0].kind if kind == kinds.UNEXPOSED_EXPR and len(children) == 1 else kind  # with temporaries
    if parent.kind == kinds.COMPOUND_STMT and (
            stated in (kinds.CALL_EXPR, kinds.COMPOUND_ASSIGNMENT_OPERATOR) or
            (stated == kinds.BINARY_OPERATOR and " = " in text)):
        file.add(begin, depth - 0.5, ["statement left out"],
                 [(begin, begin, "open", "if (!natten_sim_mutant::on($)) ")])
    for child in children:
        visit_one(file, child, node, depth + 1, kinds)


def wrap(file, begin, end, depth, name, change):
    file.add(begin, depth, [change], [(begin, begin, "open", f"natten_sim_mutant::{name}($, "), (end, end, "close", ")")])


def number(node):
    return node.type.get_canonical().kind.name in NUMBERS


def binary(file, operands, begin, end, depth):
    left, right = operands
    at, to = left.extent.end.offset, right.extent.start.offset
    between = file.text[at:to].decode(errors="replace")
    operator = between.strip()
    if left.extent.start.offset != begin or right.extent.end.offset != end or not (number(left) and number(right)):
        return
    if operator in ("&&", "||"):
        # De Morgan: with all three turned over, one is the other, and the second is asked as seldom.
        other = "||" if operator == "&&" else "&&"
        file.add(begin, depth, [f"{other} for {operator}"],
                 [(begin, begin, "open", "natten_sim_mutant::flip($, natten_sim_mutant::flip($, "),
                  (at, at, "close", ")"), (to, to, "open", "natten_sim_mutant::flip($, "), (end, end, "close", "))")])
        return
    if operator not in BINARY:
        return
    name, others = BINARY[operator]
    place = at + between.index(operator)
    file.add(begin, depth, [f"{other} for {operator}" for other in others],
             [(begin, begin, "open", f"natten_sim_mutant::{name}($, "),
              (place, place + len(operator), "close", ","), (end, end, "close", ")")])


def unary(file, operand, begin, end, text, depth):
    for operator, name, other in (("++", "inc", "--"), ("--", "dec", "++")):
        if not number(operand):
            return
        if text.startswith(operator):
            file.add(begin, depth, [f"{other} for {operator}"],
                     [(begin, begin + 2, "open", f"natten_sim_mutant::pre_{name}($, "), (end, end, "close", ")")])
        elif text.endswith(operator):
            file.add(begin, depth, [f"{other} for {operator}"],
                     [(begin, begin, "open", f"natten_sim_mutant::post_{name}($, "), (end - 2, end, "close", ")")])


def files_of(root, only):
    from clang import cindex

    index = cindex.Index.create()
    rooms = [path.parent.parent for path in sorted(root.glob("*/include/natten_sim"))]
    includes = [f"-I{room}/include" for room in rooms] + ["-isystem/usr/include/eigen3"]
    builtin = sorted(pathlib.Path("/usr/lib").glob("llvm-*/lib/clang/*/include"))
    includes += [f"-isystem{builtin[-1]}"] if builtin else []
    for room in ROOMS:
        for path in sorted([*(root / room).glob("src/**/*.cpp"), *(root / room).glob("src/**/*.hpp")]):
            if only not in str(path.relative_to(root)):
                continue
            unit = index.parse(str(path), ["-xc++", "-std=c++20", f"-I{root}/{room}/src", *includes])
            wrong = [problem for problem in unit.diagnostics if problem.severity >= 3]
            if wrong:
                print(f"{path}: {wrong[0].spelling}", file=sys.stderr)
            file = File(path.resolve(), path.read_bytes())
            visit(file, unit.cursor, 0, cindex.CursorKind)
            yield file


def write_mutants(tree, only):
    """All files of the tree with their mutants; the mutants, in order of their numbers."""
    files = list(files_of(tree, only))
    dropped = 0
    (tree / "core/include/natten_sim_mutant.hpp").write_text((ROOT / "scripts/mutant.hpp").read_text())
    while True:
        first = 1
        for file in files:
            for site in file.sites:
                site["first"] = first
                first += len(site["changes"])
            file.path.write_bytes(file.source())
        wrong = compile_errors(tree)
        if not wrong:
            break
        for file in files:  # a line is one further down
            bad = wrong.get(str(file.path), set())
            kept = [site for site in file.sites if not any(abs(site["line"] + 1 - line) <= 0 for line in bad)]
            if bad and len(kept) == len(file.sites):
                kept = [site for site in file.sites if not any(abs(site["line"] + 1 - line) <= 3 for line in bad)]
            dropped += len(file.sites) - len(kept)
            file.sites = kept
    mutants = {}
    for file in files:
        lines = file.text.decode().splitlines()
        for site in file.sites:
            for n, change in enumerate(site["changes"]):
                mutants[site["first"] + n] = {"place": f"{file.path.relative_to(tree.resolve())}:{site['line']}",
                                              "code": lines[site["line"] - 1].strip(), "change": change}
    print(f"{len(mutants)} mutants of {len(files)} files; {dropped} places do not compile changed", flush=True)
    return mutants


def compile_errors(tree):
    libraries = [f"natten_sim_{room}" for room in ROOMS]
    built = subprocess.run(["ninja", "-C", str(tree / "build"), "-k0", *libraries], capture_output=True, text=True)
    wrong = collections.defaultdict(set)
    for path, line in re.findall(r"^(\S+?):(\d+):\d+: error", built.stdout, re.M):
        wrong[str((tree / "build" / path).resolve())].add(int(line))
    if built.returncode != 0 and not wrong:
        sys.exit(built.stdout[-4000:])
    return wrong


def prepare(tree, only, launcher, flags):
    tree.mkdir(parents=True, exist_ok=True)
    archive = subprocess.run(["git", "archive", "HEAD"], cwd=ROOT, capture_output=True, check=True).stdout
    subprocess.run(["tar", "-x", "-C", str(tree)], input=archive, check=True)
    listener = tree / "mutant_listener.o"
    subprocess.run(["g++", "-std=c++20", "-O1", "-c", str(ROOT / "scripts/mutant_listener.cpp"), "-o", str(listener)],
                   check=True)
    lists = tree / "tests/CMakeLists.txt"
    plain = "add_executable(${name} ${ARG_SOURCES})"
    assert plain in lists.read_text()
    lists.write_text(lists.read_text().replace(plain, f"add_executable(${{name}} ${{ARG_SOURCES}} {listener})"))
    subprocess.run(
        ["cmake", "-S", str(tree), "-B", str(tree / "build"), "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release",
         f"-DCMAKE_CXX_FLAGS_RELEASE={flags}", "-DNATTEN_SIM_UNITY=ON", "-DNATTEN_SIM_CUDA=OFF",
         f"-DCMAKE_CXX_COMPILER_LAUNCHER={launcher}"],
        check=True, stdout=subprocess.DEVNULL)
    mutants = write_mutants(tree, only)
    (tree / "mutants.json").write_text(json.dumps(mutants, indent=0))
    return mutants


def programs_of(tree, tests):
    targets = subprocess.run(["ninja", "-C", str(tree / "build"), "-t", "targets", "all"], capture_output=True, text=True).stdout
    names = []
    for wanted in tests:
        pattern = re.compile(rf"^tests/({wanted.replace('*', '[a-z0-9_]+')}): CXX_EXECUTABLE", re.M)
        names += pattern.findall(targets)
    return names


class Bench:
    """Runs test cases of the build with one mutant or none."""

    def __init__(self, tree, cases):
        self.tree = tree
        self.environment = dict(os.environ, NATTEN_SIM_SEED="1")
        if cases:
            self.environment["RC_PARAMS"] = f"max_success={cases} max_size=100 seed=1"

    def run(self, program, names, seconds, **environment):
        """Exit code; None when it takes more than these seconds of a processor or of waiting."""
        chosen = self.tree / f"cases-{os.getpid()}.txt"
        chosen.write_text("".join(quoted(name) + "\n" for name in names))

        def limits():
            resource.setrlimit(resource.RLIMIT_CPU, (int(seconds) + 1, int(seconds) + 2))
            resource.setrlimit(resource.RLIMIT_AS, (3 << 30, 3 << 30))
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))

        try:
            return subprocess.run(
                [str(self.tree / "build/tests" / program), "--abort", *(["--input-file", str(chosen)] if names else [])],
                cwd=self.tree, env={**self.environment, **environment}, stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL, timeout=20 * seconds + 60, preexec_fn=limits).returncode
        except subprocess.TimeoutExpired:
            return None
        finally:
            chosen.unlink()

    def record(self, programs, again):
        """Of each program: its test cases, each with seconds and what it reaches."""
        cases = []
        for program in programs:
            log = self.tree / f"reached-{program}.jsonl"
            if not (again and log.exists()):
                log.unlink(missing_ok=True)
                code = self.run(program, [], 3600, NATTEN_SIM_MUTANT_LOG=str(log))
                if code != 0:
                    log.unlink(missing_ok=True)
                    sys.exit(f"{program} fails without a mutant (exit code {code})")
            always = set()
            for line in log.read_text().splitlines():
                case = json.loads(line)
                if not case["case"]:
                    always = set(case["reached"])
                    continue
                cases.append({"program": program, "case": case["case"], "seconds": case["seconds"],
                              "reached": set(case["reached"]) | always})
        return cases

    def killer(self, mutant, cases, most_seconds):
        """The first test case's program that notices a mutant; None if none does, and what was not tried."""
        spent, tried = 0.0, 0
        groups = collections.OrderedDict()  # one process a program and class of time; what takes long has its own
        for case in sorted(cases, key=lambda case: case["seconds"]):
            step = 0 if case["seconds"] < 0.1 else 1 if case["seconds"] < 1 else case["case"]
            groups.setdefault((step, case["program"]), []).append(case)
        for (_, program), chosen in groups.items():
            seconds = sum(case["seconds"] for case in chosen)
            if tried and spent + seconds > most_seconds:
                continue
            spent += seconds
            tried += len(chosen)
            code = self.run(program, [case["case"] for case in chosen], 5 * seconds + 3, NATTEN_SIM_MUTANT=str(mutant))
            if code != 0:
                return (program if code is not None and code != -24 else f"{program} (time)"), 0
        return None, len(cases) - tried


def quoted(name):
    for character in '\\,[]':
        name = name.replace(character, "\\" + character)
    return name


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0], allow_abbrev=False)
    parser.add_argument("tree", type=pathlib.Path)
    parser.add_argument("--count", type=int, default=500, help="mutants, sampled [500]")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="", help="files whose path contains this text")
    parser.add_argument("--pick", help="only mutants whose place and change match this pattern")
    parser.add_argument("--cases", type=int, default=0, help="random cases a property [what its file says]")
    parser.add_argument("--case-seconds", type=float, default=60, help="of tests a mutant, at most [60]")
    parser.add_argument("--seconds", type=float, help="stop after so long")
    parser.add_argument("--list", type=pathlib.Path, help="one JSON line a mutant; a run that was stopped goes on from it")
    parser.add_argument("--again", action="store_true", help="use the tree as it stands")
    parser.add_argument("--tests", nargs="+", default=TESTS, help="test programs [unit tests of these rooms and the "
                        "study's, property tests]")
    parser.add_argument("--numbers", help="only these mutants, as in the list: 12,57")
    parser.add_argument("--launcher", default="", help="of the compiler, such as ccache")
    parser.add_argument("--flags", default="-O1 -DNDEBUG", help="of the compiler [-O1 -DNDEBUG]")
    options = parser.parse_args()
    tree = options.tree.resolve()
    begin = time.monotonic()

    if options.again:
        mutants = {int(n): mutant for n, mutant in json.loads((tree / "mutants.json").read_text()).items()}
    else:
        mutants = prepare(tree, options.only, options.launcher, options.flags)
    programs = programs_of(tree, options.tests)
    built = subprocess.run(["ninja", "-C", str(tree / "build"), *(f"tests/{program}" for program in programs)],
                           capture_output=True, text=True)
    if built.returncode != 0:
        sys.exit(built.stdout[-4000:])
    bench = Bench(tree, options.cases)
    cases = bench.record(programs, options.again)
    print(f"{len(programs)} programs, {len(cases)} test cases, {sum(case['seconds'] for case in cases):.0f} s", flush=True)
    by_mutant = collections.defaultdict(list)
    for case in cases:
        for n in case["reached"]:
            by_mutant[n].append(case)

    numbers = sorted(mutants)
    random.Random(options.seed).shuffle(numbers)
    if options.numbers:
        numbers = [int(n) for n in options.numbers.split(",")]
    if options.pick:
        pattern = re.compile(options.pick)
        numbers = [n for n in numbers if pattern.search(f"{mutants[n]['place']} {mutants[n]['code']} {mutants[n]['change']}")]
    results = []
    if options.list and options.list.exists():  # goes on where a run was stopped
        results = [json.loads(line) for line in options.list.read_text().splitlines()]
    done = {result["number"] for result in results}
    for n in numbers[: options.count]:
        if n in done:
            continue
        if options.seconds is not None and time.monotonic() - begin > options.seconds:
            break
        killer, left = bench.killer(n, by_mutant[n], options.case_seconds) if by_mutant[n] else (None, 0)
        fate = "killed" if killer else "SURVIVED" if by_mutant[n] else "NOT REACHED"
        result = {"number": n, **mutants[n], "fate": fate.lower(), "killed_by": killer, "tests_left_out": left}
        results.append(result)
        if options.list:
            with options.list.open("a") as out:
                out.write(json.dumps(result) + "\n")
        if not killer:
            print(f"{fate} {n} {result['place']}: {result['change']}: {result['code']}", flush=True)
    fates = collections.Counter(result["fate"] for result in results)
    if results:
        print(f"{fates['killed']} of {len(results)} killed ({100 * fates['killed'] / len(results):.1f}%), "
              f"{fates['survived']} survived, {fates['not reached']} not reached; {time.monotonic() - begin:.0f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
