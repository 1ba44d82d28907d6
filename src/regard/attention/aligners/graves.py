"""Graves' window: Gaussians over positions that only move forward (Graves 2013, §5.1).

From a query h, with K components,

    (α̂, β̂, κ̂) = W h + b        α = exp α̂      β = exp β̂      κ = κ_before + stride · exp κ̂
    φ(u) = Σ_k α_k exp(−β_k (κ_k − u)²)          context = Σ_u φ(u) value_u

over positions u = 1 … S, from κ = 0: α is a component's importance, β how narrow it is, κ where it
stands. `stride` is how far it moves in a step before anything is learned: about the positions to be
passed over the steps there are. The paper's is 1.

Shapes: B sentences, S states to look at, D features of a state, Q of a query, K components.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from regard.attention.aligners.aligner import Aligner, Memory, Rows
from regard.attention.attend import Attended
from regard.attention.engines.precision import accumulated, as_given
from regard.attention.inspection import observe
from regard.attention.normalizers.normalizer import Softmax

HIGHEST = 10.0
"""The largest logarithm of a parameter: beyond e^10 nothing changes but for overflow."""


@dataclass(frozen=True, eq=False)
class Stand(Rows):
    """Where the components stand: kappa (B, K)."""

    kappa: Tensor


class Shape(NamedTuple):
    """What a query makes of the window, each (B, K): log α, β, and κ."""

    log_alpha: Tensor
    beta: Tensor
    kappa: Tensor


class Graves(Aligner):
    """A window of Gaussians, moved forward by every query.

    Its weights are what the formula gives; they need not sum to one, and are next to nothing once
    the window has passed the end. With `normalize` they are divided by their sum: a window that is
    between or beyond positions then looks at the nearest.
    """

    def __init__(
        self,
        query_dim: int,
        components: int = 5,
        *,
        stride: float = 1.0,
        normalize: bool = False,
    ) -> None:
        super().__init__()
        if components < 1:
            raise ValueError(f"components must be at least 1, but {components} came.")
        if not stride > 0:
            raise ValueError(f"stride must be above 0, but {stride} came.")
        self.components, self.stride = components, stride
        self.normalize = self.sums_to_one = normalize
        self.window = nn.Linear(query_dim, 3 * components)
        nn.init.normal_(self.window.weight, std=0.1 / math.sqrt(query_dim))
        nn.init.zeros_(self.window.bias)
        with torch.no_grad():  # together the components begin as one
            self.window.bias[:components] = -math.log(components)

    def memory(self, states: Tensor, lengths: Tensor) -> Memory:
        """States (B, S, D), zero where there is none, so that no weight lets anything through."""
        values = states.masked_fill(~kept(lengths, states.shape[1])[..., None], 0.0)
        return Memory(values, values, lengths)

    def begin(self, memory: Memory) -> Stand:
        """Before the first position."""
        like = accumulated(memory.values)
        return Stand(like.new_zeros(len(like), self.components))

    def forward(self, query: Tensor, memory: Memory, state: Rows) -> tuple[Attended, Stand]:
        """The window after query (B, Q): context (B, 1, D), weights (B, 1, S)."""
        assert isinstance(state, Stand)
        with as_given(query.device):
            weight, bias = self.window.weight, self.window.bias
            shape = moved(F.linear(query.to(weight.dtype), weight, bias), state.kappa, self.stride)
            keep = kept(memory.lengths, memory.values.shape[1])
            weights = looked(shape, keep, normalize=self.normalize)
            weights = weights[:, None].to(memory.values.dtype)
            context = torch.bmm(weights, memory.values)
        context = observe.shown(context, observe.GivenWeights(weights, memory.values), "cross")
        return Attended(context, weights), Stand(shape.kappa)


def moved(logs: Tensor, kappa: Tensor, stride: float) -> Shape:
    """The window that logarithms (B, 3 K) describe, moved on from where it stood (B, K)."""
    log_alpha, log_beta, log_step = accumulated(logs).clamp(max=HIGHEST).chunk(3, -1)
    return Shape(log_alpha, log_beta.exp(), kappa + stride * log_step.exp())


def looked(shape: Shape, keep: Tensor, *, normalize: bool = False) -> Tensor:
    """φ (B, S) at the positions to be kept (B, S), zero elsewhere; divided by its sum if asked."""
    distance = shape.kappa[..., None] - positions(keep.shape[-1], shape.kappa)
    logs = shape.log_alpha[..., None] - shape.beta[..., None] * distance.square()
    if normalize:  # in logarithms: far from every position, φ itself would be zero
        return Softmax()(torch.logsumexp(logs, dim=1)[:, None], keep[:, None])[:, 0]
    return logs.exp().sum(1).masked_fill(~keep, 0.0)


def positions(number: int, like: Tensor) -> Tensor:
    """1 … S."""
    return torch.arange(1, number + 1, dtype=like.dtype, device=like.device)


def kept(lengths: Tensor, number: int) -> Tensor:
    """(B, S): True where there is a state."""
    return torch.arange(number, device=lengths.device) < lengths[:, None]
