"""Bottleneck attention: one gate of channels and positions together (Park 2018).

Shapes: x (B, C, *positions), N positions in all; gate (B, C, N).
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from regard.attention.engines import arguments
from regard.attention.feature_maps.gates import (
    check_feature_map,
    check_mask,
    convolution,
    masked_mean,
    observed_gate,
    without_padding,
)


class BAM(nn.Module):
    """y = x + g x with g_cn = σ(m_c + s_n): a score of the channel plus one of the position.

        m = W_2 relu(W_1 z + b_1) + b_2         z_c the mean of channel c
        s = f_1 relu(f_d relu(f_d relu(f_1 x)))  f_1 of size 1, f_d of size 3 and dilated

    channels   C
    reduction  both branches have channels / reduction hidden units, at least one
    dilation   of the filters f_d, which see 4 · dilation + 1 positions in every direction
    dims       1 for signals (B, C, T), 2 for images (B, C, H, W), 3 for volumes

    The paper normalizes both scores over the batch; here an image is independent of the others.
    `record` returns a row for each channel, weights (B, 1, C, N) of kind "spatial".
    """

    def __init__(
        self, channels: int, *, reduction: int = 16, dilation: int = 4, dims: int = 2
    ) -> None:
        super().__init__()
        self.channels = arguments.positive("channels", channels)
        hidden = max(1, channels // arguments.positive("reduction", reduction))
        spread = arguments.positive("dilation", dilation)
        self.squeeze = nn.Linear(channels, hidden)
        self.excite = nn.Linear(hidden, channels)
        self.filters = nn.ModuleList(
            [
                convolution(channels, hidden, 1, dims=dims),
                convolution(hidden, hidden, 3, dims=dims, dilation=spread),
                convolution(hidden, hidden, 3, dims=dims, dilation=spread),
                convolution(hidden, 1, 1, dims=dims),
            ]
        )
        self.dims = dims

    def gate(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        """Return the factor of each channel at each position, (B, C, N), from 0 to 1."""
        channel_BC = self.excite(torch.relu(self.squeeze(masked_mean(x, mask))))
        for number, layer in enumerate(self.filters):
            x = layer(without_padding(torch.relu(x) if number else x, mask))
        return torch.sigmoid(channel_BC[:, :, None] + x.flatten(2))

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        """Scale x (B, C, *positions) by one plus its gate; masked positions do not affect it."""
        check_feature_map(x, self.channels, self.dims)
        check_mask(x, mask)
        arguments.same_dtype("x", x, self.squeeze.weight)
        gate = observed_gate(self.gate(x, mask), "spatial")
        return x + x * gate.reshape(x.shape).to(x.dtype)

    def extra_repr(self) -> str:
        return f"channels={self.channels}, dims={self.dims}"
