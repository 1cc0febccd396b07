# %% [markdown]
# # Why causal attention explodes in DRAM
#
# K and V of a head are read by every Q tile. While they stay in the L2, DRAM sees them once. When do they stop to fit,
# and what does the order of the KV tiles change?

# %%
from typing import Any

import natten_sim

kernel: dict[str, Any] = {"device": "h200", "head_dim": 128, "dtype": "bf16", "tile": 128, "fidelity": "lru"}
for tokens in (32768, 65536, 131072):
    cyclic = natten_sim.reuse(seqlen=tokens, order="cyclic", **kernel)
    sawtooth = natten_sim.reuse(seqlen=tokens, order="sawtooth", **kernel)
    assert cyclic.dram_read_bytes and sawtooth.dram_read_bytes, "the device says how large its cache is"
    compulsory = 3 * tokens * 128 * 2  # Q, K and V once, two bytes each
    print(f"{tokens:7} tokens: K and V {2 * tokens * 256 / 2**20:.0f} MiB, DRAM reads "
          f"{cyclic.dram_read_bytes / compulsory:.2f}x compulsory, sawtooth {sawtooth.dram_read_bytes / compulsory:.2f}x")
    assert compulsory <= sawtooth.dram_read_bytes <= cyclic.dram_read_bytes

# %% [markdown]
# That is lockstep: all CTAs read the same tile at a time. Causal CTAs are not in step: each has a different amount of
# work. `fidelity="timed"` simulates every CTA in time.

# %%
for causal in (False, True):
    timed = natten_sim.reuse(seqlen=131072, kernel="fa2", causal=causal, device="h200", head_dim=128, dtype="bf16",
                             fidelity="timed")
    assert timed.dram_read_bytes
    print(f"causal {causal!s:5}: {timed.dram_read_bytes / 2**30:.2f} GiB from DRAM, hit rate {timed.hit_rate:.1%}, "
          f"{timed.time_ns / 1e6:.1f} ms")
