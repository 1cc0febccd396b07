"""Predicts how GPU attention kernels behave, before any GPU time is spent.

    import natten_sim

    answer = natten_sim.count(input=(30, 48, 80), window=(18, 24, 24), device="h200", head_dim=128)
    answer.speedup_mean    # an attribute for each member of the result
    answer.to_dict()       # the JSON object of `natten-sim count ... --json`

Keywords have the names, units and defaults of the program's options. Every answer is frozen.
"""

import importlib
from typing import TYPE_CHECKING, Any

from natten_sim import _core, _functions
from natten_sim._core import *  # noqa: F403
from natten_sim._check import Check as Check
from natten_sim._check import check as check
from natten_sim._core import version as __version__
from natten_sim._error import Error as Error
from natten_sim._record import Record as Record
from natten_sim._sweep import Sweep as Sweep
from natten_sim._sweep import sweep as sweep
from natten_sim._tune import TunedCall as TunedCall
from natten_sim._tune import Tuning as Tuning
from natten_sim._tune import tune as tune
from natten_sim._ways import Way as Way

if TYPE_CHECKING:
    from natten_sim import flash4 as flash4
    from natten_sim import flex as flex
    from natten_sim import helion as helion
    from natten_sim import natten as natten
    from natten_sim import ops as ops
    from natten_sim import recall as recall
    from natten_sim import record_attention as record_attention
    from natten_sim import triton as triton

# Bridges are imported when they are used: some need NumPy or PyTorch.
_BRIDGES = ("flash4", "flex", "helion", "natten", "recall", "record_attention", "triton")
# Needs PyTorch itself, which dir() should not.
_OPERATORS = ("ops",)


# The extension's own functions have no signature that inspect finds, and cannot be pickled.
globals().update(_functions.functions_of(_core, __name__))

__all__ = [*sorted(name for name in vars(_core) if not name.startswith("_")), "Check", "Error", "Record", "Sweep",  # noqa: PLE0604
           "TunedCall", "Tuning", "Way", "check", "sweep", "tune"]


def __getattr__(name: str) -> Any:
    if name in _BRIDGES + _OPERATORS:
        return importlib.import_module(f"natten_sim.{name}")
    raise AttributeError(f"module 'natten_sim' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_BRIDGES})
