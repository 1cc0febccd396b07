# %% [markdown]
# # Reproduce a paper's table
#
# Table 4.2 of Hassani's dissertation lists stride ladders: for one window, the worst-case speedup of ever coarser
# strides. Here that of Hunyuan Video, with a plot if matplotlib is there.

# %%
import importlib.util

import natten_sim

ladder = natten_sim.search(preset="hunyuan-video", window=(18, 24, 24), q_tile=(4, 8, 8), kv_tile=(2, 8, 8), ladder=True)
for step in ladder.candidates:
    print(f"{'x'.join(map(str, step.stride)):8} {step.speedup_worst:5.2f}x")

# %% [markdown]
# The first and the last step are known without counting: without a stride a Q tile of 4x8x8 sees up to 11 x 5 x 5 of
# the 15 x 6 x 10 KV tiles; in the last one the window is full tiles, so that only the mask counts.

# %%
assert abs(ladder.candidates[0].speedup_worst - (15 * 6 * 10) / (11 * 5 * 5)) < 1e-12
assert abs(ladder.candidates[-1].speedup_worst - (30 * 48 * 80) / (18 * 24 * 24)) < 1e-12

# %%
if importlib.util.find_spec("matplotlib"):
    import matplotlib

    matplotlib.use("svg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots()
    strides = ["x".join(map(str, step.stride)) for step in ladder.candidates]
    axes.step(strides, [step.speedup_worst for step in ladder.candidates], where="mid")
    axes.set(xlabel="stride", ylabel="worst-case speedup over dense attention", title="Hunyuan Video, window 18x24x24")
    figure.savefig("ladder.svg")
    print("ladder.svg")
else:
    print("no plot: matplotlib is not installed")
