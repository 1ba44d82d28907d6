"""Efficient channel attention: the gate of a channel depends on its neighbors (Wang 2020).

Shapes: x (B, C, *positions), gate (B, C).
"""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from regard.attention.engines import arguments
from regard.attention.feature_maps.gate import FeatureGate, check_feature_map, masked_mean


def adaptive_kernel(channels: int, gamma: float = 2.0, shift: float = 1.0) -> int:
    """|log₂(C) / γ + b / γ|, truncated to an integer and made odd (Wang 2020, eq. 12).

    >>> [adaptive_kernel(c) for c in (4, 64, 256, 512)]
    [1, 3, 5, 5]
    """
    size = int(abs((math.log2(channels) + shift) / gamma))
    return size if size % 2 else size + 1


class EfficientChannel(FeatureGate):
    """y_c = g_c x_c with g = σ(w ∗ z), one small filter w along the channels, z_c their means.

    channels     C
    kernel_size  of w, odd; by default `adaptive_kernel(channels)`
    """

    kind = "channel"

    def __init__(self, channels: int, *, kernel_size: int | None = None) -> None:
        super().__init__()
        self.channels = arguments.positive("channels", channels)
        size = adaptive_kernel(channels) if kernel_size is None else kernel_size
        if not arguments.positive("kernel_size", size) % 2:
            raise ValueError(f"kernel_size must be odd, got {size}.")
        self.filter = nn.Conv1d(1, 1, size, padding=size // 2, bias=False)

    def gate(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        pooled = masked_mean(x, mask)
        return torch.sigmoid(self.filter(pooled[:, None])[:, 0])

    def _check(self, x: Tensor) -> None:
        check_feature_map(x, self.channels)
        arguments.same_dtype("x", x, self.filter.weight)

    def extra_repr(self) -> str:
        return f"channels={self.channels}"
