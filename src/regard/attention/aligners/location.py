"""Location-sensitive attention (Chorowski 2015, §2.1): the score depends on the last weights.

    f_s = Σ_j F_j · a_{s+j}      e_s = v·tanh(W_q q + W_k h_s + U f_s)      weights = softmax(e)

a are the weights of the previous query, and F (filters × width) is a convolution over them.

Shapes: B sentences, S states, H hidden features, C filters, N width of a filter.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from regard.attention.aligners.aligner import (
    Aligned,
    AlignerState,
    Memory,
    attended,
    softmax_weights,
)
from regard.attention.aligners.energy import EnergyAligner
from regard.attention.engines import arguments


@dataclass(frozen=True, eq=False)
class LocationState(AlignerState):
    """`weights` (B, S) of the previous query; zeros before the first."""

    weights: Tensor


class LocationSensitive(EnergyAligner):
    """The additive score, with features convolved from the previous weights.

    Parameters: those of `Energy`, `filters` (C, N), `feature_proj` (C, H). The two matrices are
    multiplied first: a window of N weights then costs one product.
    """

    def __init__(
        self, query_dim: int, key_dim: int, hidden_dim: int, *, filters: int = 10, width: int = 9
    ) -> None:
        super().__init__(query_dim, key_dim, hidden_dim)
        if arguments.positive("width", width) % 2 == 0:
            raise ValueError(f"width must be odd, got {width}.")
        self.filters = nn.Parameter(torch.empty(arguments.positive("filters", filters), width))
        self.feature_proj = nn.Parameter(torch.empty(filters, hidden_dim))
        nn.init.xavier_uniform_(self.filters)
        nn.init.xavier_uniform_(self.feature_proj)

    def initial_state(self, memory: Memory) -> LocationState:
        return LocationState(memory.values.new_zeros(memory.values.shape[:2]))

    def forward(self, query: Tensor, memory: Memory, state: AlignerState) -> Aligned:
        assert isinstance(state, LocationState)
        features = windows(state.weights, self.filters.shape[1])
        matrix = self.filters.t() @ self.feature_proj
        scores = self.energy.scores(query, memory.keys, features, matrix)
        weights = softmax_weights(scores, memory)
        return attended(weights, memory), LocationState(weights)


def windows(weights: Tensor, width: int) -> Tensor:
    """(B, S, N): the N weights (B, S) around each position, zero beyond the ends.

    >>> windows(torch.tensor([[1.0, 2.0, 3.0]]), 3)
    tensor([[[0., 1., 2.],
             [1., 2., 3.],
             [2., 3., 0.]]])
    """
    half = width // 2
    return F.pad(weights, (half, half)).unfold(1, width, 1)
