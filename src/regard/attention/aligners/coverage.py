"""Coverage (Tu 2016; See 2017, §2.3): the score depends on the summed weights of each state.

    c_s = Σ of the weights on s so far      e_s = v·tanh(W_q q + W_k h_s + w c_s)

This avoids repeated and omitted words.

Shapes: B sentences, S states, H hidden features.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from regard.attention.aligners.aligner import (
    Aligned,
    AlignerState,
    Memory,
    attended,
    softmax_weights,
)
from regard.attention.aligners.energy import EnergyAligner


@dataclass(frozen=True, eq=False)
class CoverageState(AlignerState):
    """`total` (B, S): the sum of all weights so far."""

    total: Tensor


class Coverage(EnergyAligner):
    """The additive score, with the summed weights as a feature of each state.

    Parameters: those of `Energy`, and `feature_proj` (1, H), w of the formula.
    """

    def __init__(self, query_dim: int, key_dim: int, hidden_dim: int) -> None:
        super().__init__(query_dim, key_dim, hidden_dim)
        self.feature_proj = nn.Parameter(torch.empty(1, hidden_dim))
        nn.init.xavier_uniform_(self.feature_proj)

    def initial_state(self, memory: Memory) -> CoverageState:
        return CoverageState(memory.values.new_zeros(memory.values.shape[:2]))

    def forward(self, query: Tensor, memory: Memory, state: AlignerState) -> Aligned:
        assert isinstance(state, CoverageState)
        scores = self.energy.scores(query, memory.keys, state.total[..., None], self.feature_proj)
        weights = softmax_weights(scores, memory)
        return attended(weights, memory), CoverageState(state.total + weights)
