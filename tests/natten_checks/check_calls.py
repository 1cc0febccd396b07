"""check_calls.py NATTEN_SOURCES CALLS: puts calls to NATTEN's own Python checks, without kernels and without a GPU.

CALLS holds JSON Lines of generate_calls. Calls that the library accepts must run as they were printed, on the kernel,
tiles and schedule that it names, and so must lines for NATTEN's profiler; calls that it refuses must raise. Needs fake_torch on PYTHONPATH.
"""

import collections
import json
import shlex
import sys

import torch

sources, calls = sys.argv[1:3]
sys.path.insert(0, sources)
torch.device.capability = 90  # while NATTEN is imported; each call sets its own

import natten  # noqa: E402
from natten import profiler  # noqa: E402
from natten.backends import flex  # noqa: E402
from natten.backends.configs import checks  # noqa: E402
from natten.profiling_utils import profiling  # noqa: E402

checks.HAS_LIBNATTEN = True  # the compiled library is only asked whether it is there
DTYPES = {
    "fp32": torch.float32,
    "fp16": torch.float16,
    "bf16": torch.bfloat16,
    "e4m3": torch.float8_e4m3fn,
    "e5m2": torch.float8_e5m2,
}
KERNELS = {
    "CutlassHopperFnaGenericAutogradFn": "hopper-fna",
    "CutlassBlackwellFnaGenericAutogradFn": "blackwell-fna",
    "CutlassFnaGenericAutogradFn": "cutlass-fna",
    "CutlassHopperFmhaAutogradFn": "hopper-fmha",
    "CutlassBlackwellFmhaAutogradFn": "blackwell-fmha",
    "CutlassFmhaAutogradFn": "cutlass-fmha",
}
SCHEDULES = {"NonPersistent": "non", "WarpSpecializedCooperative": "coop", "WarpSpecializedPingpong": "pp"}
ran = torch.autograd.Function.ran


def flex_kernel(query, key, value, block_mask, scale, **options):
    ran.append(("flex-fmha" if block_mask is None else "flex-fna", options))
    return torch.Tensor([*query.shape[:-1], value.shape[-1]], query.dtype), torch.Tensor(query.shape[:-1])


def permuted(tensor, tile_shape, dilation, flip_tiled_dims):
    batch, *layout, heads, dim = tensor.shape
    shape = [-(-(-(-x // t)) // d) * t for x, t, d in zip(layout, tile_shape, dilation)]
    groups = tokens = 1
    for d, x in zip(dilation, shape):
        groups, tokens = groups * d, tokens * x
    return torch.Tensor([batch * groups, tokens, heads, dim], tensor.dtype), tuple(layout), tuple(shape)


def unpermuted(tensor, token_layout_shape, tile_shape, dilation, flip_tiled_dims):
    groups = 1
    for d in dilation:
        groups *= d
    return torch.Tensor([tensor.shape[0] // groups, *token_layout_shape, *tensor.shape[-2:]], tensor.dtype)


# Stand-ins for what would touch data; the checks around them are NATTEN's.
flex.run_flex_attn = flex_kernel
flex.get_na_flex_mask = lambda **options: options
flex.token_permute_operation = permuted
flex.token_unpermute_operation = unpermuted


class Profiled(Exception):
    """Ends the profiler after the one call that it would time."""


def profile_once(problem, warmup_steps, **options):
    profiling._profile_na_with_torch(problem, warmup_steps=0, **options)
    raise Profiled


profiler.profile_na_with_torch = profile_once
profiler.use_kv_parallelism_in_fused_na = profiler.set_memory_usage_preference = lambda _: None


def tensors(call):
    def tensor(tokens, heads, dim):
        return torch.Tensor([call["batch"], *tokens, heads, dim], DTYPES[call["dtype"]], call["requires_grad"])

    given = {
        "query": tensor(call["input"], call["heads"], call["dim"]),
        "key": tensor(call["input"], call["heads_kv"], call["dim"]),
        "value": tensor(call["input"], call["heads_kv"], call["dim_value"]),
    }
    if call["additional_keys"]:
        given["additional_keys"] = tensor([call["additional_keys"]], call["heads_kv"], call["dim"])
        given["additional_values"] = tensor([call["additional_keys"]], call["heads_kv"], call["dim_value"])
    return given


def prepare(call):
    torch.device.capability = call["compute_capability"]
    torch.deterministic.enabled = call["deterministic"]
    if call["torch_compile"]:
        natten.allow_flex_compile()
        natten.allow_flex_compile_backprop()
    else:
        natten.disable_flex_compile()
        natten.disable_flex_compile_backprop()
    ran.clear()


def run_fields(call):
    """The call from its fields, for calls that nothing is printed for."""
    arguments = {**tensors(call), "kernel_size": tuple(call["window"])}
    for name, field in (("stride", "stride"), ("dilation", "dilation"), ("is_causal", "causal")):
        if call[field]:
            arguments[name] = tuple(call[field])
    for prefix, field in (("", "tiles"), ("backward_", "backward_tiles")):
        if call[field]:
            arguments[prefix + "q_tile_shape"], arguments[prefix + "kv_tile_shape"] = map(tuple, call[field])
    for name in ("backend", "kernel_schedule", "torch_compile"):
        if call[name]:
            arguments[name] = call[name]
    getattr(natten, f"na{len(call['input'])}d")(**arguments)


def kernel_of(entry):
    name, arguments = entry
    for known, kernel in KERNELS.items():
        if known in name.split("."):
            return kernel, arguments
    return name, arguments


def configuration(kernel, arguments):
    """Forward tiles, backward tiles and schedule that a kernel was handed."""
    if kernel.startswith("flex"):
        return None, None, ""
    position = {"hopper-fna": 8, "blackwell-fna": 8, "cutlass-fna": 8}.get(kernel, 5)
    forward, backward = arguments[position], arguments[position + 1]
    assert kernel != "blackwell-fna" or arguments[position + 2] is True, "not persistent, which calls are by default"
    schedule = ""
    if kernel.startswith("hopper"):
        forward, schedule = forward[0], SCHEDULES[forward[1].name]
    as_lists = [[list(t) if isinstance(t, tuple) else [t] for t in pair] for pair in (forward, backward)]
    return as_lists[0], as_lists[1], schedule


def check_accepted(line):
    call = line["call"]
    prepare(call)
    eval(line["python"], {"natten": natten, **tensors(call)})
    check_ran(line)


def check_profiled(line):
    """The profiler's own command line, but for deterministic algorithms, which it does not ask for."""
    prepare({**line["call"], "deterministic": False})
    sys.argv = shlex.split(line["profiler"].removeprefix("python -m "))
    try:
        profiler.profile(**vars(profiler.get_args()))
    except Profiled:
        if line["call"]["deterministic"] and line["call"]["requires_grad"]:
            return
        check_ran(line)


def check_ran(line):
    kernels = [kernel_of(entry) for entry in ran if "MergeAttentions" not in entry[0]]
    expected = [line["kernel"]] + ([line["additional_kernel"]] if line["additional_kernel"] else [])
    assert [kernel for kernel, _ in kernels] == expected, (kernels, expected)
    forward, backward, schedule = configuration(*kernels[0])
    if forward is None:
        return
    assert forward == line["tiles"], (forward, line["tiles"])
    assert backward == line["backward_tiles"], (backward, line["backward_tiles"])
    assert line["kernel"] != "hopper-fna" or schedule == line["schedule"], (schedule, line["schedule"])


def check_flex_script(line):
    """The script's mask attends to as many pairs as the library counts."""
    source = line["flex_script"].split("\nblock_mask =")[0]
    scope = {}
    exec(compile(source, "flex_script", "exec"), scope)
    tokens = scope["tokens"]
    attended = sum(bool(scope["mask_mod"](0, 0, q, k)) for q in range(tokens) for k in range(tokens))
    assert attended == line["attended_pairs"], (attended, line["attended_pairs"])
    compile(line["flex_script"], "flex_script", "exec")


def main():
    counts = collections.Counter()
    failures = []
    for text in open(calls):
        line = json.loads(text)
        try:
            if line["accepted"]:
                counts["accepted"] += 1
                counts["winners"] += line["winner"]
                counts[f"accepted: {line['call']['compute_capability']:03d}"] += 1
                check_accepted(line)
                if line["profiler"]:
                    counts["profiled"] += 1
                    check_profiled(line)
                if "flex_script" in line and counts["scripts"] < 400:
                    counts["scripts"] += 1
                    check_flex_script(line)
                continue
        except (Exception, SystemExit) as error:  # noqa: BLE001
            failures.append((text, f"refused by NATTEN: {type(error).__name__}: {error}"))
            continue
        counts["refused"] += 1
        counts["rule: " + line["rule"]] += 1
        prepare(line["call"])
        try:
            run_fields(line["call"])
        except (ValueError, NotImplementedError, RuntimeError, AssertionError):  # what NATTEN raises on purpose
            continue
        except Exception as error:  # noqa: BLE001
            failures.append((text, f"neither refused nor run: {type(error).__name__}: {error}"))
            continue
        failures.append((text, "accepted by NATTEN"))
    for text, reason in failures[:5]:
        print(reason, text, sep="\n", end="\n\n")
    print(f"NATTEN {natten.__version__}: {counts['accepted']} accepted calls ({counts['winners']} of searches), {counts['profiled']} of them by its "
          f"profiler too, {counts['refused']} refused ones, {counts['scripts']} FlexAttention masks, {len(failures)} differences")
    for name in sorted(counts):
        kind, _, rest = name.partition(": ")
        if kind == "accepted" and rest:
            print(f"  {counts[name]:5d} accepted on compute capability {int(rest) // 10}.{int(rest) % 10}")
        elif kind == "rule":
            print(f"  {counts[name]:5d} {rest}")
    return 1 if failures else 0


sys.exit(main())
