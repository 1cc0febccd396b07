"""Modes that see the functions of torch.nn.functional which dispatch."""

from __future__ import annotations

from typing import Any

ACTIVE: list[Any] = []


class TorchFunctionMode:
    def __enter__(self) -> TorchFunctionMode:
        ACTIVE.append(self)
        return self

    def __exit__(self, *error: Any) -> None:
        assert ACTIVE.pop() is self


def dispatch(function: Any, args: Any, kwargs: Any) -> Any:
    """As PyTorch does: the mode is left while it is asked."""
    if not ACTIVE:
        return function.plain(*args, **kwargs)
    mode = ACTIVE.pop()
    try:
        return mode.__torch_function__(function, (), args, kwargs)
    finally:
        ACTIVE.append(mode)
