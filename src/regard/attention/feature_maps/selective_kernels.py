"""Selective kernels: every channel chooses between filters of several sizes (Li 2019).

Shapes: x (B, C, *positions), K kernels; weights (B, C, K).
"""

from __future__ import annotations

from collections.abc import Sequence

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


class SelectiveKernels(nn.Module):
    """y_c = Σ_k a_ck u_kc with a_c = softmax_k(A_k z)_c over the filtered maps u_k = relu(w_k ∗ x).

    z = relu(W s + b), s the mean over the positions of Σ_k u_k: what the whole image shows decides
    how far each channel looks.

    channels      C
    kernel_sizes  odd; one above 3 is a filter of size 3, dilated to that extent
    reduction     z has channels / reduction units, at least `min_hidden`
    groups        of channels that are filtered separately
    dims          1 for signals (B, C, T), 2 for images (B, C, H, W), 3 for volumes

    `record` returns a row for each channel over the kernels, weights (B, 1, C, K) of kind
    "channel". The paper normalizes u_k and z over the batch; here images are independent.
    """

    sums_to_one = True

    def __init__(
        self,
        channels: int,
        *,
        kernel_sizes: Sequence[int] = (3, 5),
        reduction: int = 16,
        min_hidden: int = 32,
        groups: int = 1,
        dims: int = 2,
    ) -> None:
        super().__init__()
        self.channels = arguments.positive("channels", channels)
        if channels % arguments.positive("groups", groups):
            raise ValueError(
                f"channels must be divisible by groups, got channels={channels}, groups={groups}."
            )
        if not kernel_sizes:
            raise ValueError("kernel_sizes must have at least one size.")
        self.kernel_sizes = tuple(kernel_sizes)
        hidden = max(channels // arguments.positive("reduction", reduction), min_hidden)
        self.filters = nn.ModuleList(
            convolution(
                channels,
                channels,
                min(size, 3),
                dims=dims,
                groups=groups,
                dilation=max(1, size // 2),
            )
            for size in self._odd(kernel_sizes)
        )
        self.squeeze = nn.Linear(channels, hidden)
        self.select = nn.Linear(hidden, channels * len(self.kernel_sizes), bias=False)
        self.dims = dims

    @staticmethod
    def _odd(kernel_sizes: Sequence[int]) -> Sequence[int]:
        for size in kernel_sizes:
            if not arguments.positive("kernel_sizes", size) % 2:
                raise ValueError(f"kernel_sizes must be odd, got {size}.")
        return kernel_sizes

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        """Filter x (B, C, *positions) with every kernel, and mix the results of each channel."""
        check_feature_map(x, self.channels, self.dims)
        check_mask(x, mask)
        arguments.same_dtype("x", x, self.squeeze.weight)
        inside = without_padding(x, mask)
        maps = torch.stack([torch.relu(layer(inside)) for layer in self.filters], dim=2)
        scores = self.select(torch.relu(self.squeeze(masked_mean(maps.sum(dim=2), mask))))
        shares = torch.softmax(scores.unflatten(1, (self.channels, -1)), dim=2)
        weights_BCK = observed_gate(shares, "channel").to(maps.dtype)
        return (maps * weights_BCK.reshape(*weights_BCK.shape, *[1] * self.dims)).sum(dim=2)

    def extra_repr(self) -> str:
        return f"channels={self.channels}, kernel_sizes={self.kernel_sizes}"
