"""Squeeze-and-excitation: the gate of a channel depends on all channels (Hu 2018, §3).

Shapes: x (B, C, *positions), gate (B, C).
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from regard.attention.engines import arguments
from regard.attention.feature_maps.gate import FeatureGate, check_feature_map, masked_mean


class SqueezeExcitation(FeatureGate):
    """y_c = g_c x_c with g = σ(W_2 relu(W_1 z + b_1) + b_2), z_c the mean of channel c.

    channels   C
    reduction  the hidden layer has channels / reduction units, at least one
    """

    kind = "channel"

    def __init__(self, channels: int, *, reduction: int = 16) -> None:
        super().__init__()
        self.channels = arguments.positive("channels", channels)
        hidden = max(1, channels // arguments.positive("reduction", reduction))
        self.squeeze = nn.Linear(channels, hidden)
        self.excite = nn.Linear(hidden, channels)

    def gate(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        pooled = masked_mean(x, mask)
        return torch.sigmoid(self.excite(torch.relu(self.squeeze(pooled))))

    def _check(self, x: Tensor) -> None:
        check_feature_map(x, self.channels)
        arguments.same_dtype("x", x, self.squeeze.weight)

    def extra_repr(self) -> str:
        return f"channels={self.channels}"
