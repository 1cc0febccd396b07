"""How much of a model's attention windows keep, head by head, and which window each head should have.

`record` makes a table of attention by offset (key minus query on each axis) from queries and keys; `recall` says which
share of it a window and stride keep; `choose` picks among the candidates of a search.

>>> import numpy as np
>>> import natten_sim
>>> near = np.exp(-np.abs(np.arange(-7, 8)) / 2.0)  # attention fades with the distance on both axes
>>> table = natten_sim.recall.Separable((near, near))
>>> round(float(natten_sim.recall.recall(table, (8, 8), (8, 8))), 12)
1.0
>>> round(float(natten_sim.recall.recall(table, (8, 8), (3, 3))), 3)
0.343

A table knows the offset alone: of the queries that have a key there, each is taken to give it as much.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from natten_sim._error import Error

Floats = npt.NDArray[np.floating[Any]]


@dataclasses.dataclass(frozen=True)
class Separable:
    """Attention by offset that is a product over the axes.

    Attributes:
        axes: One array an axis, (.., 2 * length - 1): offsets from 1 - length to length - 1. What stands before the
            last axis (layers, heads) is the same in all.
    """

    axes: tuple[Floats, ...]


@dataclasses.dataclass(frozen=True)
class Candidate:
    """A configuration that heads may have.

    Attributes:
        window: Tokens an axis.
        stride: Tokens an axis.
        ms: Milliseconds of a launch of all heads of a layer.
    """

    window: tuple[int, ...]
    stride: tuple[int, ...]
    ms: float


@dataclasses.dataclass(frozen=True)
class Launch:
    """Heads of one layer with one window.

    Attributes:
        layer: From 0.
        heads: From 0, ascending.
        candidate: What they run.
        recall: Mean over these heads, 0..1.
    """

    layer: int
    heads: tuple[int, ...]
    candidate: Candidate
    recall: float


@dataclasses.dataclass(frozen=True)
class Choice:
    """A window for every head.

    Attributes:
        launches: By layer, in each the fastest candidate first.
        recall: Mean over all heads, 0..1.
        ms: Milliseconds of all layers, where some heads of a layer take their share of a launch of all.
    """

    launches: tuple[Launch, ...]
    recall: float
    ms: float


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


def kept(length: int, window: int, stride: int = 1) -> npt.NDArray[np.float64]:
    """Of the queries of an axis with a key at an offset, the share that attends to it.

    Args:
        length: Tokens of the axis, 1 or more.
        window: 1..length.
        stride: 1..window.

    Returns:
        (2 * length - 1): offsets from 1 - length to length - 1.

    Raises:
        Error: A window or stride out of its range.

    Source:
        Hassani's dissertation, section 4.2.2: windows of an axis without dilation or causality.
    """
    if not 1 <= window <= length:
        raise _refusal("window", window, f"1..{length}")
    if not 1 <= stride <= window:
        raise _refusal("stride", stride, f"1..{window}")
    queries = np.arange(length)
    leader = np.minimum(queries // stride * stride + stride // 2, length - 1)
    begin = np.clip(leader - window // 2, 0, length - window)
    changes = np.zeros(2 * length, dtype=np.int64)
    np.add.at(changes, begin - queries + length - 1, 1)
    np.add.at(changes, begin + window - queries + length - 1, -1)
    possible = length - np.abs(np.arange(1 - length, length))
    shares: npt.NDArray[np.float64] = np.cumsum(changes)[:-1] / possible
    return shares


def recall(table: Separable | Floats, layout: Sequence[int], window: Sequence[int],
           stride: Sequence[int] | None = None) -> npt.NDArray[np.float64]:
    """The share of the attention that a window keeps.

    Args:
        table: As `record` returns it, or a product over the axes.
        layout: Tokens an axis.
        window: Tokens an axis.
        stride: Tokens an axis [1 each].

    Returns:
        (..): 0..1, what stands before the offsets in the table (heads; layers and heads).

    Raises:
        Error: A window or stride out of its range, or a table of another layout.

    Source:
        The sum over offsets of their attention times `kept`, over the sum of their attention.
    """
    found: npt.NDArray[np.float64] = _recalls(table, layout, [(tuple(window), tuple(stride or [1] * len(layout)))])[..., 0]
    return found


def _recalls(table: Separable | Floats, layout: Sequence[int],
             configurations: Sequence[tuple[tuple[int, ...], tuple[int, ...]]]) -> npt.NDArray[np.float64]:
    """(.., configurations). Each axis is summed once for each of its windows and strides."""
    shapes = [axis.shape[-1] for axis in table.axes] if isinstance(table, Separable) else table.shape[-len(layout):]
    if list(shapes) != [2 * length - 1 for length in layout]:
        raise _refusal("table", tuple(shapes), f"offsets of {'x'.join(map(str, layout))}: 2 * length - 1 an axis")
    for window, stride in configurations:
        if len(window) != len(layout) or len(stride) != len(layout):
            raise _refusal("window", window, f"{len(layout)} numbers, as of the stride")
    options = [sorted({(window[axis], stride[axis]) for window, stride in configurations}) for axis in range(len(layout))]
    shares = [np.stack([kept(length, *option) for option in of_axis]) for length, of_axis in zip(layout, options)]
    at = [[of_axis.index((window[axis], stride[axis])) for window, stride in configurations]
          for axis, of_axis in enumerate(options)]
    if isinstance(table, Separable):
        result: Any = 1.0
        for axis, share, places in zip(table.axes, shares, at):
            result = result * (axis @ share.T / axis.sum(axis=-1, keepdims=True))[..., places]
        return np.asarray(result)
    heads = table.reshape(-1, *shapes)
    recalls = np.empty((len(heads), len(configurations)))
    for head, mass in enumerate(heads):
        sums: Any = np.asarray(mass, dtype=np.float64)
        total = sums.sum()
        for share in reversed(shares):  # the last axis of offsets goes, and its options come first
            sums = np.tensordot(share, sums, axes=(1, sums.ndim - 1))
        recalls[head] = sums[tuple(at)] / total
    return recalls.reshape(*table.shape[:-len(layout)], len(configurations))


def candidates(answer: Any) -> list[Candidate]:
    """The candidates of a search by time.

    Args:
        answer: Of search(), on one device.

    Returns:
        Window, stride and milliseconds of each, as they stand in the answer.

    Raises:
        Error: The answer is not by time.

    Source:
        docs/recall.md.
    """
    found = []
    for each in answer.candidates:
        fields = each.to_dict()
        if "total_ms" not in fields:
            raise _refusal("objective", "a speedup", "time, on a device")
        found.append(Candidate(tuple(fields["window"]), tuple(fields["stride"]), float(fields["total_ms"])))
    return found


def choose(table: Separable | Floats, layout: Sequence[int], among: Iterable[Candidate], budget_ms: float | None = None,
           least_recall: float | None = None, per: str = "head") -> Choice:
    """The windows that keep most attention in a time, or keep a share of it in the least time.

    No other choice among the candidates that takes as little time keeps more. It is up to one step of one head short of
    the budget, or past the share.

    Args:
        table: Of one layer (heads, ..) or several (layers, heads, ..): as `record` returns it, or a product.
        layout: Tokens an axis.
        among: The candidates.
        budget_ms: Most milliseconds of all layers together. Either this or `least_recall`.
        least_recall: Least mean share of the attention, 0..1.
        per: head, or layer: all heads of a layer have one window.

    Returns:
        A window for every head; heads of a layer with the same one are launched together.

    Raises:
        Error: No candidate is as fast, or keeps as much; both wishes or none; a table without heads.

    Source:
        The upper hull of recall over time of each head, in the order of its slopes (Lagrange); docs/python-bridges.md.
    """
    known = list(among)
    if (budget_ms is None) == (least_recall is None):
        raise _refusal("budget_ms", budget_ms, "either a budget or a least recall")
    if per not in ("head", "layer"):
        raise _refusal("per", per, "head, layer")
    recalls = _recalls(table, layout, [(each.window, each.stride) for each in known])
    if recalls.ndim not in (2, 3):
        raise _refusal("table", f"{recalls.ndim - 1} axes before the offsets", "heads, or layers and heads")
    recalls = recalls.reshape(-1, *recalls.shape[-2:])  # (layers, heads, candidates)
    layers, heads, _ = recalls.shape
    units = recalls.mean(axis=1) if per == "layer" else recalls.reshape(layers * heads, -1)
    costs = np.array([each.ms for each in known]) / (1 if per == "layer" else heads)
    chosen = _chosen(units, costs, budget_ms, least_recall)
    of_head = np.repeat(chosen, heads) if per == "layer" else chosen
    launches = []
    for layer, of_layer in enumerate(of_head.reshape(layers, heads)):
        for index in sorted(set(of_layer.tolist()), key=lambda index: known[index].ms):
            members = np.flatnonzero(of_layer == index)
            kept_share = float(recalls[layer, members, index].mean())
            launches.append(Launch(layer, tuple(members.tolist()), known[index], kept_share))
    mean = float(units[np.arange(len(units)), chosen].mean())
    return Choice(tuple(launches), mean, float(costs[chosen].sum()))


def _hull(recalls: Floats, costs: Floats) -> list[int]:
    """Candidates on the upper hull of recall over cost, from the cheapest to the one that keeps most."""
    hull: list[int] = []
    for index in np.lexsort((-recalls, costs)):
        if hull and recalls[index] <= recalls[hull[-1]]:
            continue
        while len(hull) > 1:
            before, last = hull[-2:]
            rise = (recalls[last] - recalls[before]) * (costs[index] - costs[last])
            if rise > (recalls[index] - recalls[last]) * (costs[last] - costs[before]):
                break
            hull.pop()
        hull.append(int(index))
    return hull


def _chosen(units: Floats, costs: Floats, budget_ms: float | None, least_recall: float | None) -> npt.NDArray[np.int64]:
    """The candidate of each unit: steps up the hulls, the steepest first, until the wish ends them."""
    hulls = [_hull(recalls, costs) for recalls in units]
    chosen = np.array([hull[0] for hull in hulls])
    steps = []
    for unit, hull in enumerate(hulls):
        for number, (before, after) in enumerate(zip(hull, hull[1:])):
            rise, cost = units[unit, after] - units[unit, before], costs[after] - costs[before]
            steps.append((-rise / cost, unit, number, after, rise, cost))
    taken, kept_sum = float(costs[chosen].sum()), float(units[np.arange(len(units)), chosen].sum())
    if budget_ms is not None and taken > budget_ms * (1 + 1e-12):
        raise _refusal("budget_ms", budget_ms, f"{taken:g} or more, what the fastest candidate takes")
    wanted = math.inf if least_recall is None else least_recall * len(units)
    for _, unit, _, after, rise, cost in sorted(steps):
        if kept_sum >= wanted or (budget_ms is not None and taken + cost > budget_ms * (1 + 1e-12)):
            break
        chosen[unit], taken, kept_sum = after, taken + cost, kept_sum + rise
    if least_recall is not None and kept_sum < wanted * (1 - 1e-12):
        raise _refusal("least_recall", least_recall, f"{kept_sum / len(units):g} or less, what the candidates keep")
    return chosen
