"""Frozen views of JSON values: an object is a Record, an array a tuple."""

from __future__ import annotations

import copy
from collections.abc import ItemsView, Iterator, KeysView, Mapping
from typing import Any


class Record:
    """Members by attribute and by key; they cannot be set.

    A mapping, but for `values()`: some records have a member of that name.

    >>> record = Record({"name": "h200", "sms": 132})
    >>> record.sms, record["name"], len(record)
    (132, 'h200', 2)
    """

    __slots__ = ("_members",)
    _members: dict[str, Any]

    def __init__(self, members: Mapping[str, Any] | Record) -> None:
        plain = members._members if isinstance(members, Record) else members
        object.__setattr__(self, "_members", plain)

    def __getattr__(self, name: str) -> Any:
        try:
            return frozen(self._members[name])
        except KeyError:
            raise AttributeError(f"no member {name!r}; there are: {', '.join(self._members)}") from None

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"cannot set {name!r}: answers are frozen")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"cannot delete {name!r}: answers are frozen")

    def __getitem__(self, key: str) -> Any:
        return frozen(self._members[key])

    def __contains__(self, key: object) -> bool:
        return key in self._members

    def keys(self) -> KeysView[str]:
        """Names of the members.

        Returns:
            A view, in the program's order.
        """
        return self._members.keys()

    def items(self) -> ItemsView[str, Any]:
        """Names and values.

        Returns:
            A view of pairs, in the program's order.
        """
        return {name: frozen(value) for name, value in self._members.items()}.items()

    def __eq__(self, other: object) -> bool:
        return bool(self._members == (other._members if isinstance(other, Record) else other))

    def __iter__(self) -> Iterator[str]:
        return iter(self._members)

    def __len__(self) -> int:
        return len(self._members)

    def __dir__(self) -> list[str]:
        return [*object.__dir__(self), *self._members]

    def __hash__(self) -> int:
        return hash(tuple(self.items()))

    def __repr__(self) -> str:
        return f"Record({', '.join(f'{name}={value!r}' for name, value in self.items())})"

    def __reduce__(self) -> tuple[type[Record], tuple[dict[str, Any]]]:
        return type(self), (self._members,)

    def to_dict(self) -> dict[str, Any]:
        """The members as plain dicts and lists, as JSON has them.

        Returns:
            A copy, which may be changed.
        """
        return copy.deepcopy(self._members)

    def _repr_html_(self) -> str:
        from natten_sim._html import table

        return table(self)


class Candidate(Record):
    """A configuration that search() found; run() runs it."""

    __slots__ = ()

    def run(self, q: Any, k: Any, v: Any, **options: Any) -> Any:
        """The configuration on tensors, by this project's kernels.

        Args:
            q, k, v: (batch, axis, .., heads, head_dim), as natten_sim.ops.neighborhood_attention() takes them.
            options: Of the same function: causal where the search had it, scale, extra keys.

        Returns:
            O like q.

        Raises:
            HardwareAbsent: No sm_90 GPU, or no library.
            Error: The kernels do not take such tensors.

        Source:
            docs/ops.md.
        """
        from natten_sim import ops

        shape = {"stride": self.stride, "dilation": self.dilation if "dilation" in self else 1}
        return ops.neighborhood_attention(q, k, v, self.window, **{**shape, **options})


def frozen(value: Any) -> Any:
    """A dict as a record, a list as a tuple; what they hold is frozen when it is looked at."""
    if isinstance(value, dict):
        return Candidate(value) if "window" in value and "stride" in value and "q_tile" in value else Record(value)
    if isinstance(value, list):
        return tuple(frozen(element) for element in value)
    return value


# What an answer comes down to, by its type: paths of members, of which those that it has are shown.
_HEADLINES = {
    "Count": ("time_ms.total", "speedup_time", "speedup_mean", "speedup_worst", "sparsity", "visited_tiles",
              "dense_tiles", "partial_tiles"),
    "Search": ("candidates.0.window", "candidates.0.stride", "candidates.0.total_ms", "candidates.0.speedup_mean",
               "evaluated", "complete"),
    "Schedule": ("kernel.name", "kernel.deterministic.time_ms", "kernel.unordered.time_ms", "kernel.ratio",
                 "algorithm", "makespan", "lower_bound", "utilization", "deadlock"),
    "Mask": ("time_ms.total", "speedup_time", "visited_share", "visited_tiles", "full_tiles", "partial_tiles",
             "q_tile", "kv_tile"),
    "Advice": ("devices.0.device", "devices.0.choices.0.window", "devices.0.choices.0.stride",
               "devices.0.choices.0.total_ms", "devices.0.choices.0.speedup"),
}


def _member(value: Any, path: str) -> Any:
    """What stands at a path as `candidates.0.window`; None where there is nothing."""
    for name in path.split("."):
        if isinstance(value, tuple) and name.isdigit() and int(name) < len(value):
            value = value[int(name)]
        elif isinstance(value, Record) and name in value:
            value = value[name]
        else:
            return None
    return value


def _fastest(result: Any) -> Any:
    """Of several algorithms the one that ends first, of those with the same bits every time where there are any."""
    ended = [each for each in result["algorithms"] if each.makespan is not None] if "algorithms" in result else []
    return min([each for each in ended if each.ordered] or ended, key=lambda each: each.makespan, default=result)


def _plain(record: Record, before: str = "") -> dict[str, Any]:
    """Single values, those of the records within included."""
    found: dict[str, Any] = {}
    for name, value in record.items():
        if isinstance(value, Record):
            found.update(_plain(value, f"{before}{name}."))
        elif value is not None and not isinstance(value, tuple):
            found[before + name] = value
    return found


def _shown(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else repr(value)


def summary(answer: Any) -> str:
    """`Count(time_ms.total=78.4, speedup_time=3.32, ...)`: the headline, else the first single values."""
    result, name = answer.result, type(answer).__name__
    shown = _fastest(result) if name == "Schedule" else result
    members = {path: _member(shown, path) for path in _HEADLINES.get(name, ())}
    members = {path: value for path, value in members.items() if value is not None}
    if not members:
        members = dict(list(_plain(result).items())[:8])
    if not members:
        members = {key: f"<{len(value)}>" for key, value in result.items() if isinstance(value, tuple)}
    return f"{name}({', '.join(f'{path}={_shown(value)}' for path, value in members.items())}, ...)"


def asked_again(function: str, keywords: dict[str, Any], text: str) -> Any:
    """An answer that was pickled: the same question to this package.

    Args:
        function: Its name in natten_sim.
        keywords: As the caller gave them.
        text: The answer as JSON, which the new one has to be.

    Returns:
        An equal answer.

    Raises:
        ValueError: The new answer is another one: of another version, or of a list that was changed meanwhile.

    Source:
        docs/python.md.
    """
    from natten_sim import _core

    answer = getattr(_core, function)(**keywords)
    if answer.to_json() != text:
        raise ValueError(f"{function}() answers otherwise here than where the answer was pickled")
    return answer
