"""A spatial transformer: the network moves, turns and scales its feature map (Jaderberg 2015).

Shapes: x (B, C, *positions) with d dimensions, N positions in all; transform (B, d, d + 1).
Coordinates go from −1 to 1 over the positions that are not padding, x before y before z.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from regard.attention.engines import arguments
from regard.attention.feature_maps.gates import (
    check_feature_map,
    check_mask,
    convolution,
    without_padding,
)
from regard.attention.inspection import observe


class Localization(nn.Module):
    """θ = W [p_1 … p_K] + b, p_k = Σ_n softmax_n(w_k ∗ x) n, the mean place of the k-th filter.

    W begins at zero and b at the identity, so that nothing is moved before training.
    """

    def __init__(self, channels: int, num_points: int, kernel_size: int, dims: int) -> None:
        super().__init__()
        self.filter = convolution(channels, num_points, kernel_size, dims=dims)
        self.out_proj = nn.Linear(num_points * dims, dims * (dims + 1))
        nn.init.zeros_(self.out_proj.weight)
        with torch.no_grad():
            self.out_proj.bias.copy_(torch.eye(dims, dims + 1).flatten())

    def forward(self, x: Tensor, places_BNd: Tensor, mask: Tensor | None = None) -> Tensor:
        """Return the transform (B, d, d + 1) of x with positions at `places_BNd`."""
        dims = places_BNd.shape[-1]
        scores_BKN = self.filter(without_padding(x, mask)).flatten(2).to(places_BNd.dtype)
        if mask is not None:
            low = torch.finfo(scores_BKN.dtype).min
            scores_BKN = scores_BKN.masked_fill(~mask.flatten(1)[:, None], low)
        points_BKd = torch.softmax(scores_BKN, dim=-1) @ places_BNd
        numbers: Tensor = self.out_proj(points_BKd.flatten(1))
        return numbers.reshape(-1, dims, dims + 1).to(places_BNd.dtype)


class SpatialTransformer(nn.Module):
    """y_n = Σ_m x_m Π_axis max(0, 1 − |s_n − m|): x read between its positions, at s_n = A n + t.

    [A t] = θ(x) is an affine transform for each image, from `localization`. What lies outside the
    image is zero.

    channels      C
    num_points    places that the localization bases the transform on
    kernel_size   of its filters, odd
    dims          1 for signals (B, C, T), 2 for images (B, C, H, W), 3 for volumes
    localization  another module: (x, places (B, N, d), mask) ▶ transform (B, d, d + 1)

    `record` returns the weights (B, 1, N, N) of the positions read, of kind "self". A mask leaves
    the positions before its end on every axis.
    """

    def __init__(
        self,
        channels: int,
        *,
        num_points: int = 8,
        kernel_size: int = 5,
        dims: int = 2,
        localization: nn.Module | None = None,
    ) -> None:
        super().__init__()
        self.channels = arguments.positive("channels", channels)
        self.dims = dims
        self.localization = localization or Localization(
            channels, arguments.positive("num_points", num_points), kernel_size, dims
        )

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        """Return x (B, C, *positions), transformed."""
        check_feature_map(x, self.channels, self.dims)
        check_mask(x, mask)
        length_Bd = _lengths(x, mask)
        index_Nd = _indices(x)
        places_BNd = (2 * index_Nd + 1) / length_Bd[:, None] - 1
        x = without_padding(x, mask)
        transform = self.localization(x, places_BNd, mask)
        read_BNd = places_BNd @ transform[..., :-1].mT + transform[..., None, :, -1]
        index_BNd = ((read_BNd + 1) * length_Bd[:, None] - 1) / 2  # in positions, from 0
        output = _sampled(x, index_BNd)
        if observe.observers():
            output = _observed(output, x, index_BNd, index_Nd)
        return without_padding(output, mask)

    def extra_repr(self) -> str:
        return f"channels={self.channels}, dims={self.dims}"


def _lengths(x: Tensor, mask: Tensor | None) -> Tensor:
    """(B, d): the number of positions that are not padding, along x, y and z; at least 1."""
    dtype = torch.promote_types(x.dtype, torch.float32)
    if mask is None:
        size = torch.tensor(x.shape[:1:-1], dtype=dtype, device=x.device)
        return size.expand(x.shape[0], -1)
    planes = [mask[:, None].movedim(axis, -1).flatten(1, -2) for axis in range(mask.ndim, 1, -1)]
    return torch.stack([plane.any(1).sum(1).clamp(min=1) for plane in planes], dim=1).to(dtype)


def _indices(x: Tensor) -> Tensor:
    """(N, d): the position's index along x, y and z."""
    dtype = torch.promote_types(x.dtype, torch.float32)
    axes = [torch.arange(size, dtype=dtype, device=x.device) for size in x.shape[2:]]
    grid = torch.stack(torch.meshgrid(*axes, indexing="ij"), dim=-1)
    return grid.flatten(0, -2).flip(-1)


def _sampled(x: Tensor, index_BNd: Tensor) -> Tensor:
    """x (B, C, *positions) read at the indices, linearly between positions."""
    dims = x.ndim - 2
    size = index_BNd.new_tensor(x.shape[:1:-1])
    grid = ((2 * index_BNd + 1) / size - 1).to(x.dtype).reshape(x.shape[0], *x.shape[2:], dims)
    if dims == 1:  # an image of one row
        grid = torch.stack([grid[..., 0], torch.zeros_like(grid[..., 0])], dim=-1)[:, None]
        return F.grid_sample(x[:, :, None], grid, align_corners=False)[:, :, 0]
    return F.grid_sample(x, grid, align_corners=False)


def _observed(output: Tensor, x: Tensor, index_BNd: Tensor, index_Nd: Tensor) -> Tensor:
    """Return the output after all observers have received it, with its weights over positions."""
    distance = (index_BNd[:, :, None] - index_Nd[None, None]).abs()
    weights_BNN = (1 - distance).clamp(min=0).prod(dim=-1).to(x.dtype)
    value = x.flatten(2).transpose(1, 2)[:, None]
    context = output.flatten(2).transpose(1, 2)[:, None]
    with observe.describe_calls(observe.CallInfo("self")):
        source = observe.GivenWeights(weights_BNN[:, None], value)
        observed = observe.observe_call(context, source, "self").context
    return observed[:, 0].transpose(1, 2).reshape(output.shape)
