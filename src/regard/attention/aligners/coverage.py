"""Coverage (Tu 2016; See 2017, §2.3): the score sees how much each state was looked at so far.

    c_s = Σ of the weights on s so far      e_s = v·tanh(W_q q + W_k h_s + w c_s)

So that nothing is said twice and nothing is left out.

Shapes: B sentences, S states, H hidden features.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from regard.attention.aligners.aligner import Aligner, Memory, Rows, softmax_weights, weighted
from regard.attention.aligners.energy import Energy
from regard.attention.attend import Attended


@dataclass(frozen=True, eq=False)
class Covered(Rows):
    """`total` (B, S): the sum of all weights given so far."""

    total: Tensor


class Coverage(Aligner):
    """The additive score, with the accumulated weights as one more feature of each state.

    Parameters: those of `Energy`, and `feature_proj` (1, H), w of the formula.
    """

    def __init__(self, query_dim: int, key_dim: int, hidden_dim: int) -> None:
        super().__init__()
        self.energy = Energy(query_dim, key_dim, hidden_dim)
        self.feature_proj = nn.Parameter(torch.empty(1, hidden_dim))
        nn.init.xavier_uniform_(self.feature_proj)

    def keys(self, states: Tensor) -> Tensor:
        keys: Tensor = self.energy.key_proj(states)
        return keys

    def begin(self, memory: Memory) -> Covered:
        return Covered(memory.values.new_zeros(memory.values.shape[:2]))

    def forward(self, query: Tensor, memory: Memory, state: Rows) -> tuple[Attended, Rows]:
        assert isinstance(state, Covered)
        scores = self.energy.over(query, memory.keys, state.total[..., None], self.feature_proj)
        weights = softmax_weights(scores, memory)
        return weighted(weights, memory), Covered(state.total + weights)
