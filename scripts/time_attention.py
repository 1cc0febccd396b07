#!/usr/bin/env python3
"""Times this project's attention, FlashAttention-4 and cuDNN in one process, in turns.

    ninja -C build attention_forward_shared attention_backward_shared
    python3 scripts/time_attention.py forward --library build/libattention_forward_shared.so --csv forward.csv
    python3 scripts/time_attention.py backward --library build/libattention_backward_shared.so --csv backward.csv

FlashAttention-4 is flash-attn-4's CuTe kernel (--site: folder of the package, where it is not installed), cuDNN is
PyTorch's. Whoever is missing is left out. bf16, 16,384 tokens in all (a sequence at least), hidden size 2048; causal
operations count half, a backward pass counts five products. Each round launches every kernel once, in a new order, the
L2 overwritten before; with --rest-ms the GPU rests before each launch, so that it is not at its power limit. Medians.
Outputs are compared with cuDNN's, or else with the first kernel's; gradients that are called deterministic with those
of another launch, bit by bit.
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


class GradientPointers(ctypes.Structure):
    _fields_ = [(name, ctypes.c_void_p) for name in ("q", "k", "v", "o", "d_o", "lse", "dq", "dk", "dv")]


def arguments_of():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("which", choices=["forward", "backward"])
    parser.add_argument("--library", required=True, help="libattention_forward_shared.so or that of backward")
    parser.add_argument("--site", help="folder of Python packages to look into first")
    parser.add_argument("--head-dims", type=int, nargs="+", default=[128, 64])
    parser.add_argument("--lengths", type=int, nargs="+", default=[65536, 32768, 16384, 8192, 4096, 2048, 1024, 512])
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--rest-ms", type=float, default=0)
    parser.add_argument("--dtype", choices=["bfloat16", "float16"], default="bfloat16")
    parser.add_argument("--csv", help="also write the rows to this file")
    return parser.parse_args()


class Library:
    """This project's kernels. Plans live as long as the object."""

    def __init__(self, path, which):
        self.calls, self.suffix, self.plans = ctypes.CDLL(path), "_backward" if which == "backward" else "", []
        self.plan = self.calls["natten_sim_plan_" + ("backward" if self.suffix else "sequence")]
        self.plan.restype = ctypes.c_void_p
        self.calls["natten_sim_launch" + self.suffix].argtypes = [ctypes.c_void_p]
        self.calls["natten_sim_destroy" + self.suffix].argtypes = [ctypes.c_void_p]

    def launch_of(self, pointers, *sizes):
        plan = self.plan(ctypes.byref(pointers), *sizes)
        if not plan:
            raise RuntimeError("the kernel refused its problem")
        self.plans.append(plan)

        def launch():
            if self.calls["natten_sim_launch" + self.suffix](plan) != 0:
                raise RuntimeError("the launch failed")

        return launch

    def free(self):
        for plan in self.plans:
            self.calls["natten_sim_destroy" + self.suffix](plan)
        self.plans = []


def sizes_of(q, lengths, causal):
    batch, tokens, heads, head_dim = q.shape
    sizes = [batch, heads, heads, *[tokens] * lengths, head_dim]
    return [*map(ctypes.c_long, sizes), ctypes.c_int(str(q.dtype) == "torch.float16"), ctypes.c_int(causal)]


def forward_kernels(library, flash, torch, inputs, causal):
    """Calls by name; each gives a tuple of outputs."""
    q, k, v, _ = inputs
    o = torch.full_like(q, float("nan"))
    lse = torch.empty(q.shape[0], q.shape[2], q.shape[1], device="cuda", dtype=torch.float32)
    launch = library.launch_of(Pointers(*(each.data_ptr() for each in (q, k, v, o, lse))), *sizes_of(q, 2, causal))
    found = {"this": lambda: (launch(), o)[1:]}
    if flash is not None:
        found["fa4"] = lambda: flash._flash_attn_fwd(q, k, v, causal=causal, return_lse=True)[:1]
    rows = [each.transpose(1, 2) for each in (q, k, v)]
    cudnn = torch.ops.aten._scaled_dot_product_cudnn_attention
    found["cudnn"] = lambda: (cudnn(*rows, None, True, 0.0, causal, False)[0].transpose(1, 2),)
    return found


def order_of(q, causal, workers, ordered):
    """The fastest order that was measured. Unordered, a head's chains run together and read the same Q tiles. In an
    order, a dQ tile's next owner comes when it has been handed on."""
    _, tokens, _, head_dim = q.shape
    if ordered:
        return b"symmetric-shift+spread" if causal else b"shift+spread"
    heads = -(-workers * 128 // tokens)  # as many as fill the GPU
    return f"ascending+sections:{2 * heads if causal and head_dim <= 64 and tokens >= 4096 else heads}".encode()


def backward_kernels(library, flash, torch, inputs, causal):
    """Calls by name; each gives dQ, dK and dV. All but cuDNN begin from the same O and LSE."""
    q, k, v, grad = inputs
    rows = [each.transpose(1, 2) for each in (q, k, v)]
    aten = torch.ops.aten
    o, lse, cum_q, cum_k, max_q, max_k, seed, offset = aten._scaled_dot_product_cudnn_attention(
        *rows, None, True, 0.0, causal, False)[:8]
    out, sums = o.transpose(1, 2).contiguous(), lse.reshape(q.shape[0], q.shape[2], q.shape[1]).contiguous()
    found = {}
    workers = torch.cuda.get_device_properties(q.device).multi_processor_count
    for name, ordered in (("this unordered", 0), ("this deterministic", 1)):
        grads = [torch.full_like(each, float("nan")) for each in (q, k, v)]
        pointers = GradientPointers(*(each.data_ptr() for each in (q, k, v, out, grad, sums, *grads)))
        launch = library.launch_of(pointers, *sizes_of(q, 1, causal), order_of(q, causal, workers, ordered),
                                   ctypes.c_int(ordered))
        found[name] = lambda launch=launch, grads=grads: (launch(), *grads)[1:]
    if flash is not None:
        for name, ordered in (("fa4 unordered", False), ("fa4 deterministic", True)):
            found[name] = lambda ordered=ordered: flash._flash_attn_bwd(
                q, k, v, out, grad, sums, causal=causal, deterministic=ordered)[:3]
    found["cudnn unordered"] = lambda: tuple(
        each.transpose(1, 2) for each in aten._scaled_dot_product_cudnn_attention_backward(
            grad.transpose(1, 2), *rows, o, lse, seed, offset, None, cum_q, cum_k, max_q, max_k, 0.0, causal))
    return found


def refuse_wrong(calls):
    outputs = {name: tuple(each.clone() for each in call()) for name, call in calls.items()}
    references = next((each for name, each in outputs.items() if "cudnn" in name), next(iter(outputs.values())))
    for name, each in outputs.items():
        for got, reference in zip(each, references):
            error = ((got.float() - reference.float()).norm() / reference.float().norm()).item()
            if not error <= TOLERANCE:
                raise RuntimeError(f"{name} is wrong: relative error {error:.2e}")
        if "deterministic" in name and not all(bool((a == b).all()) for a, b in zip(each, calls[name]())):
            raise RuntimeError(f"{name} gave other bits the second time")


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
    library = Library(arguments.library, arguments.which)
    forward = arguments.which == "forward"
    calls_of = forward_kernels if forward else backward_kernels
    torch.manual_seed(1)
    generator, kind = random.Random(1), getattr(torch, arguments.dtype)
    cover = torch.empty(256 << 20, dtype=torch.uint8, device="cuda")
    rows = ["head_dim,mask,length,kernel,ms,tflops_per_s"]
    for head_dim in arguments.head_dims:
        for causal in (False, True):
            for length in arguments.lengths:
                shape = (max(TOKENS // length, 1), length, HIDDEN // head_dim, head_dim)
                inputs = [torch.randn(shape, device="cuda", dtype=kind) for _ in range(4)]
                calls = calls_of(library, flash, torch, inputs, causal)
                refuse_wrong(calls)
                times = medians(calls, cover, arguments, torch, generator)
                library.free()
                products = (2 if forward else 5) * (0.5 if causal else 1)
                operations = 2.0 * products * shape[0] * shape[2] * length * length * head_dim
                for name, ms in times.items():
                    rows.append(f"{head_dim},{'causal' if causal else 'full'},{length},{name},{ms:.4f},"
                                f"{operations / ms / 1e9:.1f}")
                    print(rows[-1], flush=True)
    if arguments.csv:
        with open(arguments.csv, "w", encoding="utf-8") as file:
            file.write("\n".join(rows) + "\n")


if __name__ == "__main__":
    main()
