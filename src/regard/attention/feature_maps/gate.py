"""A gate over a feature map: one number for each channel, or for each place, that it is scaled by.

To those who look, a gate is one row of weights over channels or places. They may change it:
`SwitchOff` lets nothing through (or less: `scale`), `Overwrite(rows=0, weights=…,
renormalize=False)` puts another gate in its place (all ones: as if the module were not there) and
`ForceAlignment(links={0: k})` lets only channel or place k through.

Shapes: x (B, C, *places), N places in all; gate (B, C) or (B, N); there (B, *places), True where
there is something and not padding.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor, nn

from regard.attention.engines import arguments
from regard.attention.inspection import observe


class Gate(nn.Module):
    """Base of the modules that scale channels or places; a new one only needs `gate`."""

    kind: ClassVar[str]
    """What the gate is over: "channel" or "spatial"."""

    sums_to_one: ClassVar[bool] = False
    """A gate opens each channel or place by itself."""

    @abstractmethod
    def gate(self, x: Tensor, there: Tensor | None = None) -> Tensor:
        """How far each channel (B, C) or each place (B, N) of x is opened, from 0 to 1."""

    def forward(self, x: Tensor, there: Tensor | None = None) -> Tensor:
        """x (B, C, *places), scaled; what is not `there` has no say in the gate."""
        self._check(x)
        check_there(x, there)
        gate = shown(self.gate(x, there), self.kind)
        over = (x.shape[0], -1) if self.kind == "channel" else (x.shape[0], 1)
        rest = (1,) * (x.ndim - 2) if self.kind == "channel" else x.shape[2:]
        return x * gate.reshape(*over, *rest).to(x.dtype)

    def _check(self, x: Tensor) -> None:
        check_feature_map(x)


def shown(gate_BK: Tensor, kind: str) -> Tensor:
    """The gate (B, K) after everyone who looks has seen, and perhaps changed, it."""
    if not observe.observers():
        return gate_BK
    row = gate_BK[:, None, None, :]
    with observe.describe_calls(observe.CallInfo(kind)):
        return observe.observed_context(row, _Row(row), kind)[:, 0, 0]


@dataclass(frozen=True, eq=False)
class _Row:
    """A gate as weights (B, 1, 1, K) over the unit vectors: what they sum to is the gate again."""

    given: Tensor
    num_queries = 1

    @property
    def value(self) -> Tensor:
        """(B, 1, K, K): the unit vectors, made only for an edit that asks."""
        ones = torch.eye(self.num_keys, dtype=self.given.dtype, device=self.given.device)
        return ones.expand(*self.batch, *ones.shape)

    @property
    def batch(self) -> tuple[int, ...]:
        """(B, 1)."""
        return tuple(self.given.shape[:2])

    @property
    def num_keys(self) -> int:
        """K."""
        return self.given.shape[-1]

    def spread(self) -> _Row:
        """Itself: it has one head."""
        return self

    def weights(self, rows: Tensor | None = None, heads: Tensor | None = None) -> Tensor:
        """(B, h, r, K) of the asked rows and heads, of which there is one each."""
        asked = self.given if rows is None else self.given.index_select(-2, rows)
        return asked if heads is None else asked.index_select(-3, heads)


def check_feature_map(x: Tensor, channels: int | None = None, dims: int | None = None) -> None:
    """Check that x is a feature map (B, C, *places), of so many channels and kinds of place."""
    places = "places" if dims is None else {1: "T", 2: "H, W", 3: "D, H, W"}[dims]
    wanted = f"(B, {'C' if channels is None else channels}, {places})"
    if not isinstance(x, Tensor):
        raise TypeError(f"x must be a tensor of shape {wanted}, but a {type(x).__name__} came.")
    fits = x.ndim >= 3 if dims is None else x.ndim == 2 + dims
    if not fits or channels not in (None, x.shape[1]):
        raise ValueError(f"x must have shape {wanted}, but {arguments.shape(x)} came.")
    if 0 in x.shape[1:]:
        raise ValueError(f"x must have channels and places, but {arguments.shape(x)} came.")


def check_there(x: Tensor, there: Tensor | None) -> None:
    """Check what says which places of x (B, C, *places) are there."""
    if there is None:
        return
    wanted = (x.shape[0], *x.shape[2:])
    if there.dtype != torch.bool or tuple(there.shape) != wanted:
        raise ValueError(
            f"there must be boolean and of shape {wanted} (True = is there), "
            f"but {there.dtype} of shape {arguments.shape(there)} came."
        )


def mean_of_places(x: Tensor, there: Tensor | None = None) -> Tensor:
    """(B, C): the mean of each channel over the places that are there; 0 where none is."""
    places = tuple(range(2, x.ndim))
    if there is None:
        return x.mean(dim=places)
    number = there.flatten(1).sum(dim=1, keepdim=True).clamp(min=1)
    return x.masked_fill(~there[:, None], 0.0).sum(dim=places) / number


def max_of_places(x: Tensor, there: Tensor | None = None) -> Tensor:
    """(B, C): the largest of each channel over the places that are there; 0 where none is."""
    if there is None:
        return x.flatten(2).amax(dim=2)
    largest = x.masked_fill(~there[:, None], -math.inf).flatten(2).amax(dim=2)
    return largest.masked_fill(~there.flatten(1).any(dim=1, keepdim=True), 0.0)
