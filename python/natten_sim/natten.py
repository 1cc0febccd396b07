"""Keyword arguments of natten.na1d, na2d and na3d for a counted configuration, checked by NATTEN's own rules.

>>> import natten_sim
>>> answer = natten_sim.count(input=(64, 64), window=(16, 16), stride=(8, 8), device="h100", head_dim=64)
>>> natten_sim.natten.function(answer)
'na2d'
>>> call = natten_sim.natten.kwargs(answer)
>>> call["kernel_size"], call["stride"], call["backend"]
((16, 16), (8, 8), 'hopper-fna')
"""

from __future__ import annotations

import ast
from typing import Any

from natten_sim._core import Count
from natten_sim._error import Error


def _call(answer: Count) -> ast.Call:
    if not isinstance(answer, Count):
        raise TypeError(f"an answer of count() is needed, not {type(answer).__name__}: of a candidate of search(), "
                        "count(input=.., window=candidate.window, stride=candidate.stride, ..)")
    line = answer.emit("natten").strip().splitlines()[-1]
    if not line.startswith("natten."):
        accepted = "false: NATTEN has no cyclic axes; emit() pads the tensors around its call"
        raise Error(f"cyclic: true is not valid; accepted: {accepted}", "cyclic", "true", accepted)
    call = ast.parse(line, mode="eval").body
    assert isinstance(call, ast.Call)
    return call


def function(answer: Count) -> str:
    """The name of NATTEN's function.

    Args:
        answer: Of count(), of 1 to 3 axes.

    Returns:
        na1d, na2d or na3d.

    Raises:
        Error: NATTEN refuses the call; `parameter` and `accepted` are its rule's.

    Source:
        NATTEN 0.21's functional interface; docs/natten.md.
    """
    called = _call(answer).func
    assert isinstance(called, ast.Attribute)
    return called.attr


def kwargs(answer: Count) -> dict[str, Any]:
    """The keywords of that function: everything but the tensors.

    Args:
        answer: Of count(), of 1 to 3 axes; with `backprop=True` the tiles of the backward pass come along.

    Returns:
        kernel_size, stride, dilation and is_causal (a tuple with one member an axis), backend, tile shapes in tokens.

    Raises:
        Error: NATTEN refuses the call; `parameter` and `accepted` are its rule's.

    Source:
        NATTEN 0.21's configs/checks.py; docs/natten.md.
    """
    call = _call(answer)
    # Tensors are given by name; what else is positional or not a literal is the caller's.
    arguments = {}
    for keyword in call.keywords:
        try:
            arguments[str(keyword.arg)] = ast.literal_eval(keyword.value)
        except ValueError:  # additional_keys=additional_keys
            continue
    return arguments
