"""Tables of a model's attention, from which `natten_sim.search(recall=..)` says what windows keep of it.

`record` makes a table of attention by offset (key minus query on each axis) from queries and keys. Stored with
`numpy.save`, it is what the keywords `recall`, `least_recall` and `budget_ms` of search() and advise() read.

>>> import numpy as np
>>> import natten_sim
>>> alike = np.zeros((1, 12, 4))  # one head whose 3x4 queries attend to all keys alike
>>> table = natten_sim.recall.record(alike, alike, (3, 4))
>>> table.shape, round(float(table[0, 2, 3]), 12)  # 1/12 of the attention goes to the query's own place
((1, 5, 7), 0.083333333333)

A table knows the offset alone: of the queries that have a key there, each is taken to give it as much.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from natten_sim._error import Error

Floats = npt.NDArray[np.floating[Any]]


def _refusal(parameter: str, value: object, accepted: str) -> Error:
    return Error(f"{parameter}: {value} is not valid; accepted: {accepted}", parameter, str(value), accepted)


def record(query: Any, key: Any, layout: Sequence[int], samples: int = 256, seed: int = 0,
           scale: float | None = None) -> npt.NDArray[np.float64]:
    """Attention by offset, from a sample of queries against all keys.

    Args:
        query: (heads, tokens, dim), tokens row-major in the layout: an array, or a tensor of PyTorch.
        key: The same of the keys.
        layout: Tokens an axis.
        samples: Queries that are drawn without replacement, 1 or more; as many as there are tokens take all.
        seed: Of the sample.
        scale: Of the logits [1 / sqrt(dim)].

    Returns:
        (heads, 2 * length - 1 for each axis): shares of the attention, which add up to 1 in each head.

    Raises:
        Error: Shapes that do not fit the layout, or no sample.

    Source:
        Softmax of the scaled logits; docs/python-bridges.md.
    """
    tokens = math.prod(layout)
    if tuple(query.shape) != tuple(key.shape) or len(query.shape) != 3 or query.shape[1] != tokens:
        raise _refusal("query", tuple(query.shape), f"(heads, {tokens}, dim), as the keys have")
    if samples < 1:
        raise _refusal("samples", samples, "1 or more")
    drawn = np.sort(np.random.default_rng(seed).permutation(tokens)[:samples])
    places = np.stack(np.unravel_index(drawn, tuple(layout)), axis=-1)
    tables = np.zeros((query.shape[0], *(2 * length - 1 for length in layout)))
    factor = 1 / math.sqrt(query.shape[2]) if scale is None else scale
    for head, table in enumerate(tables):
        logits = _array(query[head])[drawn] @ _array(key[head]).T * factor
        weights = np.exp(logits - logits.max(axis=1, keepdims=True))
        weights /= weights.sum(axis=1, keepdims=True)
        for place, row in zip(places, weights):
            box = tuple(slice(length - 1 - at, 2 * length - 1 - at) for length, at in zip(layout, place))
            table[box] += row.reshape(tuple(layout))
    return tables / len(drawn)


def _array(tensor: Any) -> Floats:
    """Of a tensor of PyTorch: a copy on the host."""
    if hasattr(tensor, "detach"):
        tensor = tensor.detach().float().cpu().numpy()
    return np.asarray(tensor, dtype=np.float64)
