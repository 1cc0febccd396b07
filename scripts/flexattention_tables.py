"""Points of a suite of FlexAttention and the tables of visited blocks that natten-sim writes for them.

Needs no GPU. time_flexattention.py times the points with these tables.
"""

import gzip
import itertools
import json
import math
import subprocess

DEFAULTS = {"head_dim": 128, "dtype": "bf16", "heads": 1}
KEYS = ["kernel", "heads", "head_dim", "dtype", "input", "window", "stride", "dilation", "causal", "q_tile", "kv_tile",
        "pass"]


def sizes(text):
    return [int(word) for word in text.split("x")]


def points_of(suite):
    """All combinations of each sweep's lists, with every parameter filled in."""
    for sweep in suite["sweeps"]:
        values = [value if isinstance(value, list) else [value] for value in sweep.values()]
        for chosen in itertools.product(*values):
            point = {**DEFAULTS, **dict(zip(sweep.keys(), chosen))}
            ones = "x".join("1" for _ in sizes(point["input"]))
            point.setdefault("stride", ones)
            point.setdefault("dilation", ones)
            point.setdefault("causal", ones.replace("1", "0"))
            point.setdefault("pass", "forward")
            keys = ["kernel", "runs", "batch", "heads", "heads_kv"] + KEYS[2:] if "runs" in point else KEYS
            yield {key: point[key] for key in keys + ["rest_us"] if key in point}


def table_name(point):
    return " ".join(point[key] for key in ("input", "window", "stride", "dilation", "causal", "q_tile", "kv_tile"))


def table_of(program, point):
    command = [program, "count", "--emit", "block-mask", "--kv-tiling", "static"]
    for flag, key in (("-i", "input"), ("-w", "window"), ("-s", "stride"), ("--dilation", "dilation"),
                      ("--q-tile", "q_tile"), ("--kv-tile", "kv_tile")):
        command += [flag, point[key]]
    command += ["-c"] + point["causal"].split("x")
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def tables_of(arguments, points):
    if arguments.tables and not arguments.program:
        with gzip.open(arguments.tables, "rt") as file:
            return json.load(file)
    tables = {}
    for point in points:
        name = table_name(point)
        if name not in tables:
            tables[name] = table_of(arguments.program, point)
    if arguments.tables:
        with gzip.open(arguments.tables, "wt", compresslevel=5) as file:
            json.dump(tables, file)
    return tables


def blocks_in(table):
    return table["groups"] * math.prod(table["q_tiles"])


class Layout:
    """Where tokens of a table lie: per axis, a number for each position in block order."""

    def __init__(self, table, torch):
        rank = len(table["input"])
        dilation = table["dilation"]
        groups = torch.arange(table["groups"])
        self.begin, self.end, self.key = [], [], []
        self.length = []
        stride_of_group = [math.prod(dilation[axis + 1:]) for axis in range(rank)]
        for axis in range(rank):
            residue = groups // stride_of_group[axis] % dilation[axis]
            lengths = [len(each["begin"]) for each in table["axes"][axis]]
            longest = max(lengths)

            def padded(name):
                rows = [each[name] + [0] * (longest - len(each[name])) for each in table["axes"][axis]]
                return torch.tensor(rows, dtype=torch.int32)

            at_q = self.coordinates(table["q_tiles"], table["q_tile"], axis, torch)
            at_kv = self.coordinates(table["kv_tiles"], table["kv_tile"], axis, torch)
            length = torch.tensor(lengths)[residue][:, None]
            for name, into in (("begin", self.begin), ("end", self.end)):
                known = padded(name)[residue][:, at_q.clamp(max=longest - 1)]
                into.append(torch.where(at_q[None, :] < length, known, 0).reshape(-1).to(torch.int32))
            key = torch.where(at_kv[None, :] < length, at_kv[None, :], 1 << 30)
            self.key.append(key.reshape(-1).to(torch.int32))
        positions = self.begin[0].numel()
        while len(self.begin) < 3:  # an axis that every pair attends along
            self.begin.append(torch.zeros(positions, dtype=torch.int32))
            self.end.append(torch.ones(positions, dtype=torch.int32))
            self.key.append(torch.zeros(positions, dtype=torch.int32))
        self.group = torch.arange(positions) // (positions // table["groups"])

    @staticmethod
    def coordinates(tiles, tile, axis, torch):
        """Along one axis, of all positions of a group: tiles row-major, tokens in them row-major."""
        tile_at = torch.arange(math.prod(tiles)) // math.prod(tiles[axis + 1:]) % tiles[axis]
        token_at = torch.arange(math.prod(tile)) // math.prod(tile[axis + 1:]) % tile[axis]
        return (tile_at[:, None] * tile[axis] + token_at[None, :]).reshape(-1)
