"""Graves' window: Gaussians over positions that only move forward (Graves 2013, §5.1).

From a query h, with K components,

    (α̂, β̂, κ̂) = W h + b        α = exp α̂      β = exp β̂      κ = κ_before + stride · exp κ̂
    φ(u) = Σ_k α_k exp(−β_k (κ_k − u)²)          context = Σ_u φ(u) value_u

over positions u = 1 … S, from κ = 0: α is a component's weight, β its sharpness, κ its position.
`stride` is how far it moves per step at initialization: about the number of positions divided by
the number of steps. The paper's is 1.

Shapes: B sentences, S states, D features of a state, Q of a query, K components.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from regard.attention.aligners.aligner import Aligner, AlignerState, Memory, attended
from regard.attention.attend import Attended
from regard.attention.engines.precision import accumulated, as_given
from regard.attention.inspection import observe
from regard.attention.normalizers.normalizer import Softmax

HIGHEST = 10.0
"""Upper bound of the logarithms of α, β and the step, against overflow."""


@dataclass(frozen=True, eq=False)
class GravesState(AlignerState):
    """kappa (B, K): the positions of the components."""

    kappa: Tensor


class GravesWindow(NamedTuple):
    """Parameters of the window, each (B, K)."""

    log_alpha: Tensor
    beta: Tensor
    kappa: Tensor


class Graves(Aligner):
    """A window of Gaussians, moved forward by every query.

    The weights need not sum to one, and vanish once the window has passed the end. With `normalize`
    they are divided by their sum: a window between or beyond positions then attends to the nearest.
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
            raise ValueError(f"components must be at least 1, got {components}.")
        if not stride > 0:
            raise ValueError(f"stride must be above 0, got {stride}.")
        self.components, self.stride = components, stride
        self.normalize = self.sums_to_one = normalize
        self.window = nn.Linear(query_dim, 3 * components)
        nn.init.normal_(self.window.weight, std=0.1 / math.sqrt(query_dim))
        nn.init.zeros_(self.window.bias)
        with torch.no_grad():  # so that the weights α sum to one
            self.window.bias[:components] = -math.log(components)

    def initial_state(self, memory: Memory) -> GravesState:
        like = accumulated(memory.values)
        return GravesState(like.new_zeros(len(like), self.components))

    def forward(
        self, query: Tensor, memory: Memory, state: AlignerState
    ) -> tuple[Attended, GravesState]:
        """Move the window by query (B, Q): context (B, 1, D), weights (B, 1, S)."""
        assert isinstance(state, GravesState)
        with as_given(query.device):
            weight, bias = self.window.weight, self.window.bias
            logs = F.linear(query.to(weight.dtype), weight, bias)
            window = move_window(logs, state.kappa, self.stride)
            weights = window_weights(window, ~memory.padding, normalize=self.normalize)
            energies = None
            if observe.observers():
                energies = torch.logsumexp(window_logs(window, weights.shape[-1]), dim=1)
        equation = "e_u = log Σ_k α_k exp(−β_k (κ_k − u)²)"
        return attended(weights, memory, energies, equation), GravesState(window.kappa)


def move_window(logs: Tensor, kappa: Tensor, stride: float) -> GravesWindow:
    """Return the window of logarithms (B, 3 K), moved from the positions kappa (B, K)."""
    log_alpha, log_beta, log_step = accumulated(logs).clamp(max=HIGHEST).chunk(3, -1)
    return GravesWindow(log_alpha, log_beta.exp(), kappa + stride * log_step.exp())


def window_weights(window: GravesWindow, keep: Tensor, *, normalize: bool = False) -> Tensor:
    """φ (B, S) where `keep` (B, S) is True, zero elsewhere; divided by its sum if `normalize`."""
    logs = window_logs(window, keep.shape[-1])
    if normalize:  # in logarithms: far from every position φ underflows
        return Softmax()(torch.logsumexp(logs, dim=1)[:, None], keep[:, None])[:, 0]
    return logs.exp().sum(1).masked_fill(~keep, 0.0)


def window_logs(window: GravesWindow, size: int) -> Tensor:
    """(B, K, S): log α_k − β_k (κ_k − u)², of every component and position."""
    distance = window.kappa[..., None] - positions(size, window.kappa)
    return window.log_alpha[..., None] - window.beta[..., None] * distance.square()


def positions(size: int, like: Tensor) -> Tensor:
    """1 … S."""
    return torch.arange(1, size + 1, dtype=like.dtype, device=like.device)
