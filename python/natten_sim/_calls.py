"""The attention calls of a run, as PyTorch, NATTEN, flash-attn and Helion are called."""

from __future__ import annotations

import dataclasses
import importlib
import importlib.util
import inspect
import sys
import types
from collections.abc import Callable
from typing import Any

import numpy as np

_DTYPES = {"torch.bfloat16": "bf16", "torch.float16": "fp16", "torch.float32": "fp32", "torch.float8_e4m3fn": "e4m3",
           "torch.float8_e5m2": "e5m2"}
_LONGEST_MATRIX = 1 << 14  # tokens of a matrix of token pairs that is looked at


@dataclasses.dataclass
class Found:
    """A call: keywords of count(), and a mask of sequences that has none."""

    name: str
    kind: str
    question: dict[str, Any]
    mask: Any = None  # a rule, or a BlockMask; none: a neighborhood, a full or a causal sequence
    backward: bool = False
    refusal: str = ""
    count: int = 1

    def key(self) -> Any:
        mask = self.mask if self.mask is None or isinstance(self.mask, str) else id(self.mask)
        return self.name, self.kind, sorted(self.question.items()), mask, self.backward, self.refusal


def _per_axis(value: Any, rank: int) -> tuple[Any, ...]:
    return tuple(value) if isinstance(value, list | tuple) else (value,) * rank


def _sequence(name: str, kind: str, q: Any, k: Any, v: Any, *, heads: int, tokens: int, batch: int) -> Found:
    """Dimensions of Q, K and V: the places of heads and of tokens."""
    length, keys = int(q.shape[tokens]), int(k.shape[tokens])
    question = {"input": (length,), "window": (length,), "heads": int(q.shape[heads]), "heads_kv": int(k.shape[heads]),
                "head_dim": int(q.shape[-1]), "dim_value": int(v.shape[-1]), "batch_size": batch,
                "dtype": _DTYPES.get(str(q.dtype), str(q.dtype))}
    found = Found(name, kind, question, backward=_needs_gradients(q, k, v))
    if keys != length:
        found.refusal = f"{length} queries see {keys} keys: times are of as many keys as queries"
    elif question["dtype"] not in _DTYPES.values():
        found.refusal = f"elements of {question['dtype']}"
    return found


def _needs_gradients(*tensors: Any) -> bool:
    import torch

    enabled = getattr(torch, "is_grad_enabled", lambda: True)()
    return bool(enabled) and any(bool(getattr(tensor, "requires_grad", False)) for tensor in tensors)


def _take_window(found: Found, left: int | None, right: int | None) -> None:
    """What a query sees before and behind itself; none: everything."""
    length = found.question["input"][0]
    left, right = (length - 1 if each is None or each < 0 else min(each, length - 1) for each in (left, right))
    if left == length - 1 and right == 0:
        found.question["causal"] = (True,)
    elif (left, right) != (length - 1, length - 1):
        found.mask = f"window:{left},{right}"


def _rule_of_matrix(found: Found, mask: Any) -> None:
    """A matrix of booleans that is a window is told as one."""
    length = found.question["input"][0]
    if str(mask.dtype) not in ("torch.bool", "bool"):
        found.refusal = "an additive mask: its values are not looked at"
    elif getattr(mask, "is_meta", False) or length > _LONGEST_MATRIX:
        found.refusal = "a mask of token pairs whose values are not known here"
    else:
        matrix = np.asarray(mask.detach().cpu().numpy(), dtype=bool)
        matrices = matrix.reshape(-1, *matrix.shape[-2:])
        first = np.broadcast_to(matrices[0], (length, length))
        if not all(np.array_equal(np.broadcast_to(each, (length, length)), first) for each in matrices[1:]):
            found.refusal = "a mask of token pairs that differs from head to head"
            return
        rows, columns = np.arange(length)[:, None], np.arange(length)[None, :]
        seen = np.nonzero(first)
        left = int(np.max(seen[0] - seen[1], initial=0))
        right = int(np.max(seen[1] - seen[0], initial=0))
        if np.array_equal(first, (columns >= rows - left) & (columns <= rows + right)):
            _take_window(found, left, right)
        else:
            found.refusal = "a mask of token pairs that is no window: natten_sim.flex.plan(token_mask=) makes blocks of it"


def _of_sdpa(name: str, given: dict[str, Any]) -> Found:
    q, k, v = (given[each] for each in ("query", "key", "value"))
    found = _sequence(name, "sdpa", q, k, v, heads=-3, tokens=-2, batch=int(np.prod(q.shape[:-3], dtype=int)))
    if given.get("is_causal") and not found.refusal:
        found.question["causal"] = (True,)
    mask = given.get("attn_mask") if given.get("attn_mask") is not None else given.get("attn_bias")
    if mask is not None and not found.refusal:
        _rule_of_matrix(found, mask)
    return found


def _of_fused_layer(name: str, given: dict[str, Any]) -> Found:
    """PyTorch's layers for inference, in which heads are parts of the embedding."""
    x: Any = given.get("src", given.get("query"))
    heads = given.get("num_heads", given.get("num_head"))
    batch, tokens, width = x.shape
    of_heads = x.reshape(batch, tokens, heads, width // heads)
    found = _sequence(name, "sdpa", of_heads, of_heads, of_heads, heads=-2, tokens=-3, batch=int(batch))
    if given.get("mask") is not None:
        found.refusal = found.refusal or "a mask in a fused layer: its values are not looked at"
    return found


def _of_flex(name: str, given: dict[str, Any]) -> Found:
    q, k, v = (given[each] for each in ("query", "key", "value"))
    found = _sequence(name, "flexattention", q, k, v, heads=1, tokens=2, batch=int(q.shape[0]))
    found.mask = given["block_mask"] if given.get("block_mask") is not None else "full"
    if given.get("score_mod") is not None:
        found.refusal = found.refusal or "a score_mod, whose cost nobody has measured"
    return found


def _of_flash(kind: str) -> Callable[[str, dict[str, Any]], Found]:
    def read(name: str, given: dict[str, Any]) -> Found:
        q, k, v = given["q"], given["k"], given["v"]
        found = _sequence(name, kind, q, k, v, heads=-2, tokens=-3, batch=int(q.shape[0]) if len(q.shape) == 4 else 1)
        left, right = given.get("window_size") or (None, None)
        if given.get("cu_seqlens_q") is not None:
            bounds = np.asarray(given["cu_seqlens_q"].detach().cpu().numpy())
            causal = "causal" if given.get("causal") else "full"
            found.mask = f"varlen:{causal}:" + ",".join(map(str, np.diff(bounds).tolist()))
        elif not found.refusal:
            _take_window(found, left, 0 if given.get("causal") else right)
        return found

    return read


def _of_natten(name: str, given: dict[str, Any]) -> Found:
    q, k, v = (given[each] for each in ("query", "key", "value"))
    rank = len(q.shape) - 3
    extra = given.get("additional_keys")
    question = {"input": tuple(map(int, q.shape[1 : 1 + rank])), "window": _per_axis(given["kernel_size"], rank),
                "stride": _per_axis(given.get("stride") or 1, rank), "dilation": _per_axis(given.get("dilation") or 1, rank),
                "causal": _per_axis(bool(given["is_causal"]) if isinstance(given.get("is_causal"), int) else
                                    given.get("is_causal") or False, rank),
                "heads": int(q.shape[-2]), "heads_kv": int(k.shape[-2]), "head_dim": int(q.shape[-1]),
                "dim_value": int(v.shape[-1]), "batch_size": int(q.shape[0]), "dtype": _DTYPES.get(str(q.dtype), str(q.dtype)),
                "add_kv": 0 if extra is None else int(extra.shape[1])}
    return Found(name, "natten", question, backward=_needs_gradients(q, k, v))


# Module, function, and what reads a call of it.
_FUNCTIONS: tuple[tuple[str, str, Callable[[str, dict[str, Any]], Found]], ...] = (
    ("torch.nn.functional", "scaled_dot_product_attention", _of_sdpa),
    ("torch.nn.attention.flex_attention", "flex_attention", _of_flex),
    *(("natten", f"na{rank}d", _of_natten) for rank in (1, 2, 3)),
    *(("natten.functional", f"na{rank}d", _of_natten) for rank in (1, 2, 3)),
    *((module, name, _of_flash(kind)) for module, kind in (("flash_attn", "fa2"), ("flash_attn_interface", "fa3"),
                                                          ("flash_attn.cute", "fa4"))
      for name in ("flash_attn_func", "flash_attn_varlen_func")),
)
_SDPA_PARAMETERS = ("query", "key", "value", "attn_mask", "dropout_p", "is_causal", "scale", "enable_gqa")
_OPERATORS = {"aten._scaled_dot_product_": _of_sdpa, "aten._transformer_encoder_layer_fwd": _of_fused_layer,
              "aten._native_multi_head_attention": _of_fused_layer}


def _module(name: str) -> Any:
    """None: it is not installed, or does not work here."""
    if name in sys.modules:
        return sys.modules[name]
    try:
        return importlib.import_module(name) if importlib.util.find_spec(name.split(".")[0]) else None
    except (ImportError, OSError, RuntimeError, AttributeError):
        return None


def _bound(function: Any, args: Any, kwargs: Any) -> dict[str, Any]:
    try:
        bound = dict(inspect.signature(function).bind(*args, **kwargs).arguments)
    except (TypeError, ValueError):  # of C: PyTorch's own
        bound = {}
    return bound if {"query", "q"} & bound.keys() else {**dict(zip(_SDPA_PARAMETERS, args, strict=False)), **kwargs}


class Watch:
    """Sees the calls that are made while it is entered. Tensors of the meta device are not computed: nothing is run."""

    def __init__(self) -> None:
        self.calls: list[Found] = []
        self._inside = 0
        self._replaced: list[tuple[Any, str, Any]] = []
        self._mode: Any = None

    def __enter__(self) -> Watch:
        for module_name, name, read in _FUNCTIONS:
            original = getattr(_module(module_name), name, None)
            if original is not None and not hasattr(original, "natten_sim_watched"):
                self._replace(original, self._watching(f"{module_name}.{name}", original, read))
        kernel = getattr(sys.modules.get("helion.runtime.kernel"), "Kernel", None)
        if kernel is not None:
            self._watch_helion(kernel)
        self._enter_dispatch()
        return self

    def __exit__(self, *error: Any) -> None:
        if self._mode is not None:
            self._mode.__exit__(*error)
        for holder, name, original in reversed(self._replaced):
            setattr(holder, name, original)

    def add(self, call: Found) -> None:
        for known in self.calls:
            if known.key() == call.key():
                known.count += 1
                return
        self.calls.append(call)

    def _replace(self, original: Any, watching: Any) -> None:
        """Wherever a module has the function, by whatever name, or compiled."""
        for module in list(sys.modules.values()):
            for name, value in list(getattr(module, "__dict__", {}).items()):
                compiled = type(value) is types.FunctionType and value.__dict__.get("_torchdynamo_orig_callable") is original
                if value is original or compiled:
                    self._replaced.append((module, name, value))
                    setattr(module, name, watching)

    def _watching(self, name: str, original: Any, read: Callable[[str, dict[str, Any]], Found]) -> Any:
        def watching(*args: Any, **kwargs: Any) -> Any:
            given = _bound(original, args, kwargs)
            if not self._inside:
                self.add(read(name, given))
            q: Any = given.get("query", given.get("q"))
            v: Any = given.get("value", given.get("v"))
            if getattr(q, "is_meta", False):
                return q.new_empty((*q.shape[:-1], v.shape[-1]))
            self._inside += 1
            try:
                return original(*args, **kwargs)
            finally:
                self._inside -= 1

        watching.natten_sim_watched = original  # type: ignore[attr-defined]
        return watching

    def _watch_helion(self, kernel: Any) -> None:
        original = kernel.__call__

        def watching(of: Any, *args: Any, **kwargs: Any) -> Any:
            tensors = [each for each in args if hasattr(each, "shape") and hasattr(each, "dtype")][:3]
            if len(tensors) == 3 and len({tuple(each.shape) for each in tensors[1:]}) == 1 and len(tensors[0].shape) >= 2:
                q, k, v = (each.reshape(1, 1, *each.shape) if len(each.shape) == 2 else each for each in tensors)
                call = _sequence(f"helion: {of.name}", "helion", q, k, v, heads=-3, tokens=-2,
                                 batch=int(np.prod(q.shape[:-3], dtype=int)))
                call.refusal = call.refusal or "what a Helion kernel masks is in its code: its configurations can be ranked"
                self.add(call)
            return original(of, *args, **kwargs)

        self._replaced.append((kernel, "__call__", original))
        kernel.__call__ = watching

    def _enter_dispatch(self) -> None:
        """For calls that no Python function makes: those of PyTorch's fused layers."""
        try:
            from torch.utils._python_dispatch import TorchDispatchMode
        except ImportError:  # no PyTorch that has it
            return
        watch = self

        class Mode(TorchDispatchMode):  # type: ignore[misc,unused-ignore]
            supports_higher_order_operators = True

            def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
                name = str(function)
                read = next((read for start, read in _OPERATORS.items() if name.startswith(start) and "backward" not in name), None)
                if read and not watch._inside:
                    names = [argument.name for argument in function._schema.arguments]
                    watch.add(read(name, {**dict(zip(names, args, strict=False)), **(kwargs or {})}))
                return function(*args, **(kwargs or {}))

        self._mode = Mode()
        self._mode.__enter__()
