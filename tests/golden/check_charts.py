#!/usr/bin/env python3
"""Holds the charts of docs/ to their Vega-Lite specifications.

usage: check_charts.py ROOT            FILE.svg names the SHA-256 of FILE.vl.json, is titled, follows the scheme of the
                                       reader, loads nothing, and no axis is called "value"
       check_charts.py ROOT --render   each is rendered again and must be the same to the byte; needs the vl-convert of
                                       scripts/requirements-charts.txt, else exits with 77
"""
import importlib.metadata
import json
import os
import re
import sys
import xml.etree.ElementTree as ET
from typing import Any, Iterator

ROOT = os.path.abspath(sys.argv[1])
sys.path.insert(0, os.path.join(ROOT, "scripts"))
import render_charts  # noqa: E402

MOST_BYTES = 200_000
failures: list[str] = []


def check(holds: bool, what: str) -> None:
    if not holds:
        failures.append(what)


def axis_titles(part: Any) -> Iterator[str]:
    """Titles of x and y in a specification."""
    if isinstance(part, dict):
        for name, inner in part.items():
            if name in ("x", "y") and isinstance(inner, dict) and isinstance(inner.get("title"), str):
                yield inner["title"]
            yield from axis_titles(inner)
    elif isinstance(part, list):
        for inner in part:
            yield from axis_titles(inner)


def check_stored(path: str) -> None:
    name = os.path.relpath(path, ROOT)
    with open(path, "rb") as file:
        text = file.read()
    picture = path.removesuffix(".vl.json") + ".svg"
    if not os.path.exists(picture):
        check(False, f"{name} has no picture: run scripts/render_charts.py")
        return
    with open(picture, encoding="utf-8") as drawn:
        svg = drawn.read()
    check(f"SHA-256 {render_charts.specification_hash(text)}" in svg,
          f"{name} is another specification than its picture was rendered from: run scripts/render_charts.py")
    for title in axis_titles(json.loads(text)):
        check(title != "value" and title.strip() != "", f"{name}: an axis is called '{title}'")
    root = ET.fromstring(svg)
    first = next(iter(root))
    check(first.tag.endswith("title") and bool((first.text or "").strip()), f"{name}: its picture has no title")
    check("@media (prefers-color-scheme:dark)" in svg, f"{name}: its picture has no dark colours")
    check(re.search(r"<script|href=|@import|url\(|@font-face", svg) is None, f"{name}: its picture loads something")
    check("NaN" not in svg and "undefined" not in svg, f"{name}: its picture shows something undefined")
    check(root.attrib["font-family"].endswith("sans-serif"), f"{name}: its picture has no generic font")
    check(len(svg) <= MOST_BYTES, f"{name}: a picture of {len(svg)} bytes, at most {MOST_BYTES}")


def check_rendered(path: str) -> None:
    with open(path.removesuffix(".vl.json") + ".svg", encoding="utf-8") as file:
        check(file.read() == render_charts.rendered(path), f"{os.path.relpath(path, ROOT)} renders to another picture")


def main() -> int:
    again = "--render" in sys.argv
    if again:
        try:
            found = importlib.metadata.version("vl-convert-python")
        except importlib.metadata.PackageNotFoundError:
            found = ""
        wanted = render_charts.pinned_version()
        if found != wanted:
            print(f"skipped: vl-convert-python {wanted} is needed, {found or 'none'} is there")
            return 77
    specifications = render_charts.specifications()
    check(len(specifications) > 60, f"only {len(specifications)} specifications in docs/")
    for path in specifications:
        (check_rendered if again else check_stored)(path)
    print("\n".join(failures) or f"{len(specifications)} charts checked")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
