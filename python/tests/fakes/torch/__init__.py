"""As much of PyTorch as the bridges use, on NumPy arrays: for machines without it."""

from __future__ import annotations

from typing import Any

import numpy as np


bool = np.dtype(np.bool_)  # noqa: A001: PyTorch's name
float32 = np.float32


class no_grad:
    def __enter__(self) -> None: ...

    def __exit__(self, *error: Any) -> None: ...


class Tensor(np.ndarray[Any, Any]):
    device = "cpu"

    def detach(self) -> Tensor:
        return self

    cpu = detach

    def float(self) -> Tensor:
        return self.astype(np.float32)

    def numpy(self) -> Any:
        return np.asarray(self)

    def softmax(self, dim: int) -> Tensor:
        weights = np.exp(self - self.max(axis=dim, keepdims=True))
        return weights / weights.sum(axis=dim, keepdims=True)  # type: ignore[no-any-return]

    def index_add_(self, dim: int, index: Any, source: Any) -> Tensor:
        assert dim == 0
        np.add.at(self, np.asarray(index), np.asarray(source))
        return self

    def to(self, device: Any) -> Tensor:
        return self

    def index_select(self, dim: int, index: Any) -> Tensor:
        return np.take(self, np.asarray(index), axis=dim).view(Tensor)


def from_numpy(values: Any) -> Tensor:
    return np.asarray(values).view(Tensor)


def arange(stop: int) -> Tensor:
    return from_numpy(np.arange(stop))


def zeros(*shape: int, device: Any = None) -> Tensor:
    return from_numpy(np.zeros(shape, dtype=np.float32))


def stack(tensors: Any) -> Tensor:
    return from_numpy(np.stack(tensors))
