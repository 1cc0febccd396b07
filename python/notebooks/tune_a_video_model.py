# %% [markdown]
# # Tune a video model
#
# Hunyuan Video attends over 30 x 48 x 80 tokens. Which window, stride and tiles make its attention fast on an H200,
# and what is that worth end to end?

# %%
import natten_sim

model = "hunyuan-video"
preset = next(entry for entry in natten_sim.presets() if entry.name == model)
print(preset.description, preset.layout, f"{preset.attention_share:.1%} of the time is attention")

# %% [markdown]
# A window of 18 x 24 x 24 drops 91% of the pairs. How much of that do the kernel's tiles keep?

# %%
window, tile = (18, 24, 24), (2, 8, 8)
for stride in ((1, 1, 1), (2, 8, 8), (16, 8, 8)):
    answer = natten_sim.count(preset=model, window=window, stride=stride, q_tile=tile, kv_tile=tile)
    print(f"stride {'x'.join(map(str, stride)):8} flop {answer.speedup_flop:5.2f}x  mean {answer.speedup_mean:5.2f}x  "
          f"worst {answer.speedup_worst:5.2f}x  fast path {answer.natten_fast_path}")

# %% [markdown]
# The stride decides. Leave window, stride and tiles free, and ask for three configurations in milliseconds:

# %%
advice = natten_sim.advise(preset=model, device="h200", dtype="bf16")
for choice in advice.devices[0].choices:
    time = choice.time_ms
    assert time is not None
    print(f"{choice.role:12} {choice.window} stride {choice.stride}: {time.total:.1f} ms "
          f"({time.low:.1f} .. {time.high:.1f}), {choice.speedup_time:.2f}x, end to end {choice.e2e_speedup_time:.2f}x")
    assert time.low < time.total < time.high
print(advice.devices[0].choices[0].natten_call)
