"""The places of models/, sim/ and search/ whose operators, constants and bounds scripts/mutate.py changes, and the
sources with all of these mutants in them. Not changed: constant expressions, headers of include/, messages, and how
much memory is reserved ahead.

Needs libclang for Python (Debian: python3-clang).
"""
import bisect
import collections
import json
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
ROOMS = ("models", "sim", "search")
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

    def add(self, begin, end, depth, changes, edits):
        expression = " ".join(self.text[begin:end].decode(errors="replace").split())
        self.sites.append({"line": self.line_of(begin), "expression": expression, "depth": depth, "changes": changes,
                           "edits": edits})

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
    if kind in (kinds.DECL_STMT, kinds.VAR_DECL, kinds.CONSTRUCTOR) and "constexpr" in [token.spelling for token in node.get_tokens()][:4]:
        return
    if kind == kinds.CALL_EXPR and node.spelling == "reserve":
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
            file.add(begin, end, depth, [f"std::{'max' if name == 'smaller' else 'min'} for {called.group(0)[:-1]}"],
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
        file.add(begin, end, depth, ["break for continue"],
                 [(begin, end, "open", "{ if (natten_sim_mutant::on($)) break; continue; }")])
    stated = children[0].kind if kind == kinds.UNEXPOSED_EXPR and len(children) == 1 else kind  # with temporaries
    if parent.kind == kinds.COMPOUND_STMT and (
            stated in (kinds.CALL_EXPR, kinds.COMPOUND_ASSIGNMENT_OPERATOR) or
            (stated == kinds.BINARY_OPERATOR and " = " in text)):
        file.add(begin, end, depth - 0.5, ["statement left out"],
                 [(begin, begin, "open", "if (!natten_sim_mutant::on($)) ")])
    for child in children:
        visit_one(file, child, node, depth + 1, kinds)


def wrap(file, begin, end, depth, name, change):
    file.add(begin, end, depth, [change], [(begin, begin, "open", f"natten_sim_mutant::{name}($, "), (end, end, "close", ")")])


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
        file.add(begin, end, depth, [f"{other} for {operator}"],
                 [(begin, begin, "open", "natten_sim_mutant::flip($, natten_sim_mutant::flip($, "),
                  (at, at, "close", ")"), (to, to, "open", "natten_sim_mutant::flip($, "), (end, end, "close", "))")])
        return
    if operator not in BINARY:
        return
    name, others = BINARY[operator]
    place = at + between.index(operator)
    file.add(begin, end, depth, [f"{other} for {operator}" for other in others],
             [(begin, begin, "open", f"natten_sim_mutant::{name}($, "),
              (place, place + len(operator), "close", ","), (end, end, "close", ")")])


def unary(file, operand, begin, end, text, depth):
    for operator, name, other in (("++", "inc", "--"), ("--", "dec", "++")):
        if not number(operand):
            return
        if text.startswith(operator):
            file.add(begin, end, depth, [f"{other} for {operator}"],
                     [(begin, begin + 2, "open", f"natten_sim_mutant::pre_{name}($, "), (end, end, "close", ")")])
        elif text.endswith(operator):
            file.add(begin, end, depth, [f"{other} for {operator}"],
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
                                              "code": lines[site["line"] - 1].strip(), "change": change,
                                              "expression": site["expression"]}
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


def compiled(tree, source):
    """An object file of scripts/, for programs of the tree."""
    out = tree / f"{pathlib.Path(source).stem}.o"
    if out.exists() and out.stat().st_mtime > max((ROOT / "scripts" / each).stat().st_mtime for each in (source, "mutant.hpp")):
        return out
    subprocess.run(["g++", "-std=c++20", "-O1", "-c", str(ROOT / "scripts" / source), "-o", str(out)], check=True)
    return out


def copy_tests(tree):
    """The tests as they stand in the checkout; each program records what its test cases reach. Keeps what has not
    changed, for the sake of the next build."""
    program = re.compile(rb"(add_executable\(\$\{name\} [^()]*\$\{ARG_SOURCES\}[^()]*)\)")  # each test program
    wanted = set()
    names = subprocess.run(["git", "ls-files", "-co", "--exclude-standard", "tests"], cwd=ROOT, capture_output=True,
                           text=True, check=True).stdout.splitlines()
    for name in names:
        if not (ROOT / name).is_file():
            continue
        wanted.add(tree / name)
        text = (ROOT / name).read_bytes()
        if name == "tests/CMakeLists.txt":
            text, places = program.subn(lambda found: found[1] + f" {tree}/mutant_listener.o)".encode(), text)
            assert places == 1, "tests/CMakeLists.txt has no function that adds test programs"
        if not (tree / name).is_file() or (tree / name).read_bytes() != text:
            (tree / name).parent.mkdir(parents=True, exist_ok=True)
            (tree / name).write_bytes(text)
            (tree / name).chmod((ROOT / name).stat().st_mode)
    for path in (tree / "tests").rglob("*.cpp"):
        if path not in wanted:
            path.unlink()


def prepare(tree, only, launcher, flags):
    """Writes the tree: a copy of the commit with the tests of the checkout, and all mutants in it."""
    tree.mkdir(parents=True, exist_ok=True)
    archive = subprocess.run(["git", "archive", "HEAD"], cwd=ROOT, capture_output=True, check=True).stdout
    subprocess.run(["tar", "-x", "-C", str(tree)], input=archive, check=True)
    compiled(tree, "mutant_listener.cpp")
    reached = compiled(tree, "mutant_reached.cpp")
    copy_tests(tree)
    subprocess.run(
        ["cmake", "-S", str(tree), "-B", str(tree / "build"), "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release",
         f"-DCMAKE_CXX_FLAGS_RELEASE={flags}", "-DNATTEN_SIM_UNITY=ON", "-DNATTEN_SIM_CUDA=OFF",
         f"-DCMAKE_EXE_LINKER_FLAGS={reached}", f"-DCMAKE_CXX_COMPILER_LAUNCHER={launcher}"],
        check=True, stdout=subprocess.DEVNULL)
    mutants = write_mutants(tree, only)
    (tree / "mutants.json").write_text(json.dumps(mutants, indent=0))
    return mutants
