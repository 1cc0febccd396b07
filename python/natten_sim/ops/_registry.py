"""Where the operators are defined: by schema, since torch.library.custom_op takes 0.1 ms longer a call."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

LIBRARY = torch.library.Library("natten_sim", "DEF")


def operator(schema: str, on_gpu: Callable[..., Any], fake: Callable[..., Any]) -> Any:
    """Defines natten_sim::NAME.

    Args:
        schema: `NAME(Tensor a) -> Tensor`.
        on_gpu: What it does.
        fake: What that gives, of tensors without data.

    Returns:
        The operator, to be called.
    """
    name = schema[: schema.index("(")]
    LIBRARY.define(schema)
    torch.library.impl(LIBRARY, name, "CUDA")(on_gpu)
    torch.library.register_fake(f"natten_sim::{name}", fake, lib=LIBRARY)
    return getattr(torch.ops.natten_sim, name).default
