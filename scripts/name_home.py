#!/usr/bin/env python3
"""name_home.py URL REF [--root FOLDER]: makes what a package index shows independent of this folder.

URL is the repository's page, as https://github.com/OWNER/NAME, and REF the tag or commit of the release. Links and pictures
of README.md become absolute, and pyproject.toml gets the addresses of the project. It changes both files where they lie:
a release runs it in its own checkout, before it builds (.github/workflows/release.yml).
"""
import argparse
import re
from pathlib import Path

# Of the target: neither an address nor a place on the same page.
RELATIVE = re.compile(r"(!?)\[([^\]]*)\]\((?!https?://|#)([^)]+)\)")


def with_absolute_links(text: str, url: str, ref: str) -> str:
    def absolute(link: re.Match[str]) -> str:
        kind = "raw" if link[1] else "blob"
        return f"{link[1]}[{link[2]}]({url}/{kind}/{ref}/{link[3]})"

    return RELATIVE.sub(absolute, text)


def with_urls(text: str, url: str, ref: str) -> str:
    pages = {"Repository": url, "Documentation": f"{url}/tree/{ref}/docs", "Changelog": f"{url}/blob/{ref}/CHANGELOG.md",
             "Issues": f"{url}/issues"}
    lines = "".join(f'{name} = "{page}"\n' for name, page in pages.items())
    return text.replace("[project.optional-dependencies]\n", f"[project.urls]\n{lines}\n[project.optional-dependencies]\n", 1)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("url")
    parser.add_argument("ref")
    parser.add_argument("--root", type=Path, default=Path(__file__).resolve().parent.parent)
    asked = parser.parse_args()
    for name, change in (("README.md", with_absolute_links), ("pyproject.toml", with_urls)):
        file = asked.root / name
        file.write_text(change(file.read_text(), asked.url.rstrip("/"), asked.ref))


if __name__ == "__main__":
    main()
