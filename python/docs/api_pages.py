"""Writes the API page of the documentation site from the package's signatures and docstrings.

    python api_pages.py FILE
"""

from __future__ import annotations

import ast
import importlib
import inspect
import pathlib
import re
import sys
import textwrap
import types
from collections.abc import Iterator
from typing import Any

import natten_sim

BRIDGES = ("natten", "flex", "flash4", "triton", "helion", "recall")
HEAD = """# Python API

Written from the docstrings of the package. [Python](python.md) says how it is used.
"""


def signature(thing: Any) -> str:
    """A line a keyword, so that long signatures can be read."""
    given = getattr(thing, "__nb_signature__", None)
    text = str(given[-1][0]).removeprefix("def ") if given else f"{thing.__name__}{inspect.signature(thing)}"
    for module in ("typing.", "collections.abc.", "numpy.typing.", "natten_sim._record.", "natten_sim._many.",
                   "natten_sim._members.", "natten_sim._tables."):
        text = text.replace(module, "")
    if len(text) < 100:
        return text
    name, _, rest = text.partition("(")
    arguments, _, result = rest.rpartition(")")
    lines, depth, line = [], 0, ""
    for character in arguments:
        depth += (character in "([") - (character in ")]")
        if character == "," and depth == 0:
            lines.append(line.strip())
            line = ""
        else:
            line += character
    return f"{name}(\n    " + ",\n    ".join([*lines, line.strip()]) + f"\n){result}"


def documentation(thing: Any) -> str:
    """The docstring, without the signature that nanobind puts before a function's."""
    text = inspect.getdoc(thing) or ""
    return text.split("\n\n", 1)[-1] if text.startswith(f"{getattr(thing, '__name__', '')}(") else text


def sections(text: str) -> Iterator[str]:
    """Markdown of a docstring: its sections (`Args:`) as lists, its examples as code."""
    code = listed = titled = False
    for line in text.strip().splitlines():
        code = bool(line) and (code or line.startswith(">>>"))
        if line.rstrip() in ("Args:", "Returns:", "Raises:", "Source:", "Attributes:"):
            listed, titled = False, True
            yield f"\n**{line.rstrip(':')}**\n"
        elif code or not titled:
            yield f"    {line}" if code else line
        elif re.match(r"    [\w*, ]+: ", line):
            listed = True
            name, _, rest = line.strip().partition(": ")
            yield f"- `{name}`: {rest}"
        elif line.startswith("    "):
            yield f"  {line.strip()}" if listed else line.strip()
        else:
            yield line


def entry(name: str, thing: Any, level: str = "###") -> Iterator[str]:
    if callable(thing) and not inspect.isclass(thing):
        yield f"{level} `{name}`\n\n```python\n{signature(thing)}\n```\n"
    else:
        yield f"{level} `{name}`\n"
    yield from sections(documentation(thing))
    yield ""


def members(name: str) -> Iterator[str]:
    """What an answer holds, by its types (_members.pyi)."""
    stub = pathlib.Path(natten_sim.__file__).parent / "_members.pyi"
    for node in ast.parse(stub.read_text()).body:
        if isinstance(node, ast.ClassDef) and node.name == f"{name}Members":
            yield "**Members**\n"
            yield from (f"- `{ast.unparse(one.target)}`: `{ast.unparse(one.annotation.slice)}`" for one in node.body
                        if isinstance(one, ast.AnnAssign) and isinstance(one.annotation, ast.Subscript))
            yield ""


def own(thing: Any) -> list[tuple[str, Any]]:
    """Public members with a docstring of their own."""
    return [(name, member) for name, member in vars(thing).items()
            if not name.startswith("_") and not isinstance(member, types.ModuleType) and inspect.getdoc(member)
            and (callable(member) or isinstance(member, property) or hasattr(member, "__get__"))]


def page() -> str:
    lines = [HEAD, "## natten_sim", ""]
    found = {name: thing for name, thing in own(natten_sim) if callable(thing) and thing is not Any}
    functions = {name: thing for name, thing in found.items() if not inspect.isclass(thing)}
    for name, thing in [*sorted(functions.items()), *sorted(found.items() - functions.items())]:
        lines += entry(name, thing)
        lines += members(name)
        for inner, member in own(thing) if inspect.isclass(thing) else []:
            lines += entry(f"{name}.{inner}", member.fget if isinstance(member, property) else member, "####")
    for bridge in BRIDGES:
        module = importlib.import_module(f"natten_sim.{bridge}")
        lines += [f"## natten_sim.{bridge}", "", *sections(module.__doc__ or ""), ""]
        for name, thing in own(module):
            if getattr(thing, "__module__", "") == module.__name__:
                lines += entry(name, thing)
    return "\n".join(textwrap.dedent(line) if line.startswith("- ") else line for line in lines) + "\n"


if __name__ == "__main__":
    pathlib.Path(sys.argv[1]).write_text(page())
