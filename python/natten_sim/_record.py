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


def frozen(value: Any) -> Any:
    """A dict as a record, a list as a tuple; what they hold is frozen when it is looked at."""
    if isinstance(value, dict):
        return Record(value)
    if isinstance(value, list):
        return tuple(frozen(element) for element in value)
    return value


def summary(answer: Any) -> str:
    """`Count(q_tiles=480, ...)`: the members that are single values, up to eight of them."""
    result = answer.result
    name = type(answer).__name__
    plain = [(key, value) for key, value in result.items() if not isinstance(value, (Record, tuple))]
    members = [f"{key}={value!r}" for key, value in plain[:8]]
    return f"{name}({', '.join(members + (['...'] if len(result) > 8 else []))})"
