#!/usr/bin/env python3
"""Times this project's attention forward, FlashAttention-4 and cuDNN in one process, in turns.

    ninja -C build attention_forward_shared
    python3 scripts/time_attention_forward.py --library build/libattention_forward_shared.so --csv forward.csv

FlashAttention-4 is flash-attn-4's CuTe kernel (--site: folder of the package, where it is not installed), cuDNN is
PyTorch's. Whoever is missing is left out. bf16, 16,384 tokens in all (a sequence at least), hidden size 2048; causal
operations count half. Each round launches every kernel once, in a new order, the L2 overwritten before; with
--rest-ms the GPU rests before each launch, so that it is not at its power limit. Medians. Outputs are compared with
cuDNN's, or else with the first kernel's.
"""

import argparse
import ctypes
import os
import random
import statistics
import sys
import time

HOST_LEAD_CYCLES = 2_000_000
TOLERANCE = 1e-2
HIDDEN, TOKENS = 2048, 16384


class Pointers(ctypes.Structure):
    _fields_ = [(name, ctypes.c_void_p) for name in ("q", "k", "v", "o", "lse")]


def arguments_of():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--library", required=True, help="libattention_forward_shared.so")
    parser.add_argument("--site", help="folder of Python packages to look into first")
    parser.add_argument("--head-dims", type=int, nargs="+", default=[128, 64])
    parser.add_argument("--lengths", type=int, nargs="+", default=[65536, 32768, 16384, 8192, 4096, 2048, 1024, 512])
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--rest-ms", type=float, default=0)
    parser.add_argument("--dtype", choices=["bfloat16", "float16"], default="bfloat16")
    parser.add_argument("--csv", help="also write the rows to this file")
    return parser.parse_args()


def own_launch(library, q, k, v, o, lse, causal):
    batch, tokens, heads, head_dim = q.shape
    pointers = Pointers(*(each.data_ptr() for each in (q, k, v, o, lse)))
    sizes = [ctypes.c_long(each) for each in (batch, heads, heads, tokens, tokens, head_dim)]
    plan = library.natten_sim_plan_sequence(ctypes.byref(pointers), *sizes, int(str(q.dtype) == "torch.float16"), int(causal))
    if not plan:
        raise RuntimeError("the kernel refused its problem")

    def launch():
        if library.natten_sim_launch(plan) != 0:
            raise RuntimeError("the launch failed")
        return o

    return launch, lambda: library.natten_sim_destroy(plan)


def kernels_of(library, flash, torch, q, k, v, causal):
    """Launches by name, and what frees ours."""
    o = torch.full_like(q, float("nan"))
    lse = torch.empty(q.shape[0], q.shape[2], q.shape[1], device="cuda", dtype=torch.float32)
    ours, free = own_launch(library, q, k, v, o, lse, causal)
    found = {"this": ours}
    if flash is not None:
        found["fa4"] = lambda: flash._flash_attn_fwd(q, k, v, causal=causal, return_lse=True)[0]
    rows = [each.transpose(1, 2) for each in (q, k, v)]
    cudnn = torch.ops.aten._scaled_dot_product_cudnn_attention
    found["cudnn"] = lambda: cudnn(*rows, None, True, 0.0, causal, False)[0].transpose(1, 2)
    return found, free


def refuse_wrong(outputs):
    reference = outputs.get("cudnn", next(iter(outputs.values()))).float()
    for name, each in outputs.items():
        error = ((each.float() - reference).norm() / reference.norm()).item()
        if not error <= TOLERANCE:
            raise RuntimeError(f"{name} is wrong: relative error {error:.2e}")


def medians(launches, cover, arguments, torch, generator):
    events, order = {name: [] for name in launches}, list(launches)
    for step in range(arguments.rounds + 2):
        generator.shuffle(order)
        for name in order:
            if arguments.rest_ms:
                torch.cuda.synchronize()
                time.sleep(1e-3 * arguments.rest_ms)
            torch.cuda._sleep(HOST_LEAD_CYCLES)
            cover.fill_(step % 256)
            begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            begin.record()
            launches[name]()
            end.record()
            if step >= 2:
                events[name].append((begin, end))
        torch.cuda.synchronize()
    return {name: statistics.median(begin.elapsed_time(end) for begin, end in pairs) for name, pairs in events.items()}


def main():
    arguments = arguments_of()
    if arguments.site:
        sys.path[:0] = [arguments.site, os.path.join(arguments.site, "nvidia_cutlass_dsl", "dsl_packages")]
    import torch

    try:
        import flash_attn.cute.interface as flash
    except ImportError as error:
        print(f"without FlashAttention-4: {error}", file=sys.stderr)
        flash = None
    library = ctypes.CDLL(arguments.library)
    library.natten_sim_plan_sequence.restype = ctypes.c_void_p
    library.natten_sim_launch.argtypes = [ctypes.c_void_p]
    library.natten_sim_destroy.argtypes = [ctypes.c_void_p]
    torch.manual_seed(1)
    generator, kind = random.Random(1), getattr(torch, arguments.dtype)
    cover = torch.empty(256 << 20, dtype=torch.uint8, device="cuda")
    rows = ["head_dim,mask,length,kernel,ms,tflops_per_s"]
    for head_dim in arguments.head_dims:
        for causal in (False, True):
            for length in arguments.lengths:
                shape = (max(TOKENS // length, 1), length, HIDDEN // head_dim, head_dim)
                q, k, v = (torch.randn(shape, device="cuda", dtype=kind) for _ in range(3))
                launches, free = kernels_of(library, flash, torch, q, k, v, causal)
                refuse_wrong({name: launch() for name, launch in launches.items()})
                times = medians(launches, cover, arguments, torch, generator)
                free()
                operations = 4.0 * shape[0] * shape[2] * length * length * head_dim * (0.5 if causal else 1)
                for name, ms in times.items():
                    rows.append(f"{head_dim},{'causal' if causal else 'full'},{length},{name},{ms:.4f},"
                                f"{operations / ms / 1e9:.1f}")
                    print(rows[-1], flush=True)
    if arguments.csv:
        with open(arguments.csv, "w", encoding="utf-8") as file:
            file.write("\n".join(rows) + "\n")


if __name__ == "__main__":
    main()
