# %% [markdown]
# # Scatter and half precision
#
# `scatter_add` into bf16 rows goes through a compare-and-swap of 32 bits. When many updates hit one row, it collapses.

# %%
import natten_sim
import numpy as np

for dtype in ("fp32", "bf16"):
    for distribution in ("uniform", "zipf:1.5"):
        answer = natten_sim.scatter(updates=262144, distribution=distribution, dtype=dtype, device="h200")
        print(f"{dtype} {distribution:8}: {answer.time_ns / 1e6:8.3f} ms, bound by {answer.bound}")

# %% [markdown]
# Rows of your own are an array; nothing is copied.

# %%
rows = np.random.default_rng(0).zipf(1.5, 100_000) % 32768
mine = natten_sim.scatter(distribution=rows, dtype="bf16", device="h200")
assert mine.max_multiplicity == np.bincount(rows).max()
for remedy in mine.remedies[:4]:
    print(f"{remedy.name:32} {remedy.time_ns / 1e6:8.3f} ms")
