"""Writes natten_sim/_members.pyi: the members of answers, their types and meanings, for checkers and editors.

    python member_types.py FILE

Everything comes from the descriptions of answers, as JSON Schemas: natten_sim._core._answer_schemas().
"""

import json
import keyword
import pathlib
import sys
from collections.abc import Iterator
from typing import Any

from natten_sim import _core

PLAIN = {"boolean": "bool", "integer": "int", "number": "float", "string": "str", "null": "None"}
ORDER = ["bool", "int", "float", "str"]
Schema = dict[str, Any]


def union(kinds: set[str]) -> str:
    """Types as an annotation."""
    kinds = kinds - {"int"} if "float" in kinds else kinds
    plain = [kind for kind in ORDER if kind in kinds]
    return " | ".join([*plain, *sorted(kinds - set(ORDER) - {"None"}), *(["None"] if "None" in kinds else [])]) or "Any"


def singular(name: str) -> str:
    """remedies: remedy; rows: row."""
    return f"{name[:-3]}y" if name.endswith("ies") else name.removesuffix("s")


def camel(name: str) -> str:
    """time_ms: TimeMs."""
    return "".join(f"{word[:1].upper()}{word[1:]}" for word in name.split("_"))


class Types:
    """Classes by their members. Objects that are described alike are one class."""

    def __init__(self) -> None:
        self.classes: dict[str, dict[str, tuple[str, str]]] = {}
        self.names: dict[str, str] = {}

    def kinds(self, owner: str, member: str, schema: Schema) -> set[str]:
        if "anyOf" in schema:
            return set[str]().union(*(self.kinds(owner, member, each) for each in schema["anyOf"]))
        types = schema.get("type", [])
        found = set()
        for kind in [types] if isinstance(types, str) else types:
            if kind == "array":
                found.add(f"tuple[{union(self.kinds(owner, singular(member), schema.get('items', {})))}, ...]")
            elif kind == "object":
                found.add(self.record(owner, member, schema) if "properties" in schema else "Record")
            else:
                found.add(PLAIN[kind])
        return found

    def record(self, owner: str, member: str, schema: Schema, name: str = "") -> str:
        alike = json.dumps(schema["properties"])
        if not name and alike in self.names:
            return self.names[alike]
        own, owned = camel(member), f"{owner.removesuffix('Members')}{camel(member)}"
        name = name or next(one for one in [own, owned, *(f"{owned}{k}" for k in range(2, 99))] if one not in self.classes)
        self.names.setdefault(alike, name)
        self.classes[name] = {}
        self.classes[name] = {one: (union(self.kinds(name, one, each)), each.get("description", ""))
                              for one, each in schema["properties"].items()}
        return name


def text(types: Types, answers: list[str]) -> Iterator[str]:
    yield '"""Members of answers and their types, as they are described. At run time all are Records.'
    yield 'Some members are there only where they were asked for: docs/cli.md says which.\n"""\n'
    yield "from typing import Any, Final\n\nfrom natten_sim._record import Record\n"
    for name, members in types.classes.items():
        yield f"class {name}:" if name.endswith("Members") else f"class {name}(Record):"
        for member, (kind, meaning) in members.items():
            if member in ("items", "keys") or keyword.iskeyword(member):
                continue
            yield f"    {member}: Final[{kind}]"
            if meaning:
                yield f"    {json.dumps(meaning, ensure_ascii=False)}"
        yield "" if members else "    ...\n"
    for answer in answers:
        yield f"class {answer}Result({answer}Members, Record): ...\n"
        yield f"class {answer}Answer({answer}Members):"
        yield f"    @property\n    def input(self) -> {answer}Input: ..."
        yield f"    @property\n    def result(self) -> {answer}Result: ...\n"


def main() -> None:
    schemas = json.loads(_core._answer_schemas())
    types = Types()
    for answer, parts in schemas["answers"].items():
        types.record("", answer, parts["result"], f"{answer}Members")
        types.record("", answer, parts["input"], f"{answer}Input")
    for table, entry in schemas["entries"].items():
        types.record("", table, entry, f"{camel(singular(table))}Entry")
    lines = "\n".join(line.rstrip() for line in text(types, list(schemas["answers"])))
    pathlib.Path(sys.argv[1]).write_text(lines.rstrip() + "\n")


if __name__ == "__main__":
    main()
