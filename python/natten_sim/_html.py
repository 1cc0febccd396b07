"""What notebooks show of an answer."""

from __future__ import annotations

import html
from typing import Any

from natten_sim._error import Error
from natten_sim._record import Record


def cell(value: Any) -> str:
    """A value as it stands in a table; records nest."""
    if isinstance(value, Record):
        return table(value)
    if isinstance(value, tuple) and value and isinstance(value[0], Record):
        return "".join(table(element) for element in value)
    if isinstance(value, tuple):
        return html.escape(" x ".join(str(element) for element in value))
    if isinstance(value, bool) or value is None or isinstance(value, str):
        return html.escape(str(value))
    return f"{value:,}" if isinstance(value, int) else f"{value:,.6g}"


def table(record: Record) -> str:
    """A row a member."""
    rows = (f"<tr><th>{html.escape(name)}</th><td>{cell(value)}</td></tr>" for name, value in record.items())
    return f"<table>{''.join(rows)}</table>"


def page(answer: Any) -> str:
    """The program's text for people, and all members below it."""
    text = html.escape(str(answer).rstrip("\n"))
    members = cell(answer.result)
    return f"<pre>{text}</pre><details><summary>{type(answer).__name__}: all members</summary>{members}</details>"


def picture(answer: Any) -> str | None:
    """The picture, where there is one that is not too large."""
    try:
        return str(answer.svg())
    except Error:
        return None
