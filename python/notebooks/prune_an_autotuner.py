# %% [markdown]
# # Prune a Triton autotuner
#
# A windowed attention kernel has 25 configurations. Most need not be compiled: a floor by the device's rates ranks
# them, and an exact count takes microseconds.

# %%
import time

import natten_sim
import numpy as np

blocks = [16, 32, 64, 128, 256]
tiles = np.array([(m, n) for m in blocks for n in blocks])[:, None, :]
natten_sim.count(input=64)  # the catalog is read once
begin = time.perf_counter()
counts = natten_sim.count_many(input=(65536,), window=(4096,), causal=[[True]] * len(tiles), q_tile=tiles[:, :, 0],
                               kv_tile=tiles[:, :, 1])
print(f"{len(tiles)} exact counts in {1e3 * (time.perf_counter() - begin):.2f} ms")

# %% [markdown]
# Larger tiles waste more products on masked pairs; smaller ones read K and V more often.

# %%
for (m, n), wasted, visited in zip(tiles[:, 0], 1 - counts.attended_pairs / counts.mma_pairs, counts.visited_tiles):
    if m == n:
        print(f"{m:3} x {n:3}: {wasted:6.1%} of the products are wasted, {visited:9,} pairs of tiles")


# %% [markdown]
# The hook that `triton.autotune(..., prune_configs_by={"early_config_prune": prune})` takes:

# %%
class Config:
    def __init__(self, m: int, n: int) -> None:
        self.kwargs = {"BLOCK_M": m, "BLOCK_N": n}


prune = natten_sim.triton.early_config_prune(
    lambda config, arguments: {"input": arguments["tokens"], "window": 4096, "causal": True, "head_dim": 128,
                               "q_tile": config.kwargs["BLOCK_M"], "kv_tile": config.kwargs["BLOCK_N"]},
    top=5, device="h200")
kept = prune([Config(int(m), int(n)) for m, n in tiles[:, 0]], {"tokens": 65536})
print([tuple(config.kwargs.values()) for config in kept])
assert len(kept) == 5
