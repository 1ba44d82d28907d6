"""Gates of a feature map: one factor for each channel, or for each position.

To observers, a gate is one row of weights over channels or positions. `SwitchOff` multiplies it by
`scale` (0 by default), `Overwrite(rows=0, weights=…, renormalize=False)` replaces it (all ones
disables the gate) and `ForceAlignment(links={0: k})` lets only channel or position k through.

Shapes: x (B, C, *positions), N positions in all; gate (B, C) or (B, N); mask (B, *positions), True
where there is no padding.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from typing import ClassVar

import torch
from torch import Tensor, nn

from regard.attention.engines import arguments
from regard.attention.inspection import observe

Convolution = nn.Conv1d | nn.Conv2d | nn.Conv3d
_CONVOLUTIONS: dict[int, type[nn.Conv1d] | type[nn.Conv2d] | type[nn.Conv3d]] = {
    1: nn.Conv1d,
    2: nn.Conv2d,
    3: nn.Conv3d,
}


class FeatureGate(nn.Module):
    """Base of the modules that scale channels or positions; a new one only needs `gate`."""

    kind: ClassVar[str]
    """What the gate is over: "channel" or "spatial"."""

    sums_to_one: ClassVar[bool] = False
    """The factors of a gate are independent."""

    @abstractmethod
    def gate(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        """Return the factor of each channel (B, C) or position (B, N) of x, from 0 to 1."""

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        """Scale x (B, C, *positions); masked positions do not affect the gate."""
        self._check(x)
        check_mask(x, mask)
        gate = observed_gate(self.gate(x, mask), self.kind)
        over = (x.shape[0], -1) if self.kind == "channel" else (x.shape[0], 1)
        rest = (1,) * (x.ndim - 2) if self.kind == "channel" else x.shape[2:]
        return x * gate.reshape(*over, *rest).to(x.dtype)

    def _check(self, x: Tensor) -> None:
        check_feature_map(x)


def observed_gate(gate: Tensor, kind: str) -> Tensor:
    """Return the gate (B, K), or (B, R, K), after all observers have received it.

    It is shown as weights (B, 1, R, K) over the unit vectors, whose weighted sum is the gate.
    """
    if not observe.observers():
        return gate
    size, num_keys = gate.shape[0], gate.shape[-1]
    rows = gate.reshape(size, 1, -1, num_keys)

    def unit_vectors() -> Tensor:
        ones = torch.eye(num_keys, dtype=rows.dtype, device=rows.device)
        return ones.expand(size, 1, num_keys, num_keys)

    with observe.describe_calls(observe.CallInfo(kind)):
        source = observe.GivenWeights(rows, unit_vectors)
        return observe.observe_call(rows, source, kind).context.reshape(gate.shape)


def convolution(
    in_channels: int,
    out_channels: int,
    kernel_size: int,
    *,
    dims: int,
    dilation: int = 1,
    groups: int = 1,
) -> Convolution:
    """A convolution over `dims` dimensions of positions that keeps their number."""
    if not arguments.positive("kernel_size", kernel_size) % 2:
        raise ValueError(f"kernel_size must be odd, got {kernel_size}.")
    if dims not in _CONVOLUTIONS:
        raise ValueError(f"dims must be 1, 2 or 3, got {dims!r}.")
    padding = dilation * (kernel_size // 2)
    return _CONVOLUTIONS[dims](
        in_channels, out_channels, kernel_size, padding=padding, dilation=dilation, groups=groups
    )


def without_padding(x: Tensor, mask: Tensor | None) -> Tensor:
    """x (B, C, *positions) with zeros at the masked positions."""
    return x if mask is None else x.masked_fill(~mask[:, None], 0.0)


def check_feature_map(x: Tensor, channels: int | None = None, dims: int | None = None) -> None:
    """Check that x is a feature map (B, C, *positions) with these channels and dimensions."""
    positions = "positions" if dims is None else {1: "T", 2: "H, W", 3: "D, H, W"}[dims]
    expected = f"(B, {'C' if channels is None else channels}, {positions})"
    if not isinstance(x, Tensor):
        raise TypeError(f"x must be a tensor of shape {expected}, got a {type(x).__name__}.")
    fits = x.ndim >= 3 if dims is None else x.ndim == 2 + dims
    if not fits or channels not in (None, x.shape[1]):
        raise ValueError(f"x must have shape {expected}, got {arguments.shape(x)}.")
    if 0 in x.shape[1:]:
        raise ValueError(f"x must have channels and positions, got {arguments.shape(x)}.")


def check_mask(x: Tensor, mask: Tensor | None) -> None:
    """Check the mask of the positions of x (B, C, *positions)."""
    if mask is None:
        return
    expected = (x.shape[0], *x.shape[2:])
    if mask.dtype != torch.bool or tuple(mask.shape) != expected:
        raise ValueError(
            f"mask must be boolean and of shape {expected} (False at padding), got {mask.dtype} of "
            f"shape {arguments.shape(mask)}."
        )


def masked_mean(x: Tensor, mask: Tensor | None = None) -> Tensor:
    """(B, C): the mean of each channel over the positions of the mask; 0 if there is none."""
    dims = tuple(range(2, x.ndim))
    if mask is None:
        return x.mean(dim=dims)
    count = mask.flatten(1).sum(dim=1, keepdim=True).clamp(min=1)
    return without_padding(x, mask).sum(dim=dims) / count


def masked_max(x: Tensor, mask: Tensor | None = None) -> Tensor:
    """(B, C): the maximum of each channel over the positions of the mask; 0 if there is none."""
    if mask is None:
        return x.flatten(2).amax(dim=2)
    largest = x.masked_fill(~mask[:, None], -math.inf).flatten(2).amax(dim=2)
    return largest.masked_fill(~mask.flatten(1).any(dim=1, keepdim=True), 0.0)


class SqueezeExcitation(FeatureGate):
    """y_c = g_c x_c with g = σ(W_2 relu(W_1 z + b_1) + b_2) (Hu 2018, §3), z_c channel c's mean.

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
        self.filter = convolution(2, 1, kernel_size, dims=dims)
        self.dims = dims
        assert self.filter.bias is not None
        nn.init.zeros_(self.filter.bias)

    def gate(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        pooled = without_padding(torch.stack([x.mean(dim=1), x.amax(dim=1)], dim=1), mask)
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
        output: Tensor = self.spatial(self.channel(x, mask), mask)
        return output


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
