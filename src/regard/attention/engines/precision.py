"""In which precision attention is summed: half-precision inputs accumulate in float32."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext

import torch
from torch import Tensor

HALF = (torch.float16, torch.bfloat16)


def accumulated(x: Tensor) -> Tensor:
    """`x` in the precision that sums are taken in: float32 for half precision, else its own."""
    return x.float() if x.dtype in HALF else x


def wide_dtype(device: torch.device) -> torch.dtype:
    """float64, or float32 on Apple's GPUs, which have none."""
    return torch.float32 if device.type == "mps" else torch.float64


def as_given(device: torch.device) -> AbstractContextManager[object]:
    """Keep autocast out of the arithmetic inside: the inputs' dtypes decide."""
    if torch.is_autocast_enabled(device.type):
        return torch.autocast(device.type, enabled=False)
    return nullcontext()
