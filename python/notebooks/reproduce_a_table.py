# %% [markdown]
# # Reproduce a paper's table
#
# Table 4.2 of Hassani's dissertation lists stride ladders: for one window, the worst-case speedup of ever coarser
# strides. Here that of Hunyuan Video, with a plot where matplotlib or altair is there.

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
strides = ["x".join(map(str, step.stride)) for step in ladder.candidates]
speedups = [step.speedup_worst for step in ladder.candidates]
title, label = "Hunyuan Video, window 18x24x24", "worst-case speedup over dense attention"
if importlib.util.find_spec("matplotlib"):
    import matplotlib

    matplotlib.use("svg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots()
    axes.step(strides, speedups, where="mid")
    axes.set(xlabel="stride", ylabel=label, title=title)
    figure.savefig("ladder.svg")
    print("ladder.svg")
elif importlib.util.find_spec("altair"):
    import altair

    rows = altair.Data(values=[{"stride": stride, "speedup": speedup} for stride, speedup in zip(strides, speedups)])
    chart = altair.Chart(rows, title=title).mark_line(interpolate="step", point=True)
    chart = chart.encode(x=altair.X("stride:N", sort=None), y=altair.Y("speedup:Q", title=label))
    chart.save("ladder.html")
    print("ladder.html")
else:
    print("no plot: neither matplotlib nor altair is installed")
