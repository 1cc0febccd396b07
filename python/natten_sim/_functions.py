"""The extension's functions as functions of Python: with a signature, and to be pickled by name."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable
from typing import Any


def _parameters(arguments: ast.arguments) -> list[inspect.Parameter]:
    kinds = inspect.Parameter
    named: list[tuple[Any, ast.arg]] = [(kinds.POSITIONAL_ONLY, each) for each in arguments.posonlyargs]
    named += [(kinds.POSITIONAL_OR_KEYWORD, each) for each in arguments.args]
    first_default = len(named) - len(arguments.defaults)
    made: list[tuple[ast.arg, Any, Any]] = []
    for at, (kind, argument) in enumerate(named):
        default = ast.literal_eval(arguments.defaults[at - first_default]) if at >= first_default else kinds.empty
        made.append((argument, kind, default))
    for argument, given in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True):
        made.append((argument, kinds.KEYWORD_ONLY, kinds.empty if given is None else ast.literal_eval(given)))
    return [kinds(argument.arg, kind, default=default,
                  annotation=kinds.empty if argument.annotation is None else ast.unparse(argument.annotation))
            for argument, kind, default in made]


def signature_of(text: str) -> inspect.Signature:
    """Of a line as the extension's stubs have it: `def count(*, input: int | None = None) -> Count`."""
    definition = ast.parse(f"{text}: ...").body[0]
    assert isinstance(definition, ast.FunctionDef) and definition.returns is not None
    return inspect.Signature(_parameters(definition.args), return_annotation=ast.unparse(definition.returns))


def named(function: Callable[..., Any], module: str, of_mask: Callable[..., Any] | None = None) -> Callable[..., Any]:
    """The function under its name in a module; of_mask: what answers calls with a keyword mask."""
    def call(*arguments: Any, **keywords: Any) -> Any:
        if of_mask is not None and "mask" in keywords:
            if keywords["mask"] is not None:
                return of_mask(*arguments, **keywords)
            del keywords["mask"]
        return function(*arguments, **keywords)

    call.__name__ = call.__qualname__ = function.__name__
    call.__module__ = module
    declared, documentation = function.__nb_signature__[-1][:2]  # type: ignore[attr-defined]
    call.__doc__ = documentation
    call.__signature__ = signature_of(declared)  # type: ignore[attr-defined]
    call.__nb_signature__ = function.__nb_signature__  # type: ignore[attr-defined]
    return call


def functions_of(extension: Any, module: str) -> dict[str, Callable[..., Any]]:
    """All public functions of the extension, by name."""
    return {name: named(value, module, getattr(extension, f"_{name}_of_mask", None)) for name, value in vars(extension).items()
            if not name.startswith("_") and hasattr(value, "__nb_signature__") and not inspect.isclass(value)}
