#!/usr/bin/env python3
"""Times natten_sim.ops on this GPU: beside PyTorch's attention, in a block that trains, or beside frozen predictions.

    python3 scripts/time_operators.py beside > beside.csv
    python3 scripts/time_operators.py train [--site FOLDER] > train.csv
    python3 scripts/time_operators.py check data/predictions/h200_operators.json > check.csv

`beside` runs the kernels of one problem in turns, round after round, and prints medians: forward, and backward alone.
`train` trains one diffusion transformer block, twice with each attention, in turns, and prints milliseconds per step,
losses and whether both runs have the same bits; FOLDER has flash_attn.cute. `check` asks natten_sim.check() at each
point of the file. All need natten_sim with the extra ops; see docs/ops.md.
"""

from __future__ import annotations

import argparse
import csv
import json
import site
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.functional import scaled_dot_product_attention

import natten_sim
from natten_sim import ops

TOKENS = 16384  # in all
CASES = [(dim, causal, tokens) for dim in (128, 64) for causal in (False, True) for tokens in (16384, 4096)]
NEIGHBORHOODS = [((64, 128), (32, 32), (1, 1)), ((64, 128), (32, 32), (16, 8)), ((16, 32, 32), (8, 16, 16), (1, 1, 1)),
                 ((16, 32, 32), (8, 16, 16), (2, 8, 8)), ((16384,), (2048,), (1,))]


def with_backend(backend: SDPBackend, causal: bool) -> Callable[..., Any]:
    """PyTorch's attention by one of its libraries."""
    def run(q: Any, k: Any, v: Any) -> Any:
        with sdpa_kernel(backend):
            return scaled_dot_product_attention(q, k, v, is_causal=causal)
    return run


def flex(allowed: Callable[..., Any] | None, tokens: int) -> Callable[..., Any]:
    """FlexAttention, compiled, with its block mask made beforehand."""
    from torch.nn.attention.flex_attention import create_block_mask, flex_attention

    torch._dynamo.reset()  # or the limit of recompilations is reached
    compiled = torch.compile(flex_attention)
    blocks = None if allowed is None else create_block_mask(allowed, None, None, tokens, tokens, device="cuda")
    return lambda q, k, v: compiled(q, k, v, block_mask=blocks)


def causal_mask(batch: Any, head: Any, query: Any, key: Any) -> Any:
    """For FlexAttention."""
    return key <= query


def neighborhood_mask(layout: Any, window: Any, stride: Any) -> Callable[..., Any]:
    """For FlexAttention: NATTEN's rule without dilation and causal axes."""
    def allowed(batch: Any, head: Any, query: Any, key: Any) -> Any:
        seen, scale = True, 1
        for length, size, step in zip(reversed(layout), reversed(window), reversed(stride), strict=True):
            at, other = query // scale % length, key // scale % length
            leader = torch.clamp(at // step * step + step // 2, max=length - 1)
            begin = torch.clamp(torch.clamp(leader - size // 2, min=0), max=length - size)
            seen = seen & (other >= begin) & (other < begin + size)
            scale *= length
        return seen
    return allowed


def once_ms(run: Callable[[], Any]) -> float:
    """Between two events, behind a wait that hides what the host does to launch."""
    torch.cuda._sleep(2_000_000)
    begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    begin.record()
    run()
    end.record()
    end.synchronize()
    return begin.elapsed_time(end)


def in_turns(kernels: dict[str, Callable[..., Any]], tensors: Any, rounds: int) -> dict[str, tuple[float, float]]:
    """Median milliseconds of forward and backward of each; nan where it does not run."""
    times: dict[str, tuple[list[float], list[float]]] = {}
    weight = torch.randn_like(tensors[0])
    running = dict(kernels)
    for number in range(rounds + 2):
        for name, kernel in list(running.items()):
            try:
                with torch.no_grad():
                    forward = once_ms(lambda kernel=kernel: kernel(*tensors))
                out = kernel(*tensors)
                backward = once_ms(lambda out=out: torch.autograd.grad(out, tensors, weight))
            except Exception as error:  # noqa: BLE001 - whatever a rival's library raises
                print(f"{name}: {str(error).splitlines()[0]}", file=sys.stderr)
                del running[name]
                continue
            if number >= 2:
                for part, value in zip(times.setdefault(name, ([], [])), (forward, backward), strict=True):
                    part.append(value)
    nothing = float("nan")
    return {name: tuple(map(statistics.median, times[name])) if name in times else (nothing, nothing) for name in kernels}  # type: ignore[misc]


def draw(shape: Any, dtype: Any = torch.bfloat16) -> Any:
    """Normal values on the GPU."""
    return torch.randn(shape, device="cuda", dtype=torch.float32).to(dtype)


def beside(rounds: int) -> None:
    """Sequences, then neighborhoods."""
    rows = csv.writer(sys.stdout, lineterminator="\n")
    rows.writerow(["gpu", "problem", "head_dim", "kernel", "forward_ms", "backward_ms", "forward_tflops", "backward_tflops"])

    def write(problem: str, dim: int, pairs: float, times: dict[str, tuple[float, float]]) -> None:
        for name, (forward, backward) in times.items():
            rates = (4e-9 * pairs * dim / forward, 10e-9 * pairs * dim / backward)
            rows.writerow([torch.cuda.get_device_name(), problem, dim, name, f"{forward:.4f}", f"{backward:.4f}",
                           *(f"{rate:.0f}" for rate in rates)])
        sys.stdout.flush()

    write_host_times()
    for dim, causal, tokens in CASES:
        shape = (TOKENS // tokens, tokens, 2048 // dim, dim)
        tensors = [draw(shape).transpose(1, 2).requires_grad_() for _ in range(3)]
        kernels = {"natten_sim.ops": lambda q, k, v, causal=causal: ops.attention(q, k, v, causal=causal),
                   "cuDNN": with_backend(SDPBackend.CUDNN_ATTENTION, causal),
                   "FlashAttention-2": with_backend(SDPBackend.FLASH_ATTENTION, causal),
                   "FlexAttention": flex(causal_mask if causal else None, tokens)}
        pairs = TOKENS * tokens * (2048 // dim) / (2 if causal else 1)
        write(f"{'causal' if causal else 'full'} {tokens}", dim, pairs, in_turns(kernels, tensors, rounds))
    for layout, window, stride in NEIGHBORHOODS:
        heads, dim = 16, 128
        tensors = [draw((1, *layout, heads, dim)).requires_grad_() for _ in range(3)]
        tokens, seen = torch.tensor(layout).prod().item(), torch.tensor(window).prod().item()
        flexed = flex(neighborhood_mask(layout, window, stride), tokens)
        kernels = {"natten_sim.ops": lambda q, k, v, w=window, s=stride: ops.neighborhood_attention(q, k, v, w, stride=s),
                   "FlexAttention": lambda *given, run=flexed, axes=len(layout), layout=layout: run(
                       *(tensor.flatten(1, axes).transpose(1, 2) for tensor in given)).transpose(1, 2).unflatten(1, layout)}
        problem = " ".join("x".join(map(str, sizes)) for sizes in (layout, window, stride))
        write(f"neighborhood {problem}", dim, tokens * seen * heads, in_turns(kernels, tensors, rounds))


def write_host_times() -> None:
    """What a call takes the host, on stderr: the mean of 200 calls that the GPU does not wait for."""
    q, k, v = (draw((1, 2, 128, 128)) for _ in range(3))
    for name, run in (("natten_sim.ops", lambda: ops.attention(q, k, v)),
                      ("scaled_dot_product_attention", lambda: scaled_dot_product_attention(q, k, v))):
        run()
        torch.cuda.synchronize()
        begin = time.perf_counter()
        for _ in range(200):
            run()
        print(f"{name}: {(time.perf_counter() - begin) / 200 * 1e6:.0f} us a call on the host", file=sys.stderr)


class Block(torch.nn.Module):
    """A diffusion transformer block over a layout of tokens: modulated by the noise level, attention, MLP."""

    def __init__(self, attention: Callable[..., Any], hidden: int, head_dim: int) -> None:
        super().__init__()
        self.attention, self.heads = attention, (hidden // head_dim, head_dim)
        self.norms = torch.nn.ModuleList(torch.nn.LayerNorm(hidden, elementwise_affine=False) for _ in range(2))
        linear = torch.nn.Linear
        self.modulation = torch.nn.Sequential(linear(1, hidden), torch.nn.SiLU(), linear(hidden, 6 * hidden))
        self.qkv, self.out = linear(hidden, 3 * hidden), linear(hidden, hidden)
        self.mlp = torch.nn.Sequential(linear(hidden, 4 * hidden), torch.nn.GELU(), linear(4 * hidden, hidden))

    def forward(self, x: Any, level: Any) -> Any:
        """x: (batch, *layout, hidden)."""
        shifts = self.modulation(level).chunk(6, -1)
        y = self.norms[0](x) * (1 + shifts[0]) + shifts[1]
        q, k, v = (each.unflatten(-1, self.heads) for each in self.qkv(y).chunk(3, -1))
        x = x + shifts[2] * self.out(self.attention(q, k, v).flatten(-2))
        return x + shifts[5] * self.mlp(self.norms[1](x) * (1 + shifts[3]) + shifts[4])


def flattened(run: Callable[..., Any], layout: Any, transposed: bool = True) -> Callable[..., Any]:
    """From (batch, *layout, heads, head_dim) to a call that takes heads before tokens (transposed) or after them."""
    def call(*given: Any) -> Any:
        flat = [each.flatten(1, len(layout)) for each in given]
        out = run(*(each.transpose(1, 2) if transposed else each for each in flat))
        return (out.transpose(1, 2) if transposed else out).unflatten(1, layout)
    return call


def attentions(layout: Any, window: Any, stride: Any) -> dict[str, Callable[..., Any]]:
    """Dense, then a neighborhood."""
    tokens = torch.tensor(layout).prod().item()
    found = {"ops": flattened(ops.attention, layout)}
    try:
        from flash_attn.cute import flash_attn_func

        for name, ordered in (("FlashAttention-4", False), ("FlashAttention-4 deterministic", True)):
            def run(q: Any, k: Any, v: Any, ordered: bool = ordered) -> Any:
                out = flash_attn_func(q, k, v, deterministic=ordered)
                return out[0] if isinstance(out, tuple) else out
            found[name] = flattened(run, layout, transposed=False)
    except ImportError as error:
        print(f"FlashAttention-4: {error}", file=sys.stderr)
    found["cuDNN"] = flattened(with_backend(SDPBackend.CUDNN_ATTENTION, False), layout)
    found["FlashAttention-2"] = flattened(with_backend(SDPBackend.FLASH_ATTENTION, False), layout)
    found["neighborhood ops"] = lambda q, k, v: ops.neighborhood_attention(q, k, v, window, stride=stride)
    found["neighborhood FlexAttention"] = flattened(flex(neighborhood_mask(layout, window, stride), tokens), layout)
    return found


def train(steps: int, layout: Any = (16, 32, 32), hidden: int = 2048, head_dim: int = 128) -> None:
    """Every attention begins with the same weights and sees the same noise."""
    runs: dict[tuple[str, int], tuple[Any, Any, list[float], list[float]]] = {}
    for name, attention in attentions(layout, (8, 16, 16), (2, 8, 8)).items():
        for copy in range(2):
            torch.manual_seed(1)
            block = Block(attention, hidden, head_dim).cuda()
            runs[name, copy] = (block, torch.optim.AdamW(block.parameters(), 3e-4, fused=True), [], [])
    torch.manual_seed(2)
    signal = draw((1, *layout, hidden), torch.float32)
    for _ in range(steps):
        noise, level = draw(signal.shape, torch.float32), torch.rand(1, 1, 1, 1, 1, device="cuda")
        for block, optimizer, losses, times in runs.values():
            def step(block: Any = block, optimizer: Any = optimizer, losses: list[Any] = losses, x: Any = noise,
                     at: Any = level) -> None:
                optimizer.zero_grad(set_to_none=True)
                with torch.autocast("cuda", torch.bfloat16):
                    guess = block((1 - at) * signal + at * x, at)
                loss = (guess.float() - (x - signal)).square().mean()
                loss.backward()
                optimizer.step()
                losses.append(loss.detach())
            times.append(once_ms(step))
    rows = csv.writer(sys.stdout, lineterminator="\n")
    rows.writerow(["gpu", "attention", "step_ms", "first_loss", "last_loss", "same_bits"])
    for name in dict.fromkeys(name for name, _ in runs):
        (block, _, losses, times), (other, _, again, more) = (runs[name, copy] for copy in range(2))
        same = all(map(torch.equal, losses, again)) and all(map(torch.equal, block.parameters(), other.parameters()))
        rows.writerow([torch.cuda.get_device_name(), name, f"{statistics.median(times[5:] + more[5:]):.3f}",
                       f"{losses[0].item():.5f}", f"{losses[-1].item():.5f}", same])


def numbers(text: str) -> tuple[int, ...]:
    """Of 4x8x8."""
    return tuple(map(int, text.split("x")))


def check(path: str, runs: int) -> None:
    """A row a point of the file."""
    with open(path, encoding="utf-8") as file:
        points = json.load(file)["rows"]
    rows = csv.writer(sys.stdout, lineterminator="\n")
    rows.writerow(["gpu", *points[0][0], "predicted_ms", "low_ms", "high_ms", "measured_ms", "lowest_ms", "highest_ms",
                   "said_ms"])
    for point, predicted, low, high in points:
        dtype = {"bf16": torch.bfloat16, "fp16": torch.float16}[point["dtype"]]
        layout, causal = numbers(point["input"]), numbers(point["causal"])
        if point["kernel"] == "sequence":
            tensors = [draw((1, point["heads"], layout[0], point["head_dim"]), dtype) for _ in range(3)]
            found = natten_sim.check(*tensors, causal=bool(causal[0]), runs=runs)
        else:
            tensors = [draw((1, *layout, point["heads"], point["head_dim"]), dtype) for _ in range(3)]
            found = natten_sim.check(*tensors, numbers(point["window"]), stride=numbers(point["stride"]), causal=causal,
                                     runs=runs)
        rows.writerow([torch.cuda.get_device_name(), *point.values(), predicted, low, high, f"{found.measured_ms:.4f}",
                       f"{found.lowest_ms:.4f}", f"{found.highest_ms:.4f}",
                       "" if found.predicted_ms is None else f"{found.predicted_ms:.4f}"])
        sys.stdout.flush()


def main() -> None:
    """See above."""
    torch.manual_seed(1)
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["beside", "train", "check"])
    parser.add_argument("predictions", nargs="?", help="check: the file with frozen predictions")
    parser.add_argument("--rounds", type=int, default=20, help="timed runs of each kernel, or steps of training [20]")
    parser.add_argument("--site", help="train: a folder with flash_attn.cute")
    arguments = parser.parse_args()
    if arguments.what == "beside":
        beside(arguments.rounds)
    elif arguments.what == "train":
        if arguments.site:
            site.addsitedir(arguments.site)  # reads its .pth files
        train(arguments.rounds)
    elif arguments.predictions is None:
        parser.error("check needs the file with predictions")
    else:
        check(arguments.predictions, arguments.rounds)


if __name__ == "__main__":
    main()
