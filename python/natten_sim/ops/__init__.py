"""This project's kernels as PyTorch operators: what was predicted can be run.

    from natten_sim import ops

    out = ops.attention(q, k, v, causal=True)                                # (batch, heads, tokens, head_dim)
    out = ops.neighborhood_attention(q, k, v, (18, 24, 24), stride=(16, 8, 8))  # (batch, x, y, z, heads, head_dim)

Gradients of attention are deterministic: the same bits every time. All run on sm_90 (H100, H200) alone and need the library of the
extra natten-sim[ops]; elsewhere they raise HardwareAbsent. Tensors are fp16 or bf16 and are read where they lie.
"""

from natten_sim._error import require_torch

require_torch("natten_sim.ops")

from natten_sim.ops._attention import attention as attention  # noqa: E402
from natten_sim.ops._attention import neighborhood_attention as neighborhood_attention  # noqa: E402
from natten_sim.ops._library import HardwareAbsent as HardwareAbsent  # noqa: E402
from natten_sim.ops._updates import msda as msda  # noqa: E402
from natten_sim.ops._updates import scatter_add as scatter_add  # noqa: E402
from natten_sim.ops._updates import scatter_add_ as scatter_add_  # noqa: E402

__all__ = ["HardwareAbsent", "attention", "msda", "neighborhood_attention", "scatter_add", "scatter_add_"]
