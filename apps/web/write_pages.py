#!/usr/bin/env python3
"""Writes the pages of the classroom: what all of them share stands once, in page.html and here.

usage: write_pages.py MODULE.js OUTPUT_FOLDER

A page is pages/NAME.html, and NAME.js where it asks the library. Its first line says its place in the navigation and
its name there: <!-- page 2: Schedules -->. Then its heading, and a list of what to notice.
"""
import pathlib
import re
import shutil
import sys

HERE = pathlib.Path(__file__).resolve().parent
FIRST_LINE = re.compile(r"<!-- page (\d+): (.+) -->\n")
BENCH = """<div class="notice"><strong>What to notice</strong>{notice}</div>
<div class="bench">
<form class="controls" aria-label="Settings" onsubmit="return false"><div class="presets" id="presets" aria-label="Presets"></div><div id="controls"></div></form>
<section class="result" id="result" aria-live="off"><p>Loading the library…</p></section>
</div>
<h2>Exercises</h2>
<ol class="exercises" id="exercises"></ol>
"""


class Page:
    def __init__(self, path):
        text = path.read_text(encoding="utf-8")
        first = FIRST_LINE.match(text)
        if not first:
            raise SystemExit(f"{path}: its first line is not <!-- page NUMBER: NAME -->")
        self.place, self.title, self.name = int(first[1]), first[2], path.stem
        self.body = text[first.end():]
        self.plays = path.with_suffix(".js").exists()
        self.heading = re.search(r"<h1>(.*?)</h1>", self.body)[1]


def link(page, current):
    mark = ' aria-current="page"' if page is current else ""
    return f'<a href="{page.name}.html"{mark}>{page.title}</a>\n'


def main_part(page, pages):
    if page.plays:
        notice = page.body.index("<ul>")
        return page.body[:notice] + BENCH.format(notice=page.body[notice:].strip())
    cards = "".join(f'<li><h2><a href="{each.name}.html">{each.title}</a></h2><p>{each.heading}</p></li>\n'
                    for each in pages if each.plays)
    return f'{page.body}<ul class="cards">\n{cards}</ul>\n'


def written(page, pages, template):
    scripts = ["natten-sim-web.js", "classroom.js", f"{page.name}.js"] if page.plays else []
    parts = {
        "title": page.title,
        "scripts": "".join(f'<script defer src="{each}"></script>\n' for each in scripts),
        "links": "".join(link(each, page) for each in pages),
        "main": main_part(page, pages),
        "footer": "The link in the address bar keeps the state." if page.plays else "A page’s link keeps its state.",
    }
    return re.sub(r"\{(\w+)\}", lambda name: parts[name[1]], template)


def main():
    if len(sys.argv) != 3:
        print(__doc__.strip(), file=sys.stderr)
        return 2
    module, output = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    output.mkdir(parents=True, exist_ok=True)
    template = (HERE / "page.html").read_text(encoding="utf-8")
    pages = sorted((Page(path) for path in HERE.glob("pages/*.html")), key=lambda page: page.place)
    for page in pages:
        (output / f"{page.name}.html").write_text(written(page, pages, template), encoding="utf-8")
    for path in [*HERE.glob("pages/*.js"), *HERE.glob("pages/*.css"), module]:
        shutil.copyfile(path, output / path.name)
    return 0


if __name__ == "__main__":
    sys.exit(main())
