"""Every public name says what it takes and returns, with shapes, units and ranges, what it raises, and whence it comes."""

from __future__ import annotations

import importlib
import inspect
import re
from collections.abc import Iterator
from typing import Any

import natten_sim
import pytest

BRIDGES = ("flash4", "flex", "helion", "natten", "recall", "triton")  # ops needs PyTorch


def public(thing: Any, module: str) -> Iterator[tuple[str, Any]]:
    """Names of a module or a class that are its own."""
    for name, member in vars(thing).items():
        if name.startswith("_") or inspect.ismodule(member):
            continue
        if inspect.isclass(thing) or getattr(member, "__module__", "").startswith(module):
            yield name, member


def functions() -> list[tuple[str, Any, bool]]:
    """Functions, and methods of public classes (True)."""
    found: list[tuple[str, Any, bool]] = []
    for module in ("natten_sim", *(f"natten_sim.{bridge}" for bridge in BRIDGES)):
        for name, member in public(importlib.import_module(module), module):
            if inspect.isclass(member):
                found += [(f"{module}.{name}.{inner}", method, True) for inner, method in public(member, module)
                          if callable(method) and not inspect.isclass(method)]
            elif callable(member):
                found.append((f"{module}.{name}", member, False))
    return found


def classes() -> list[tuple[str, Any]]:
    return [(f"{module}.{name}", member) for module in ("natten_sim", *(f"natten_sim.{bridge}" for bridge in BRIDGES))
            for name, member in public(importlib.import_module(module), module) if inspect.isclass(member)]


def signature(function: Any) -> str:
    given = getattr(function, "__nb_signature__", None)
    return str(given[-1][0]) if given else f"def f{inspect.signature(function)}"


def parameters(text: str) -> list[str]:
    """Names of what a signature takes: `a: int = 3, *, b: ..`."""
    inside = text[text.index("(") + 1 : text.rindex(") ->")]
    depth, names, word = 0, [], ""
    for character in f"{inside},":
        depth += (character in "[(") - (character in "])")
        if character == "," and depth == 0:
            name = word.split(":")[0].split("=")[0].strip().lstrip("*")
            names += [name] if name not in ("", "/", "self") else []
            word = ""
        else:
            word += character
    return names


def section(doc: str, title: str) -> str:
    """The lines of `Args:` and the like."""
    found = re.search(rf"^{title}:\n((?:    .*\n?|\n)+)", f"{inspect.cleandoc(doc)}\n", re.MULTILINE)
    return found[1] if found else ""


def documented(text: str) -> list[str]:
    """`a, b: ..`: both."""
    return [name.strip("* ") for line in re.findall(r"^ {4}([\w*, ]+): ", text, re.MULTILINE) for name in line.split(",")]


@pytest.mark.parametrize(("name", "function", "method"), functions(), ids=lambda value: value if isinstance(value, str) else "")
def test_a_function_says_what_it_takes_returns_and_raises(name: str, function: Any, method: bool) -> None:
    doc, declared = inspect.getdoc(function) or "", signature(function)
    if not hasattr(function, "__nb_signature__"):  # whose docstring begins with it
        assert doc.splitlines()[0].endswith("."), f"{name}: the first line is a sentence"
    taken = parameters(declared)
    assert documented(section(doc, "Args")) == taken, f"{name}: Args"
    if not declared.endswith(("-> None", "-> 'None'")):
        assert section(doc, "Returns").strip().endswith("."), f"{name}: Returns"
    if taken:
        assert section(doc, "Raises").strip(), f"{name}: Raises"
    if taken and not method:
        assert section(doc, "Source").strip(), f"{name}: Source"


@pytest.mark.parametrize(("name", "kind"), classes(), ids=lambda value: value if isinstance(value, str) else "")
def test_a_class_says_what_it_holds(name: str, kind: Any) -> None:
    doc = inspect.getdoc(kind) or ""
    assert doc.endswith((".", ")", ".\n")) or ">>>" in doc, name
    if hasattr(kind, "__dataclass_fields__"):
        assert documented(section(doc, "Attributes")) == list(kind.__dataclass_fields__), name
    for inner, member in vars(kind).items():
        if isinstance(member, property) or type(member).__name__ == "nb_property":
            assert inspect.getdoc(member), f"{name}.{inner}"


@pytest.mark.parametrize("function", ["advise", "count", "count_many", "msda", "plan", "reuse", "scatter", "schedule", "search", "time"])
def test_numbers_have_their_range_and_defaults(function: str) -> None:
    """Whatever takes a number says between which ends, or that it is one of an axis, a divisor, or what limits it."""
    call = getattr(natten_sim, function)
    takes, args = signature(call), section(inspect.getdoc(call) or "", "Args")
    for name in documented(args):
        hint = re.search(rf"\b{name}: ((?:[^,\[]|\[[^\[\]]*(?:\[[^\[\]]*\][^\[\]]*)*\])*)", takes)
        line = re.search(rf"^ {{4}}{name}: (.*)", args, re.MULTILINE)
        assert hint and line, name
        if re.match(r"(typing\.SupportsIndex|float) \| None", hint[1]):
            assert re.search(r"\.\.", line[1]), f"{function}({name}): no range in '{line[1]}'"
