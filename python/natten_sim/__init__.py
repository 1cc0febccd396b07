"""Predicts how GPU attention kernels behave, before any GPU time is spent.

    import natten_sim

    answer = natten_sim.count(input=(30, 48, 80), window=(18, 24, 24), device="h200", head_dim=128)
    answer.speedup_mean    # an attribute for each member of the result
    answer.to_dict()       # the JSON object of `natten-sim count ... --json`

Keywords have the names, units and defaults of the program's options. Every answer is frozen.
"""

from natten_sim._core import *  # noqa: F403
from natten_sim._core import version as __version__
from natten_sim._error import Error as Error
from natten_sim._record import Record as Record
