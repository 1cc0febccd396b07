"""Writes the API page of the documentation site from the package's signatures and docstrings.

    python api_pages.py FILE
"""

from __future__ import annotations

import importlib
import inspect
import pathlib
import sys
import textwrap
import types
from collections.abc import Iterator
from typing import Any

import natten_sim

BRIDGES = ("natten", "flex", "flash4", "triton", "helion")
HEAD = """# Python API

Written from the docstrings of the package. [Python](python.md) says how it is used.
"""


def signature(thing: Any) -> str:
    """A line a keyword, so that long signatures can be read."""
    given = getattr(thing, "__nb_signature__", None)
    text = str(given[-1][0]).removeprefix("def ") if given else f"{thing.__name__}{inspect.signature(thing)}"
    for module in ("typing.", "collections.abc.", "numpy.typing.", "natten_sim._record.", "natten_sim._many."):
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
    """The docstring, without the signature that nanobind puts before it."""
    text = inspect.getdoc(thing) or ""
    return text.split("\n\n", 1)[-1] if hasattr(thing, "__nb_signature__") else text


def sections(text: str) -> Iterator[str]:
    """Markdown of a docstring: its sections (`Args:`) as lists."""
    for line in inspect.cleandoc(text).splitlines():
        if line.rstrip() in ("Args:", "Returns:", "Raises:", "Attributes:"):
            yield f"\n**{line.rstrip(':')}**\n"
        elif line.startswith("    ") and ": " in line and not line.startswith("     "):
            name, _, rest = line.strip().partition(": ")
            yield f"- `{name}`: {rest}"
        elif line.startswith((">>>", "...")):
            yield f"    {line}"
        else:
            yield line


def entry(name: str, thing: Any, level: str = "###") -> Iterator[str]:
    if callable(thing) and not inspect.isclass(thing):
        yield f"{level} `{name}`\n\n```python\n{signature(thing)}\n```\n"
    else:
        yield f"{level} `{name}`\n"
    yield from sections(documentation(thing))
    yield ""


def own(thing: Any) -> list[tuple[str, Any]]:
    """Public members with a docstring of their own."""
    return [(name, member) for name, member in vars(thing).items()
            if not name.startswith("_") and not isinstance(member, types.ModuleType) and inspect.getdoc(member)
            and (callable(member) or isinstance(member, property) or hasattr(member, "__get__"))]


def page() -> str:
    lines = [HEAD, "## natten_sim", ""]
    members = {name: thing for name, thing in own(natten_sim) if callable(thing) and thing is not Any}
    functions = {name: thing for name, thing in members.items() if not inspect.isclass(thing)}
    for name, thing in [*sorted(functions.items()), *sorted(members.items() - functions.items())]:
        lines += entry(name, thing)
        for inner, member in own(thing) if inspect.isclass(thing) else []:
            lines += entry(f"{name}.{inner}", member.fget if isinstance(member, property) else member, "####")
    for bridge in BRIDGES:
        module = importlib.import_module(f"natten_sim.{bridge}")
        lines += [f"## natten_sim.{bridge}", "", *sections(inspect.getdoc(module) or ""), ""]
        for name, thing in own(module):
            if getattr(thing, "__module__", "") == module.__name__:
                lines += entry(name, thing)
    return "\n".join(textwrap.dedent(line) if line.startswith("- ") else line for line in lines) + "\n"


if __name__ == "__main__":
    pathlib.Path(sys.argv[1]).write_text(page())
