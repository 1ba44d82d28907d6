"""CBAM: a channel gate, then a spatial gate (Woo 2018, §3).

Shapes: x (B, C, *positions), N positions in all; channel gate (B, C), spatial gate (B, N).
"""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from regard.attention.engines import arguments
from regard.attention.feature_maps.gate import (
    FeatureGate,
    check_feature_map,
    masked_max,
    masked_mean,
)
from regard.attention.feature_maps.squeeze import SqueezeExcitation

_FILTERS: dict[int, type[nn.Conv1d] | type[nn.Conv2d] | type[nn.Conv3d]] = {
    1: nn.Conv1d,
    2: nn.Conv2d,
    3: nn.Conv3d,
}


class ChannelGate(SqueezeExcitation):
    """y_c = g_c x_c with g = σ(f(mean) + f(max)), f(z) = W_2 relu(W_1 z + b_1) + b_2.

    channels   C
    reduction  the hidden layer has channels / reduction units, at least one
    """

    def gate(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        pooled = torch.stack([masked_mean(x, mask), masked_max(x, mask)])
        return torch.sigmoid(self.excite(torch.relu(self.squeeze(pooled))).sum(dim=0))


class SpatialGate(FeatureGate):
    """y_n = g_n x_n with g = σ(w ∗ [mean; max] + b), mean and max over the channels of a position.

    kernel_size  of the filter w in every direction, odd
    dims         1 for signals (B, C, T), 2 for images (B, C, H, W), 3 for volumes

    A masked position has gate 0, and counts as zero in the filter of its neighbors.
    """

    kind = "spatial"

    def __init__(self, *, kernel_size: int = 7, dims: int = 2) -> None:
        super().__init__()
        if not arguments.positive("kernel_size", kernel_size) % 2:
            raise ValueError(f"kernel_size must be odd, got {kernel_size}.")
        if dims not in _FILTERS:
            raise ValueError(f"dims must be 1, 2 or 3, got {dims!r}.")
        self.dims = dims
        self.filter = _FILTERS[dims](2, 1, kernel_size, padding=kernel_size // 2)
        assert self.filter.bias is not None
        nn.init.zeros_(self.filter.bias)

    def gate(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        pooled = torch.stack([x.mean(dim=1), x.amax(dim=1)], dim=1)
        if mask is not None:
            pooled = pooled.masked_fill(~mask[:, None], 0.0)
        scores = self.filter(pooled).flatten(1)
        if mask is not None:
            scores = scores.masked_fill(~mask.flatten(1), -math.inf)
        return torch.sigmoid(scores)

    def _check(self, x: Tensor) -> None:
        check_feature_map(x, dims=self.dims)
        arguments.same_dtype("x", x, self.filter.weight)

    def extra_repr(self) -> str:
        return f"dims={self.dims}"


class CBAM(nn.Module):
    """A channel gate, then a spatial gate on its output.

    channels     C
    reduction    of the channel gate
    kernel_size  of the spatial gate
    dims         1 for signals (B, C, T), 2 for images (B, C, H, W), 3 for volumes
    """

    def __init__(
        self, channels: int, *, reduction: int = 16, kernel_size: int = 7, dims: int = 2
    ) -> None:
        super().__init__()
        self.channel = ChannelGate(channels, reduction=reduction)
        self.spatial = SpatialGate(kernel_size=kernel_size, dims=dims)

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        """Scale x (B, C, *positions) by both gates; masked positions do not affect them."""
        output: Tensor = self.spatial(self.channel(x, mask), mask)
        return output
