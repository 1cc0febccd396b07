"""This project's attention, from the shared libraries of a build with -DNATTEN_SIM_BUILD_BENCH=ON.

    ninja -C build/cuda attention_forward_shared attention_backward_shared
"""

from __future__ import annotations

import ctypes
import glob
import math
from typing import Any

from natten_sim.measure import Launch, Unavailable

FORWARD, BACKWARD = "natten_sim_launch", "natten_sim_launch_backward"


def numbers(text: str) -> list[int]:
    return [int(word) for word in text.split("x")]


def order_of(run: dict[str, Any], workers: int) -> bytes:
    """The fastest order that was measured. Unordered, a head's chains run together and read the same Q tiles."""
    tokens, causal = int(run["input"]), run.get("causal") == "1"
    if run.get("mode") == "deterministic":
        return b"symmetric-shift+spread" if causal else b"shift+spread"
    heads = -(-workers * 128 // tokens)  # as many as fill the GPU
    return f"ascending+sections:{2 * heads if causal and run['head_dim'] <= 64 and tokens >= 4096 else heads}".encode()


class OwnKernels:
    """Plans of launches, which live as long as those use them."""

    def __init__(self, build: str) -> None:
        self.calls = {}
        for call, name in ((FORWARD, "libattention_forward_shared.so"), (BACKWARD, "libattention_backward_shared.so")):
            for path in glob.glob(f"{build}/**/{name}", recursive=True):
                self.calls[call] = ctypes.CDLL(path)

    def _work(self, call: str, plan_call: str, tensors: list[Any], sizes: list[Any]) -> Any:
        """A launch of a plan. Sizes: C's `long`, but for those that are ctypes already."""
        if call not in self.calls:
            raise Unavailable("the folder of --build has no shared library with this kernel")
        library = self.calls[call]
        make = getattr(library, plan_call)
        make.restype = ctypes.c_void_p
        pointers = (ctypes.c_void_p * len(tensors))(*(each.data_ptr() for each in tensors))
        plan = make(ctypes.byref(pointers), *(ctypes.c_long(each) if isinstance(each, int) else each for each in sizes))
        if not plan:
            raise Unavailable("the kernel refused its problem")
        launch = getattr(library, call)
        launch.argtypes = [ctypes.c_void_p]

        def work(tensors: Any = tensors) -> None:  # which keeps them
            if launch(plan) != 0:
                raise RuntimeError("the launch failed")

        return work

    def prepared(self, run: dict[str, Any]) -> Launch:
        """As natten_sim.measure.prepared."""
        import torch

        layout, batch, heads = numbers(run["input"]), int(run.get("batch", 1)), int(run.get("heads", 1))
        tokens, head_dim = math.prod(layout), int(run.get("head_dim", 128))
        dense = len(layout) == 1 and run["window"] == run["input"]
        kind = torch.float16 if run.get("dtype") == "fp16" else torch.bfloat16
        q, k, v, gradient = (torch.randn(batch, tokens, heads, head_dim, device="cuda", dtype=kind) for _ in range(4))
        o, lse = torch.full_like(q, float("nan")), torch.empty(batch, heads, tokens, device="cuda", dtype=torch.float32)
        flags = [ctypes.c_int(kind == torch.float16), ctypes.c_int(run.get("causal") == "1")]
        if dense:
            launch = self._work(FORWARD, "natten_sim_plan_sequence", [q, k, v, o, lse],
                                [batch, heads, heads, tokens, tokens, head_dim, *flags])
        else:
            ones = "x".join(["1"] * len(layout))
            absent = {"stride": ones, "dilation": ones, "causal": ones.replace("1", "0")}
            names = ("input", "window", "stride", "dilation", "causal", "q_tile", "kv_tile")
            columns = [numbers(run.get(name) or absent[name]) for name in names]
            axes = [number for axis in zip(*columns, strict=True) for number in axis]
            launch = self._work(FORWARD, "natten_sim_plan_neighborhood", [q, k, v, o, lse],
                                [batch, heads, head_dim, flags[0], ctypes.c_int(len(layout)),
                                 (ctypes.c_long * len(axes))(*axes)])

        def forward() -> Any:
            launch()
            return o

        work = forward
        if run.get("pass") == "backward":
            if not dense:
                raise Unavailable("the shared library has no backward pass of neighborhoods")
            forward()
            grads = tuple(torch.full_like(each, float("nan")) for each in (q, k, v))
            workers = torch.cuda.get_device_properties(q.device).multi_processor_count
            back = self._work(BACKWARD, "natten_sim_plan_backward", [q, k, v, o, gradient, lse, *grads],
                              [batch, heads, heads, tokens, head_dim, *flags, order_of(run, workers),
                               ctypes.c_int(run.get("mode") == "deterministic")])

            def work() -> Any:
                back()
                return grads

        for _ in range(3):
            work()
        return Launch(work, forward, (q, k, v), lambda tensor: tensor[0, :, -1])
