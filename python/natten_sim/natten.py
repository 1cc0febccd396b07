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


def _call(answer: Count) -> ast.Call:
    line = answer.emit("natten").strip().splitlines()[-1]
    call = ast.parse(line, mode="eval").body
    assert isinstance(call, ast.Call)
    return call


def function(answer: Count) -> str:
    """na1d, na2d or na3d."""
    called = _call(answer).func
    assert isinstance(called, ast.Attribute)
    return called.attr


def kwargs(answer: Count) -> dict[str, Any]:
    """Everything but the tensors; with `backprop=True` the tiles of the backward pass too.

    Raises:
        Error: NATTEN refuses the call; `parameter` and `accepted` are its rule's.
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
