"""Every public function and method is called by a test; those that no other test calls, here."""

from __future__ import annotations

import ast
import importlib
import inspect
import json
import pathlib
from collections.abc import Iterator
from typing import Any

import natten_sim
import numpy as np
import pytest
from conftest import Program

MODULES = ("natten_sim", *(f"natten_sim.{name}" for name in ("flash4", "flex", "helion", "natten", "recall", "record_attention", "triton")))


def public(module: str) -> Iterator[tuple[str, str]]:
    """Functions of a module that are its own, and methods of its classes."""
    for name, member in vars(importlib.import_module(module)).items():
        own = getattr(member, "__module__", "") in (module, "natten_sim._core") or module == "natten_sim"
        if name.startswith("_") or inspect.ismodule(member) or not callable(member) or not own:
            continue
        if not inspect.isclass(member):
            yield f"{module}.{name}", name
        elif getattr(member, "__module__", "").startswith("natten_sim"):
            for inner, method in vars(member).items():
                if not inner.startswith("_") and callable(method):
                    yield f"{module}.{name}.{inner}", inner


def called() -> set[str]:
    """Names of whatever tests call, and texts, which some look functions up by."""
    names = set()
    for file in pathlib.Path(__file__).parent.glob("test_*.py"):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.Attribute):
                names.add(node.attr)
            elif isinstance(node, ast.Constant) and isinstance(node.value, str) and file.name != pathlib.Path(__file__).name:
                names.add(node.value)
    return names


def test_every_public_function_is_called_by_a_test() -> None:
    known = called()
    functions = {full: name for module in MODULES for full, name in public(module)}
    assert len(functions) > 60
    assert [full for full, name in functions.items() if name not in known] == []


def test_devices_are_those_that_the_program_lists(program: Program, root: pathlib.Path) -> None:
    listed = {row["name"] for row in json.loads(program.text("list devices"))["result"]["devices"]}
    assert {device.name for device in natten_sim.devices()} == listed
    mine = json.loads((root / "data" / "devices" / "h200.json").read_text())
    mine["devices"][0]["name"] = "mine"
    assert {device.name for device in natten_sim.Catalog(device_file=mine).devices()} == {*listed, "mine"}
    device = next(device for device in natten_sim.devices() if device.name == "h200")
    assert sorted(device.keys()) == sorted(name for name, _ in device.items())


def test_frames_of_either_library_have_the_table() -> None:
    answer = natten_sim.count(input=(64, 64), window=(8, 8))
    for name in ("pandas", "polars"):
        try:
            importlib.import_module(name)
        except ImportError:
            with pytest.raises(ImportError, match=name):
                getattr(answer, f"to_{name}")()
    pytest.importorskip("pandas")
    pytest.importorskip("polars")
    assert answer.to_pandas()["visited_tiles"][0] == answer.to_polars()["visited_tiles"][0] == answer.visited_tiles


def test_blocks_that_the_kernel_cannot_take_are_refused_with_the_nearest() -> None:
    plan = natten_sim.flex.plan(mask="causal", seqlen_q=1024, q_tile=256, kv_tile=128)
    natten_sim.flash4.require_blocks(plan, q_stage=2)
    with pytest.raises(natten_sim.Error) as raised:
        natten_sim.flash4.require_blocks(plan, tile_m=192, q_stage=2)
    assert (raised.value.parameter, raised.value.value, raised.value.hint) == ("q_tile", "256", "384")
    with pytest.raises(natten_sim.Error) as raised:
        natten_sim.flash4.require_blocks(plan, tile_n=96, q_stage=1)
    assert (raised.value.parameter, raised.value.hint) == ("kv_tile", "96")


def test_tables_of_tiles_are_the_counted_tiles() -> None:
    asked: dict[str, Any] = {"input": (12, 20), "window": (5, 8), "q_tile": (4, 4), "kv_tile": (2, 4)}
    tables, counted = natten_sim.tile_tables(**asked), natten_sim.count(**asked)
    assert (len(tables["of_q"]["columns"]), int(np.sum(tables["of_q"]["full"]))) == (counted.visited_tiles, counted.full_tiles)
    # Queries 0..3 see some of the keys 0..3, queries 4..7 all of these and some of the keys 4..7.
    sequence = natten_sim.sequence_tables("causal", 8, 8, 4, 2)
    assert [list(map(int, sequence["of_q"][name])) for name in ("offsets", "columns", "full")] == [
        [0, 2, 6], [0, 1, 0, 1, 2, 3], [0, 0, 1, 1, 0, 0]]
