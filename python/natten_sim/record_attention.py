"""Records where a model's attention lies, from its calls of PyTorch's scaled_dot_product_attention.

    python -m natten_sim.record_attention --layout 30x48x80 --layers 60 --output attention.npy generate.py --steps 4

runs a Python program and writes the table that `recall=` of search() and advise() reads. From Python:

    with natten_sim.record_attention.Recorder((30, 48, 80), layers=60) as recorder:
        model(latents)
    np.save("attention.npy", recorder.tables())

Calls count whose queries and keys are the layout's tokens, with `extra_tokens` others (of a text) before or behind
them; cross-attention is left alone. The n-th such call of a pass is layer n. Kernels that a model calls without
PyTorch's function, such as flash-attn's own, are not seen, and nor is what torch.compile has compiled.
"""

from __future__ import annotations

import argparse
import math
import runpy
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from natten_sim._error import Error

NAME = "scaled_dot_product_attention"


def _refusal(parameter: str, value: object, accepted: str) -> Error:
    return Error(f"{parameter}: {value} is not valid; accepted: {accepted}", parameter, str(value), accepted)


def _places(layout: Sequence[int]) -> npt.NDArray[np.int64]:
    """Where each token stands in a table flattened, but for a constant: two places differ as their tokens' offsets do."""
    grid = np.zeros(tuple(layout), dtype=np.int64)
    for axis, length in enumerate(layout):
        step = math.prod(2 * other - 1 for other in layout[axis + 1 :])
        grid += step * np.arange(length).reshape([-1 if other == axis else 1 for other in range(len(layout))])
    return grid.reshape(-1)


class Recorder:
    """Sees the calls of scaled_dot_product_attention while it is entered, and adds up their attention by offset.

    Args:
        layout: Tokens an axis.
        layers: Calls of a pass that have the layout's tokens [as many as there are calls].
        samples: Queries of each call that are drawn, without replacement.
        extra_tokens: Tokens of each sequence that are none of the layout's.
        first_token: Where the layout begins in the sequence.
        every: Of how many passes one is recorded.
        seed: Of the samples.

    Source:
        Softmax of the scaled logits among the layout's tokens; docs/python-bridges.md.
    """

    def __init__(self, layout: Sequence[int], layers: int | None = None, samples: int = 64, extra_tokens: int = 0,
                 first_token: int = 0, every: int = 1, seed: int = 0) -> None:
        self.layout = tuple(layout)
        if not self.layout or min(self.layout) < 1:
            raise _refusal("layout", self.layout, "1 token or more an axis")
        for name, value, least in (("layers", layers, 1), ("samples", samples, 1), ("extra_tokens", extra_tokens, 0),
                                   ("every", every, 1)):
            if value is not None and value < least:
                raise _refusal(name, value, f"{least} or more")
        if not 0 <= first_token <= extra_tokens:
            raise _refusal("first_token", first_token, f"0..{extra_tokens}, the extra tokens")
        self.layers, self.samples, self.extra_tokens = layers, samples, extra_tokens
        self.first_token, self.every = first_token, every
        self.seen = self.recorded = self.others = 0  # calls: of the layout; of those added up; of other sequences
        self._random = np.random.default_rng(seed)
        self._places = _places(self.layout)
        self._sums: list[npt.NDArray[np.float32]] = []
        self._counts: list[int] = []
        self._inside = 0
        self._mode: Any = None
        self._original: Any = None

    def __enter__(self) -> Recorder:
        import torch.nn.functional
        from torch.overrides import TorchFunctionMode

        recorder, original = self, getattr(torch.nn.functional, NAME)

        def seen(*args: Any, **kwargs: Any) -> Any:
            recorder._see(*args, **kwargs)
            recorder._inside += 1
            try:
                return original(*args, **kwargs)
            finally:
                recorder._inside -= 1

        class Mode(TorchFunctionMode):  # type: ignore[misc,unused-ignore]
            """For those who have imported the function under a name of their own."""

            def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
                if getattr(function, "__name__", "") == NAME and not recorder._inside:
                    recorder._see(*args, **(kwargs or {}))
                return function(*args, **(kwargs or {}))

        # PyTorch's own modules call the function where no mode is active.
        self._original = original
        setattr(torch.nn.functional, NAME, seen)
        self._mode = Mode()
        self._mode.__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        import torch.nn.functional

        self._mode.__exit__(*error)
        setattr(torch.nn.functional, NAME, self._original)

    def tables(self) -> npt.NDArray[np.float32]:
        """(layers, heads, 2 * length - 1 for each axis): shares of the attention, which add up to 1 in each head.

        Raises:
            Error: No call had the layout's tokens, or fewer than there are layers.
        """
        if not self._sums or (self.layers is not None and len(self._sums) < self.layers):
            raise _refusal("layout", self.layout, f"one of a model's calls: {self.seen} had its tokens, {self.others} others")
        shape = tuple(2 * length - 1 for length in self.layout)
        return np.stack([(total / count).reshape(-1, *shape)
                         for total, count in zip(self._sums, self._counts)])

    def _see(self, query: Any, key: Any, value: Any, attn_mask: Any = None, dropout_p: float = 0.0,
             is_causal: bool = False, scale: float | None = None, enable_gqa: bool = False) -> None:
        tokens = len(self._places) + self.extra_tokens
        if len(query.shape) != 4 or query.shape[2] != tokens or key.shape[2] != tokens:
            self.others += 1
            return
        layer, number = self.seen, 0
        if self.layers is not None:
            number, layer = divmod(self.seen, self.layers)
        self.seen += 1
        if number % self.every:
            return
        self.recorded += 1
        table = self._table(query, key, attn_mask, is_causal, scale)
        if layer < len(self._sums):
            self._sums[layer] += table
            self._counts[layer] += 1
        else:
            self._sums.append(table)
            self._counts.append(1)

    def _table(self, query: Any, key: Any, attn_mask: Any, is_causal: bool, scale: float | None) -> npt.NDArray[np.float32]:
        """(heads, offsets), the mean of the batch."""
        import torch

        tokens, heads = len(self._places), query.shape[1]
        drawn = np.sort(self._random.permutation(tokens)[: self.samples])
        centre = sum((length - 1) * math.prod(2 * other - 1 for other in self.layout[axis + 1 :])
                     for axis, length in enumerate(self.layout))
        offsets = self._places[None, :] - self._places[drawn][:, None] + centre
        at = torch.from_numpy(offsets.reshape(-1)).to(query.device)
        rows = torch.from_numpy(drawn + self.first_token).to(query.device)
        span = slice(self.first_token, self.first_token + tokens)
        factor = 1 / math.sqrt(query.shape[3]) if scale is None else scale
        result = np.zeros((heads, math.prod(2 * length - 1 for length in self.layout)), dtype=np.float32)
        with torch.no_grad():
            for batch in range(query.shape[0]):
                for head in range(heads):
                    kv_head = head * key.shape[1] // heads
                    logits = query[batch, head][rows].float() @ key[batch, kv_head][span].float().T * factor
                    hidden = self._hidden(attn_mask, is_causal, batch, head, drawn)
                    if hidden is not None:
                        logits = logits + torch.from_numpy(hidden).to(query.device)
                    weights = logits.softmax(-1) / (len(drawn) * query.shape[0])
                    table = torch.zeros(result.shape[1], device=query.device)
                    table.index_add_(0, at, weights.reshape(-1))
                    result[head] += np.asarray(table.cpu().numpy(), dtype=np.float32)
        return result

    def _hidden(self, attn_mask: Any, is_causal: bool, batch: int, head: int,
                drawn: npt.NDArray[np.int64]) -> npt.NDArray[np.float32] | None:
        """What is added to the logits of the drawn queries; none: nothing."""
        tokens = len(self._places)
        if is_causal:
            return np.where(np.arange(tokens)[None, :] <= drawn[:, None], 0, -np.inf).astype(np.float32)
        if attn_mask is None:
            return None
        mask = attn_mask.detach().cpu()
        mask = np.asarray(mask.numpy() if mask.dtype == _bool() else mask.float().numpy())
        mask = mask.reshape((1,) * (4 - mask.ndim) + mask.shape)
        part = mask[min(batch, mask.shape[0] - 1), min(head, mask.shape[1] - 1)]
        part = np.broadcast_to(part, (tokens + self.extra_tokens,) * 2)
        part = part[drawn + self.first_token, self.first_token : self.first_token + tokens]
        return np.where(part, 0, -np.inf).astype(np.float32) if part.dtype == np.bool_ else part.astype(np.float32)


def _bool() -> Any:
    import torch

    return torch.bool


def _layout(text: str) -> tuple[int, ...]:
    return tuple(map(int, text.split("x")))


def main(words: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        prog="python -m natten_sim.record_attention",
        description="Run a Python program and record where the attention of its model lies, by offset.")
    parser.add_argument("--layout", type=_layout, required=True, metavar="LxLxL", help="tokens an axis")
    parser.add_argument("--layers", type=int, metavar="N", help="attention calls of a pass [all calls]")
    parser.add_argument("--samples", type=int, default=64, metavar="N", help="queries drawn a call [%(default)s]")
    parser.add_argument("--extra-tokens", type=int, default=0, metavar="N",
                        help="tokens of each sequence that are none of the layout's [%(default)s]")
    parser.add_argument("--first-token", type=int, default=0, metavar="N",
                        help="where the layout begins in the sequence [%(default)s]")
    parser.add_argument("--every", type=int, default=1, metavar="N", help="record one of N passes [%(default)s]")
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="of the samples [%(default)s]")
    parser.add_argument("--output", default="attention.npy", metavar="FILE", help="table to write [%(default)s]")
    parser.add_argument("program", help="Python file to run")
    parser.add_argument("arguments", nargs=argparse.REMAINDER, help="what it is given")
    flags = parser.parse_args(words)
    before = sys.argv
    try:
        recorder = Recorder(flags.layout, flags.layers, flags.samples, flags.extra_tokens, flags.first_token, flags.every,
                            flags.seed)
        sys.argv = [flags.program, *flags.arguments]
        with recorder:
            runpy.run_path(flags.program, run_name="__main__")
        tables = recorder.tables()
    except Error as error:
        sys.exit(f"record_attention: error: {error}")
    finally:
        sys.argv = before
    np.save(flags.output, tables)
    print(f"{flags.output}: {tables.shape[0]} layers of {tables.shape[1]} heads from {recorder.recorded} calls; "
          f"{recorder.others} calls of other sequences were left alone")


if __name__ == "__main__":
    main()
