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


def observed_gate(gate_BK: Tensor, kind: str) -> Tensor:
    """Return the gate (B, K) after all observers have received it.

    It is shown as weights (B, 1, 1, K) over the unit vectors, whose weighted sum is the gate.
    """
    if not observe.observers():
        return gate_BK
    row, (size, num_keys) = gate_BK[:, None, None, :], gate_BK.shape

    def unit_vectors() -> Tensor:
        ones = torch.eye(num_keys, dtype=row.dtype, device=row.device)
        return ones.expand(size, 1, num_keys, num_keys)

    with observe.describe_calls(observe.CallInfo(kind)):
        source = observe.GivenWeights(row, unit_vectors)
        return observe.observed_context(row, source, kind)[:, 0, 0]


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
    return x.masked_fill(~mask[:, None], 0.0).sum(dim=dims) / count


def masked_max(x: Tensor, mask: Tensor | None = None) -> Tensor:
    """(B, C): the maximum of each channel over the positions of the mask; 0 if there is none."""
    if mask is None:
        return x.flatten(2).amax(dim=2)
    largest = x.masked_fill(~mask[:, None], -math.inf).flatten(2).amax(dim=2)
    return largest.masked_fill(~mask.flatten(1).any(dim=1, keepdim=True), 0.0)
