"""A default that a docstring states is the default: the answer is the same with the keyword and without it."""

from __future__ import annotations

import ast
import re
from typing import Any

import natten_sim
import pytest
from conftest import ROOT

# Calls that keywords can be added to. A keyword is compared on the first that takes it. None names a preset, a
# kernel or a device that fills in what the question leaves out.
CALLS: dict[str, list[dict[str, Any]]] = {
    "count": [{"input": 16, "backprop": True}, {"input": 16}],
    "search": [{"input": 16, "window_range": (2, 16)}, {"input": 256, "window": 64, "q_tile": 64, "kv_tile": 64, "any": True}],
    "schedule": [{"q_tiles": 4}, {"seqlen_q": 512}, {"q_tiles": 4, "device": "h200"}],
    "reuse": [{"seqlen": 1024}, {"seqlen": 1024, "fidelity": "lru"}, {"stream_bytes": 4096},
              {"seqlen": 1024, "fidelity": "lru", "ways": 4, "l2_bytes": 65536},
              {"seqlen": 4096, "device": "h200", "fidelity": "timed"}],
    "scatter": [{"updates": 1000}, {"rows": 100}],
    "msda": [{"config": "B4_800x1333_d256_L4"}],
    "time": [{"kernel": "hopper-fna", "device": "h200", "input": 4096, "window": 512, "q_tile": 128, "kv_tile": 128,
              "head_dim": 128}],
    "calibrate": [{"runs": str(ROOT / "data" / "kernel-runs" / "natten-h200.csv"), "source": "measured"}],
    "advise": [{"input": (16, 16, 16), "device": "h200"}],
    "plan": [{"input": (16, 16, 16), "window": (4, 8, 8), "device": "h200", "head_dim": 128}],
}


def stated(doc: str) -> dict[str, str]:
    """The value in the last brackets of each keyword: `x` of [x], [the kernel's, or x] and [x; with a file, all]."""
    defaults = {}
    for name, text in re.findall(r"^ {4}(\w+): .*\[([^\[\]]+)\]\.$", doc, re.MULTILINE):
        defaults[name] = re.split("[;,:]", text.rsplit(", or ", 1)[-1])[0]
    return defaults


def value_of(text: str) -> object:
    try:
        return ast.literal_eval(text)
    except (SyntaxError, ValueError):
        return text


def without(name: str, answer: dict[str, Any]) -> dict[str, Any]:
    """Some keywords are echoed only where they are given."""
    return answer | {"input": {key: value for key, value in answer["input"].items() if key != name}}


@pytest.mark.parametrize("function", CALLS)
def test_a_stated_default_is_what_is_taken_without_the_keyword(function: str) -> None:
    call = getattr(natten_sim, function)
    defaults = stated(call.__doc__)
    assert defaults
    plain = [call(**keywords).to_dict() for keywords in CALLS[function]]
    compared = set()
    for name, text in defaults.items():
        for keywords, answer in zip(CALLS[function], plain, strict=True):
            if name in keywords or name in ("catalog", "progress"):
                continue
            try:
                told = call(**keywords, **{name: value_of(text)}).to_dict()
            except natten_sim.Error:
                continue  # a rule in words, or a keyword of other calls
            assert without(name, told) == without(name, answer), f"{name}={text}"
            compared.add(name)
            break
    assert len(compared) >= 4, compared
