#!/usr/bin/env python3
"""Renders the charts of docs/ from their Vega-Lite specifications: FILE.vl.json becomes FILE.svg.

usage: scripts/render_charts.py [FILE.vl.json ...]     (default: all of docs/)

Needs vl-convert, which carries Vega and needs no browser: pip install -r scripts/requirements-charts.txt. Each
specification is rendered twice, by its configuration and by that for dark pages (`usermeta.dark`); colours that differ
become classes of a style sheet that follows the reader. The SVG names the specification by its SHA-256, which the test
`charts` compares, and has no scripts, no fonts of its own and no links.
"""
import copy
import glob
import hashlib
import json
import os
import re
import sys
import xml.etree.ElementTree as ET
from typing import Any

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
REQUIREMENTS = os.path.join(ROOT, "scripts/requirements-charts.txt")
SVG = "{http://www.w3.org/2000/svg}"
FONTS = "system-ui,-apple-system,'Segoe UI',Roboto,Helvetica,Arial,sans-serif"
COLORS = ("fill", "stroke")
KEPT_DEFAULTS = {"opacity": "1", "stroke-width": "1", "stroke-opacity": "1", "fill-opacity": "1"}
DROPPED = {"class", "role", "aria-label", "aria-hidden", "aria-roledescription", "pointer-events", "font-family", "version"}


def specification_hash(text: bytes) -> str:
    return hashlib.sha256(text).hexdigest()


def pinned_version() -> str:
    """Of vl-convert-python, as the requirements have it."""
    with open(REQUIREMENTS, encoding="utf-8") as file:
        found = re.search(r"^vl-convert-python==(\S+)$", file.read(), re.MULTILINE)
    assert found, REQUIREMENTS
    return found.group(1)


def title_of(chart: Any) -> str:
    """The first title in the specification, and the line below it."""
    def line(text: Any) -> str:
        return " ".join(text) if isinstance(text, list) else str(text)

    if isinstance(chart, dict):
        title = chart.get("title")
        if isinstance(title, dict) and "text" in title:
            return ", ".join(line(title[part]) for part in ("text", "subtitle") if title.get(part))
        for part in ("concat", "vconcat", "hconcat"):
            for each in chart.get(part, []):
                found = title_of(each)
                if found:
                    return found
    return ""


def shortened(text: str) -> str:
    """Numbers with at most two decimals."""
    def short(number: re.Match[str]) -> str:
        rounded = f"{float(number.group()):.2f}".rstrip("0").rstrip(".")
        return "0" if rounded in ("-0", "") else rounded

    return re.sub(r"-?\d+\.\d+(e-?\d+)?", short, text)


class Merger:
    """One tree of two that differ in colours alone."""

    def __init__(self) -> None:
        self.rules: dict[tuple[str, str, str], str] = {}

    def color(self, name: str, light: str, dark: str) -> str:
        """The class of a colour: the same name in every picture, so that several stand on one page."""
        return self.rules.setdefault((name, light, dark), f"{name[0]}{light.strip('#')}-{dark.strip('#')}")

    def merged(self, light: ET.Element, dark: ET.Element) -> ET.Element:
        if light.tag != dark.tag or len(light) != len(dark) or light.text != dark.text:
            raise ValueError("the light and the dark picture differ in more than colours")
        result = ET.Element(light.tag.removeprefix(SVG))
        result.text = light.text
        classes = []
        for name, value in light.attrib.items():
            other = dark.attrib[name]
            if name in COLORS and value not in ("none", "transparent"):
                classes.append(self.color(name, value, other))
            elif value != other:
                raise ValueError(f"{name} is {value} and {other}")
            elif name == "font-size":
                result.set(name, value.removesuffix("px"))
            elif name in ("transform", "d", "x", "y", "x2", "y2", "width", "height"):
                result.set(name, shortened(value))
            elif name not in DROPPED and KEPT_DEFAULTS.get(name) != value:
                result.set(name, "none" if value == "transparent" else value)
        if classes:
            result.set("class", " ".join(classes))
        if result.get("transform") == "translate(0,0)":
            del result.attrib["transform"]
        for one, two in zip(light, dark):
            child = self.merged(one, two)
            if child.tag == "g" and not child.attrib:
                result.extend(child)
            elif is_seen(child):
                result.append(child)
        return result


def is_seen(element: ET.Element) -> bool:
    if element.get("display") == "none":
        return False
    if element.tag == "g":
        return len(element) > 0
    if element.tag == "path":
        return element.get("d", "") not in ("", "M0,0h0v0h0Z") and ("class" in element.attrib or "stroke" in element.attrib)
    return element.tag != "text" or bool(element.text) or len(element) > 0


def document(light: str, dark: str, title: str, origin: str) -> str:
    """The merged picture as text, an element a line."""
    merger = Merger()
    root = merger.merged(ET.fromstring(light), ET.fromstring(dark))
    rules = {scheme: "".join(f".{name}{{{key[0]}:{key[1 + at]}}}" for key, name in merger.rules.items())
             for at, scheme in enumerate(("light", "dark"))}
    root.attrib = {"xmlns": "http://www.w3.org/2000/svg", "width": root.attrib["width"], "height": root.attrib["height"],
                   "viewBox": root.attrib["viewBox"], "role": "img", "font-family": FONTS}
    style = ET.Element("style")
    style.text = f"\n{rules['light']}\n@media (prefers-color-scheme:dark){{\n{rules['dark']}\n}}\n"
    name = ET.Element("title")
    name.text = title
    root[0:0] = [name, style]
    text = ET.tostring(root, encoding="unicode")
    return re.sub(r"(?<=>)(?=<(?!/?t(ext|span)))", "\n", text).replace("<title>", f"<!-- {origin} -->\n<title>", 1) + "\n"


def rendered(path: str) -> str:
    """The SVG of a specification. Needs vl-convert."""
    import vl_convert  # type: ignore[import-not-found, unused-ignore]

    with open(path, "rb") as file:
        text = file.read()
    light = json.loads(text)
    dark = copy.deepcopy(light)
    dark["config"] = light["usermeta"]["dark"]
    light_svg, dark_svg = (str(vl_convert.vegalite_to_svg(each, vl_version="6.4")) for each in (light, dark))
    origin = (f"Rendered by scripts/render_charts.py with vl-convert {pinned_version()} from {os.path.basename(path)}, "
              f"SHA-256 {specification_hash(text)}")
    return document(light_svg, dark_svg, title_of(light), origin)


def specifications() -> list[str]:
    return sorted(glob.glob(os.path.join(ROOT, "docs/**/*.vl.json"), recursive=True))


def main() -> int:
    if any(argument in ("-h", "--help") for argument in sys.argv[1:]):
        print(__doc__)
        return 0
    for path in sys.argv[1:] or specifications():
        picture = path.removesuffix(".vl.json") + ".svg"
        with open(picture, "w", encoding="utf-8") as file:
            file.write(rendered(path))
        print(picture)
    return 0


if __name__ == "__main__":
    sys.exit(main())
