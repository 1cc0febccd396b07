"""Frozen views of JSON values: an object is a Record, an array a tuple."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any


class Record(Mapping[str, Any]):
    """Members by attribute and by key; they cannot be set.

    >>> record = Record({"name": "h200", "sms": 132})
    >>> record.sms, record["name"], len(record)
    (132, 'h200', 2)
    """

    __slots__ = ("_members",)
    _members: dict[str, Any]

    def __init__(self, members: Mapping[str, Any]) -> None:
        object.__setattr__(self, "_members", dict(members))

    def __getattr__(self, name: str) -> Any:
        try:
            return self._members[name]
        except KeyError:
            raise AttributeError(f"no member {name!r}; there are: {', '.join(self._members)}") from None

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"cannot set {name!r}: answers are frozen")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"cannot delete {name!r}: answers are frozen")

    def __getitem__(self, key: str) -> Any:
        return self._members[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._members)

    def __len__(self) -> int:
        return len(self._members)

    def __dir__(self) -> list[str]:
        return [*object.__dir__(self), *self._members]

    def __hash__(self) -> int:
        return hash(tuple(self._members.items()))

    def __repr__(self) -> str:
        return f"Record({', '.join(f'{name}={value!r}' for name, value in self._members.items())})"

    def __reduce__(self) -> tuple[type[Record], tuple[dict[str, Any]]]:
        return Record, (self._members,)

    def to_dict(self) -> dict[str, Any]:
        """The members as plain dicts and lists, as JSON has them."""
        return {name: thawed(value) for name, value in self._members.items()}

    def _repr_html_(self) -> str:
        from natten_sim._html import table

        return table(self)


def frozen(value: Any) -> Any:
    """Dicts as records and lists as tuples, at every depth."""
    if isinstance(value, dict):
        return Record({name: frozen(member) for name, member in value.items()})
    if isinstance(value, list):
        return tuple(frozen(element) for element in value)
    return value


def thawed(value: Any) -> Any:
    """The reverse of `frozen`."""
    if isinstance(value, Record):
        return value.to_dict()
    if isinstance(value, tuple):
        return [thawed(element) for element in value]
    return value


def summary(answer: Any) -> str:
    """`Count(q_tiles=480, ...)`: the members that are single values, up to eight of them."""
    result = answer.result
    name = type(answer).__name__
    if not isinstance(result, Record):
        return f"{name}({len(result)} results)"
    plain = [(key, value) for key, value in result.items() if not isinstance(value, (Record, tuple))]
    members = [f"{key}={value!r}" for key, value in plain[:8]]
    return f"{name}({', '.join(members + (['...'] if len(result) > 8 else []))})"
