#!/usr/bin/env python3
"""Puts pictures on one sheet, as readers see them: to review by eye what the program draws.

usage: scripts/contact_sheet.py OUT_FOLDER [PICTURE.svg ...]     (default: docs/*.svg)

Writes sheet-light, sheet-dark, sheet-deuteranopia and sheet-dark-deuteranopia to OUT_FOLDER, each as HTML and, where
chromium, google-chrome or rsvg-convert is on PATH, as PNGs of at most 12 pictures. Deuteranopia is simulated as in
tests/unit/report/draw_palette_test.cpp (Machado, Oliveira and Fernandes 2009, severity 1, on linear RGB).
"""
import glob
import html
import os
import re
import shutil
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
DEUTERANOPIA = ("0.367322 0.860646 -0.227968 0 0  0.280085 0.672501 0.047413 0 0  "
                "-0.011820 0.042940 0.968881 0 0  0 0 0 1 0")
PICTURES_A_SHEET, COLUMNS, WIDTH, HEIGHT = 12, 3, 2100, 2400


def sheet(pictures, dark, deuteranopia):
    figures = "".join(f'<figure><img src="file://{os.path.abspath(path)}"/><figcaption>{html.escape(os.path.basename(path))}'
                      "</figcaption></figure>\n" for path in pictures)
    ground, ink = ("#161a1f", "#e8eaed") if dark else ("#ffffff", "#1b1f24")
    seen = "filter:url(#deuteranopia);" if deuteranopia else ""
    return (f'<html style="color-scheme:{"dark" if dark else "light"}"><meta charset="utf-8"/><style>'
            f"body{{margin:6px;background:{ground};color:{ink};font:13px sans-serif}}main{{{seen}column-count:{COLUMNS};column-gap:8px}}"
            "figure{margin:0 0 10px;break-inside:avoid}img{max-width:100%;max-height:1100px}</style>"
            '<svg width="0" height="0"><filter id="deuteranopia" color-interpolation-filters="linearRGB">'
            f'<feColorMatrix values="{DEUTERANOPIA}"/></filter></svg><main>\n{figures}</main></html>\n')


def screenshot(browser, page, dark):
    command = [browser, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", f"--window-size={WIDTH},{HEIGHT}",
               f"--screenshot={page[:-5]}.png", f"--blink-settings=preferredColorScheme={0 if dark else 1}", f"file://{page}"]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=180)


def svg_sheet(pictures, dark, deuteranopia):
    """The same sheet as one SVG: columns that are filled one after the other, for converters without HTML."""
    column = (WIDTH - 8 * (COLUMNS + 1)) // COLUMNS
    heights = [8] * COLUMNS
    parts = []
    for path in pictures:
        with open(path, encoding="utf-8") as file:
            text = file.read()
        if dark:  # such converters pass over the rules of a preference
            text = re.sub(r"@media \(prefers-color-scheme:dark\)\{\n(.*?\n)\}\n", r"\1", text, flags=re.DOTALL)
        width, height = (float(re.search(rf'<svg[^>]* {side}="([0-9.]+)"', text).group(1)) for side in ("width", "height"))
        scale = min(1.0, column / width)
        at = heights.index(min(heights))
        place = f'x="{8 + at * (column + 8)}" y="{heights[at]}" width="{width * scale:.0f}" height="{height * scale:.0f}"'
        parts.append(re.sub(r'width="[0-9.]+" height="[0-9.]+"', place, text, count=1))
        heights[at] += int(height * scale) + 30
        parts.append(f'<text x="{8 + at * (column + 8)}" y="{heights[at] - 14}" font-size="13" fill="{"#e8eaed" if dark else "#1b1f24"}">'
                     f"{html.escape(os.path.basename(path))}</text>")
    body = "\n".join(parts)
    seen = ' filter="url(#deuteranopia)"' if deuteranopia else ""
    return (f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{max(heights)}" font-family="sans-serif">'
            '<filter id="deuteranopia" color-interpolation-filters="linearRGB" x="0" y="0" width="1" height="1">'
            f'<feColorMatrix values="{DEUTERANOPIA}"/></filter><g{seen}>'
            f'<rect width="{WIDTH}" height="{max(heights)}" fill="{"#161a1f" if dark else "#ffffff"}"/>{body}</g></svg>\n')


def convert(page, text):
    with open(f"{page[:-5]}.svg", "w", encoding="utf-8") as file:
        file.write(text)
    subprocess.run(["rsvg-convert", f"{page[:-5]}.svg", "-o", f"{page[:-5]}.png"], check=True, timeout=180)


def main():
    if len(sys.argv) < 2 or sys.argv[1] in ("-h", "--help"):
        print(__doc__)
        return 2 if len(sys.argv) < 2 else 0
    folder = os.path.abspath(sys.argv[1])
    os.makedirs(folder, exist_ok=True)
    pictures = sys.argv[2:] or sorted(glob.glob(f"{ROOT}/docs/*.svg"))
    browser = next((path for path in map(shutil.which, ("chromium", "chromium-browser", "google-chrome")) if path), None)
    converter = shutil.which("rsvg-convert")
    for dark in (False, True):
        for deuteranopia in (False, True):
            name = "sheet-" + "-".join(part for part, on in (("dark", dark), ("light", not dark and not deuteranopia),
                                                           ("deuteranopia", deuteranopia)) if on)
            for first in range(0, len(pictures), PICTURES_A_SHEET):
                page = f"{folder}/{name}-{first // PICTURES_A_SHEET + 1}.html"
                with open(page, "w", encoding="utf-8") as file:
                    file.write(sheet(pictures[first:first + PICTURES_A_SHEET], dark, deuteranopia))
                if browser:
                    screenshot(browser, page, dark)
                elif converter:
                    convert(page, svg_sheet(pictures[first:first + PICTURES_A_SHEET], dark, deuteranopia))
                print(page)
    if not browser and not converter:
        print("no chromium on PATH: open the pages in a browser", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
