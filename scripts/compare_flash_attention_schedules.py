#!/usr/bin/env python3
"""Runs the scheduler code of an installed flash-attn-4 and writes digests of what it launches.

usage: compare_flash_attention_schedules.py [--source FOLDER] [--shapes N] [--write | --check]

The code of flash_attn/cute runs here without a GPU: what it imports of CUTLASS is replaced by plain integers. For each
generated shape the digest covers the tiles, CTAs per tile, the release of turns, heads per section, the order in which
(KV tile, head) are launched, the Q tiles that each KV tile visits, and the rank of each addition to dQ.

  --source FOLDER  where flash_attn/ is [the installed package]
  --shapes N       how many shapes [5000]
  --write          write tests/data/flash-attention-4-schedules.json
  --check          compare with that file; exit status 1 where they differ

tests/unit/study/flash_attention_schedules_test.cpp computes the same digests from this project's schedules and compares
them with that file.
"""

import argparse
import ast
import dataclasses
import importlib.abc
import importlib.machinery
import importlib.metadata
import json
import pathlib
import sys
import types

ROOT = pathlib.Path(__file__).resolve().parents[1]
STORED = ROOT / "tests/data/flash-attention-4-schedules.json"
SHAPES_PER_DIGEST = 100
MASK = (1 << 64) - 1


class Anything(types.ModuleType):
    """A module or object that has every attribute, can be called, subclassed and indexed."""

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return Anything(name)

    def __call__(self, *args, **_):
        return args[0] if args and callable(args[0]) else self

    def __getitem__(self, _):
        return self

    def __mro_entries__(self, _):
        return (object,)

    def __or__(self, _):
        return self

    __ror__ = __or__


class Replacements(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Everything that the scheduler imports and that is not its own code."""

    NAMES = ("cutlass", "quack", "cuda", "torch", "typing_extensions", "flash_attn.cute.utils", "flash_attn.cute.fast_math",
             "flash_attn.cute.seqlen_info")

    def find_spec(self, name, path=None, target=None):
        if any(name == each or name.startswith(each + ".") for each in self.NAMES):
            return importlib.machinery.ModuleSpec(name, self, is_package=True)
        return None

    def create_module(self, spec):
        module = Anything(spec.name)
        module.__path__ = []
        return module

    def exec_module(self, module):
        pass


class Divisor(int):
    """divmod(x, Divisor(n)) is that of integers."""


def load(folder):
    """The modules of flash_attn/cute that decide a launch."""
    sys.meta_path.insert(0, Replacements())
    for name in ("flash_attn", "flash_attn.cute"):
        module = types.ModuleType(name)
        module.__path__ = [str(folder.joinpath(*name.split(".")[1:]))]
        sys.modules[name] = module
    import cutlass
    import cutlass.cute
    from flash_attn.cute import fast_math
    from quack import cute_dsl_utils

    cutlass.Int32 = cutlass.Int64 = int
    cutlass.const_expr = cutlass.cute.jit = lambda value: value
    cutlass.min, cutlass.max = min, max
    cutlass.cute.arch = types.SimpleNamespace()
    cutlass.cute.ceil_div = lambda a, b: -(-a // b)
    cutlass.cute.round_up = lambda a, b: -(-a // b) * b
    cutlass.cute.size = lambda shape: shape[0] * shape[1]
    cutlass.cute.FastDivmodDivisorV2 = Divisor
    import cutlass.utils

    cutlass.utils.WorkTileInfo = WorkTile
    fast_math.clz = lambda value: 32 - value.bit_length()
    cute_dsl_utils.ParamsBase = object
    from flash_attn.cute import block_info, tile_scheduler

    return tile_scheduler, block_info, cutlass.cute.arch


class WorkTile:
    def __init__(self, tile_idx, is_valid_tile):
        self.tile_idx, self.is_valid_tile = tile_idx, is_valid_tile


def tile_sizes(interface):
    """_tile_size_bwd_sm90 of interface.py, alone."""
    tree = ast.parse(interface.read_text())
    wanted = [node for node in tree.body if getattr(node, "name", "") in ("BwdConfig", "_tile_size_bwd_sm90")]
    names = {"dataclass": dataclasses.dataclass}
    exec(compile(ast.Module(wanted, []), str(interface), "exec"), names)  # noqa: S102
    return names["_tile_size_bwd_sm90"]


@dataclasses.dataclass
class Shape:
    architecture: int
    head_dim: int
    mask: int  # 0 full, 1 causal, 2 window
    left: int
    right: int
    q_tokens: int
    kv_tokens: int
    heads: int
    batch: int
    deterministic: bool


class Numbers:
    """Knuth's MMIX generator, as the test has it."""

    def __init__(self):
        self.state = 2026

    def below(self, limit):
        self.state = (self.state * 6364136223846793005 + 1442695040888963407) & MASK
        return (self.state >> 33) % limit

    def shape(self):
        architecture = 90 if self.below(2) == 0 else 100
        dims = (32, 64, 72, 96, 128, 192, 256) if architecture == 90 else (32, 64, 96, 128)
        head_dim = dims[self.below(len(dims))]
        mask, left, right = self.below(3), self.below(1500), self.below(1500)
        scale = 6 if self.below(32) == 0 else 1
        q_tokens = scale * (1 + self.below(3000))
        kv_tokens = q_tokens if self.below(2) == 0 else scale * (1 + self.below(3000))
        return Shape(architecture, head_dim, mask, left, right, q_tokens, kv_tokens, 1 + self.below(12),
                     1 + self.below(4), self.below(4) != 0)


class Digest:
    def __init__(self):
        self.value = 14695981039346656037

    def add(self, *numbers):
        for number in numbers:
            self.value = ((self.value ^ (number & MASK)) * 1099511628211) & MASK


class Theirs:
    def __init__(self, folder):
        self.schedulers, self.blocks, self.arch = load(folder)
        self.tiles_sm90 = tile_sizes(folder / "cute/interface.py")
        self.sm100 = (folder / "cute/flash_bwd_sm100.py").read_text()

    def tiles(self, shape):
        """Q tile, KV tile, CTAs that share their KV tiles: interface.py, _flash_attn_bwd."""
        if shape.architecture != 90:
            return 128, 128, 2 if shape.head_dim >= 128 else 1
        config = self.tiles_sm90(shape.head_dim, shape.head_dim, shape.mask == 1, shape.mask == 2)
        return config.m_block_size, config.n_block_size, 1

    def releases_late(self, shape):
        """delay_semaphore_release of flash_bwd_sm100.py; flash_bwd_sm90.py has no such thing."""
        return shape.architecture != 90 and "delay_semaphore_release = (" in self.sm100

    def launched(self, shape, kv_tile, ctas):
        """Pairs (KV tile of all CTAs that share it, head), and heads per section."""
        lpt = shape.mask != 0 and shape.deterministic
        arguments = self.schedulers.TileSchedulerArguments(
            -(-shape.kv_tokens // kv_tile), shape.heads, shape.batch, 1, shape.q_tokens, shape.head_dim, shape.head_dim,
            total_q=shape.kv_tokens * shape.batch, tile_shape_mn=(kv_tile, 0), cluster_shape_mn=(ctas, 1), lpt=lpt)
        kind = (self.schedulers.SingleTileLPTBwdScheduler if shape.deterministic
                else self.schedulers.SingleTileScheduler)
        params = kind.to_underlying_arguments(arguments)
        width, height, depth = kind.get_grid_shape(params)
        order = []
        for batch in range(depth):
            for head in range(height):
                for block in range(0, width, ctas):  # the first CTA of a cluster speaks for it
                    self.arch.block_idx = lambda at=(block, head, batch): at
                    self.arch.block_in_cluster_idx = lambda: (0, 0, 0)
                    tile = kind.create(params).get_current_work()
                    assert tile.is_valid_tile
                    found, of_head, of_batch = tile.tile_idx[:3]
                    order.append((found // ctas, of_batch * shape.heads + of_head))
        return order, params.l2_minor if shape.deterministic else 0

    def add(self, shape, digest):
        q_tile, kv_tile, ctas = self.tiles(shape)
        order, section = self.launched(shape, kv_tile, ctas)
        digest.add(q_tile, kv_tile, ctas, int(self.releases_late(shape)), section)
        for pair in order:
            digest.add(*pair)
        local, causal = shape.mask == 2, shape.mask == 1
        info = self.blocks.BlockInfo(q_tile, kv_tile * ctas, causal, local, False, shape.left if local else None,
                                     shape.right if local else None)
        tokens = types.SimpleNamespace(seqlen_q=shape.q_tokens, seqlen_k=shape.kv_tokens)
        first = [info.get_n_block_min_max(tokens, m) for m in range(-(-shape.q_tokens // q_tile))]
        for n in range(-(-shape.kv_tokens // (kv_tile * ctas))):
            for m in range(*info.get_m_block_min_max(tokens, n)):
                digest.add(n, m)
                if shape.deterministic:
                    # In a window, KV tiles left of it count their turns without adding anything.
                    digest.add(first[m][1] - 1 - n if shape.mask else n)


def digests(theirs, shapes):
    numbers, found = Numbers(), []
    for at in range(shapes):
        if at % SHAPES_PER_DIGEST == 0:
            digest = Digest()
        theirs.add(numbers.shape(), digest)
        if at % SHAPES_PER_DIGEST == SHAPES_PER_DIGEST - 1 or at == shapes - 1:
            found.append(f"{digest.value:016x}")
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--source", type=pathlib.Path)
    parser.add_argument("--shapes", type=int, default=5000)
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--write", action="store_true")
    what.add_argument("--check", action="store_true")
    flags = parser.parse_args()
    if flags.source:
        site, release = flags.source, next(flags.source.glob("flash_attn_4-*.dist-info")).name.split("-")[1][:-5]
    else:
        found = importlib.metadata.distribution("flash-attn-4")
        site, release = pathlib.Path(found.locate_file("")), found.version
    release = release.removesuffix(".dist")
    result = {"package": "flash-attn-4", "release": release, "shapes": flags.shapes,
              "shapes_per_digest": SHAPES_PER_DIGEST,
              "digests": digests(Theirs(site / "flash_attn"), flags.shapes)}
    if flags.write:
        STORED.write_text(json.dumps(result, indent=1) + "\n")
    if flags.check:
        stored = json.loads(STORED.read_text())
        differ = sum(a != b for a, b in zip(stored["digests"], result["digests"]))
        print(f"{release} against {stored['release']}: {differ} of {len(result['digests'])} digests differ")
        return 1 if differ or stored["shapes"] != flags.shapes else 0
    print(f"flash-attn-4 {release}: {flags.shapes} shapes, {len(result['digests'])} digests")
    return 0


if __name__ == "__main__":
    sys.exit(main())
