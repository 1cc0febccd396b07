"""The README's snippet, the docstrings' examples and the types are right."""

from __future__ import annotations

import doctest
import importlib
import importlib.util
import os
import pathlib
import pkgutil
import re
import shutil
import subprocess
import sys
import tomllib

import natten_sim
import pytest
from conftest import ABSENT, FAKES


def modules() -> list[str]:
    """The operators need PyTorch itself."""
    apart = {"_core", *(["ops"] if "torch" in ABSENT else [])}
    return ["natten_sim", *(f"natten_sim.{module.name}" for module in pkgutil.iter_modules(natten_sim.__path__)
                            if module.name not in apart)]


@pytest.mark.parametrize("name", modules())
def test_examples_of_docstrings_run(name: str) -> None:
    failures, _ = doctest.testmod(importlib.import_module(name), optionflags=doctest.NORMALIZE_WHITESPACE)
    assert failures == 0


def test_the_readmes_snippet_prints_what_it_says(root: pathlib.Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = (root / "README.md").read_text()
    snippet = re.search(r"^```python\n(import natten_sim\n.*?)^```\n", text, re.DOTALL | re.MULTILINE)
    assert snippet
    exec(snippet[1], {})
    said = re.findall(r"print\(.*?\)  # (.*)", snippet[1])
    assert said and capsys.readouterr().out.splitlines() == said


def test_the_autotuner_tutorial_prints_what_it_says(root: pathlib.Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = (root / "docs" / "tutorial-autotuner.md").read_text()
    snippets = re.findall(r"^```python\n(.*?)^```\n", text, re.DOTALL | re.MULTILINE)
    names: dict[str, object] = {}
    for snippet in snippets:
        exec(snippet, names)
    said = re.findall(r"print\(.*?\)  # (.*)", "".join(snippets))
    assert len(said) == 8 and capsys.readouterr().out.splitlines() == said


@pytest.mark.parametrize("example", ["autotuner_hooks", "flash4_tensors", "natten_call", "recall_windows"])
def test_the_page_has_the_output_of_an_example(root: pathlib.Path, example: str) -> None:
    """Line by line, but for whether the partner is here."""
    page = (root / "docs" / "python-bridges.md").read_text()
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([os.environ.get("PYTHONPATH", ""), *map(str, [FAKES] if ABSENT else [])])}
    command = [sys.executable, str(root / "python" / "examples" / f"{example}.py"), *(["cpu"] if example == "flash4_tensors" else [])]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    lines = [line for line in done.stdout.splitlines() if not line.startswith(("not run", "output"))]
    assert lines and "\n".join(lines) in page


def test_types_pass_the_strict_checker(root: pathlib.Path, tmp_path: pathlib.Path) -> None:
    package = tmp_path / "natten_sim"  # away from other packages, which the checker would check too
    shutil.copytree(pathlib.Path(natten_sim.__file__).parent, package)
    assert (package / "py.typed").exists() and (package / "_core.pyi").exists()
    targets = [str(package), str(root / "python" / "tests"), str(root / "scripts" / "timing")]
    targets += [str(folder) for name in ("examples", "notebooks", "partners") if (folder := root / "python" / name).exists()]
    command = [sys.executable, "-m", "mypy", "--config-file", str(root / "pyproject.toml"), *targets]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr


def test_importing_needs_neither_numpy_nor_a_second() -> None:
    code = "import sys, natten_sim; print('numpy' in sys.modules, 'torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "False"]


def test_the_site_builds_and_its_links_lead_somewhere(root: pathlib.Path, tmp_path: pathlib.Path) -> None:
    if importlib.util.find_spec("mkdocs") is None:
        pytest.skip("mkdocs-material is not installed")
    command = ["bash", str(root / "scripts" / "build_site.sh"), str(tmp_path)]
    environment = {**os.environ, "PYTHON": sys.executable}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 0, done.stdout + done.stderr
    page = (tmp_path / "api" / "index.html").read_text()
    missing = [name for name in dir(natten_sim) if callable(getattr(natten_sim, name)) and name[0].islower()
               and name not in page and name not in ("tile_tables", "sequence_tables")]
    assert not missing


def test_a_package_index_shows_absolute_links_and_who_wrote_it(root: pathlib.Path, tmp_path: pathlib.Path) -> None:
    for name in ("README.md", "pyproject.toml"):
        shutil.copy(root / name, tmp_path)
    home = "https://example.org/owner/natten-sim"
    subprocess.run([sys.executable, root / "scripts" / "name_home.py", home, "v0.1.0", "--root", tmp_path], check=True)
    links = re.findall(r"\]\(([^)]*)\)", (tmp_path / "README.md").read_text())
    assert f"{home}/blob/v0.1.0/docs/tour.md" in links and f"{home}/raw/v0.1.0/docs/hunyuan-q-tile.svg" in links
    assert all(link.startswith(("https://", "#")) for link in links)
    project = tomllib.loads((tmp_path / "pyproject.toml").read_text())["project"]
    assert project["urls"]["Repository"] == home
    citation = (root / "CITATION.cff").read_text()
    assert project["keywords"] == re.findall("  - (.*)", citation.split("keywords:")[1].split("references:")[0])
    assert all(f"name: {author['name']}" in citation for author in project["authors"])
