# %% [markdown]
# # A deterministic backward pass of a sparse mask
#
# Every KV tile adds its part to dQ. If the additions have a fixed order, tiles wait for each other. How long does the
# pass take under each order, and how far is that from the least possible?

# %%
from typing import Any

import natten_sim

problem: dict[str, Any] = {"q_tiles": 16, "heads": 4, "mask": "window:5,0", "workers": 13, "compute": 7, "reduce": 2}
answer = natten_sim.schedule(**problem)
print(answer)

# %% [markdown]
# `best` searches. Its makespan equals the lower bound where the table says so: then it is proved optimal.

# %%
best = natten_sim.schedule(**problem, algorithm="best")
ascending = natten_sim.schedule(**problem, algorithm="ascending")
print(f"{ascending.makespan:g} -> {best.makespan:g}, lower bound {best.lower_bound:g} ({best.lower_bound_by})")
assert best.lower_bound <= best.makespan <= ascending.makespan

# %% [markdown]
# The order for a kernel to load, and proof that it runs: the table alone gives the same makespan.

# %%
table = best.table()
print(table["chains"][0], table["dq_order"][3])
assert natten_sim.schedule(table=table, compute=7, reduce=2).makespan == best.makespan

# %% [markdown]
# In a notebook `best` draws itself as a Gantt chart; `best.trace()` opens in ui.perfetto.dev.

# %%
print(best.svg()[:60], "..", len(best.svg()), "characters")
