#!/usr/bin/env python3
"""Holds the charts of docs/ to their Vega-Lite specifications.

usage: check_charts.py ROOT            FILE.svg names the SHA-256 of FILE.vl.json, is titled, follows the scheme of the
                                       reader, loads nothing, and no axis is called "value"
       check_charts.py ROOT --render   each is rendered again and must be the same to the byte; needs the vl-convert of
                                       scripts/requirements-charts.txt, else exits with 77
"""
import collections
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


def colored_cells(part: Any, colors: dict[str, str], data: Any = None) -> Iterator[str]:
    """The colour of each cell that a specification fills by a name in its data."""
    if not isinstance(part, dict):
        return
    data = part.get("data", data)
    mark, fill = part.get("mark"), part.get("encoding", {}).get("fill", {})
    if isinstance(mark, dict) and mark.get("type") == "rect" and "scale" in fill:
        for row in data["values"]:
            yield colors[row[fill["field"]]]
    for inner in ("layer", "hconcat", "vconcat", "concat"):
        for each in part.get(inner, []):
            yield from colored_cells(each, colors, data)


def check_colors(name: str, chart: Any, svg: str, root: ET.Element) -> None:
    """As many cells of each colour as the specification has."""
    wanted = collections.Counter(colored_cells(chart, {each["name"]: each["value"] for each in chart["config"]["params"]}))
    if not wanted:
        return
    light = dict(re.findall(r"\.(f\w+-\w+){fill:(#\w+)}", svg.split("@media")[0]))
    drawn = collections.Counter(light.get(each.get("class", "")) for each in root.iter("{http://www.w3.org/2000/svg}path"))
    for color, cells in wanted.items():
        check(drawn[color] == cells, f"{name}: {cells} cells are {color}, {drawn[color]} are drawn so")


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
    chart = json.loads(text)
    for title in axis_titles(chart):
        check(title != "value" and title.strip() != "", f"{name}: an axis is called '{title}'")
    root = ET.fromstring(svg)
    check_colors(name, chart, svg, root)
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
