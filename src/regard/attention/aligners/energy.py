"""Aligners with the additive score and features of their state: coverage, and location-sensitive.

    e_s = v·tanh(W_q q + W_k h_s + Mᵀ f_s)      weights = softmax(e)

The backward pass recomputes tanh, so that a training step saves its features instead of a
(B, S, H) tensor.

Shapes: B sentences, S states, Q features of a query, K of a state, H hidden, F extra, C filters,
N width of a filter.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable
from torch.nn import functional as F

from regard.attention.aligners.aligner import (
    Aligned,
    Aligner,
    AlignerState,
    Memory,
    attended,
    softmax_weights,
)
from regard.attention.engines import arguments
from regard.attention.engines.precision import accumulated, as_given
from regard.attention.scores.additive import Additive


class Energy(Additive):
    """e_s = v·tanh(W_q q + W_k h_s + Mᵀ f_s): `Additive` with features f."""

    def scores(
        self,
        query: Tensor,
        keys: Tensor,
        features: Tensor | None = None,
        matrix: Tensor | None = None,
    ) -> Tensor:
        """(B, S), of query (B, Q), projected keys (B, S, H), features (B, S, F), matrix (F, H)."""
        arguments.width("query", query, self.query_dim)
        arguments.width("keys", keys, self.hidden_dim)
        return energies(self.query_proj(query), keys, self.v, features, matrix)


class EnergyAligner(Aligner):
    """Base of the aligners whose score is an `Energy`."""

    def __init__(self, query_dim: int, key_dim: int, hidden_dim: int) -> None:
        super().__init__()
        self.energy = Energy(query_dim, key_dim, hidden_dim)

    def keys(self, states: Tensor) -> Tensor:
        keys: Tensor = self.energy.key_proj(states)
        return keys


def energies(
    query: Tensor,
    keys: Tensor,
    v: Tensor,
    features: Tensor | None = None,
    matrix: Tensor | None = None,
) -> Tensor:
    """v·tanh(q + k + Mᵀ f), (B, S), of projected query (B, H) and keys (B, S, H).

    Half precision is accumulated in float32.
    """
    dtype = accumulated(v).dtype
    query, keys, v = query.to(dtype), keys.to(dtype), v.to(dtype)
    if features is not None and matrix is not None:
        features, matrix = features.to(dtype), matrix.to(dtype)
    scores: Tensor = _Energies.apply(query, keys, v, features, matrix)  # type: ignore[no-untyped-call]  # untyped in torch
    return scores


def _tanh(query: Tensor, keys: Tensor, features: Tensor | None, matrix: Tensor | None) -> Tensor:
    """tanh(q + k + Mᵀ f), (B · S, H)."""
    if features is None or matrix is None:
        return (keys + query[:, None]).tanh_().flatten(0, 1)
    sums = torch.addmm(keys.flatten(0, 1), features.flatten(0, 1), matrix)
    sums.view_as(keys).add_(query[:, None])
    return sums.tanh_()


class _Energies(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        query: Tensor,
        keys: Tensor,
        v: Tensor,
        features: Tensor | None,
        matrix: Tensor | None,
    ) -> Tensor:
        ctx.save_for_backward(query, keys, v, features, matrix)
        with as_given(keys.device):
            return (_tanh(query, keys, features, matrix) @ v).view(keys.shape[:-1])

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        query, keys, v, features, matrix = ctx.saved_tensors
        with as_given(keys.device):
            tanh = _tanh(query, keys, features, matrix)
            flat = grad.reshape(-1)
            grad_v = flat @ tanh
            slope = flat[:, None] * v
            torch.ops.aten.tanh_backward.grad_input(slope, tanh, grad_input=slope)  # · (1 − tanh²)
            grad_keys = slope.view_as(keys)
            grad_features = grad_matrix = None
            if features is not None:
                grad_features = (slope @ matrix.t()).view_as(features)
                grad_matrix = features.flatten(0, 1).t() @ slope
        return grad_keys.sum(1), grad_keys, grad_v, grad_features, grad_matrix


@dataclass(frozen=True, eq=False)
class CoverageState(AlignerState):
    """`total` (B, S): the sum of all weights so far."""

    total: Tensor


class Coverage(EnergyAligner):
    """The additive score, with the summed weights as a feature of each state: f_s = c_s.

    This avoids repeated and omitted words (Tu 2016; See 2017, §2.3).
    Parameters: those of `Energy`, and `feature_proj` (1, H), M of the formula.
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
        output = attended(weights, memory, scores, "e_s = v · tanh(W_q q + W_k h_s + m c_s)")
        return output, CoverageState(state.total + weights)


@dataclass(frozen=True, eq=False)
class LocationState(AlignerState):
    """`weights` (B, S) of the previous query; zeros before the first."""

    weights: Tensor


class LocationSensitive(EnergyAligner):
    """The additive score, with features convolved from the previous weights (Chorowski 2015, §2.1).

    f_s = Σ_j F_j · a_{s+j}, a the weights of the previous query, F (filters × width).
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
        output = attended(weights, memory, scores, "e_s = v · tanh(W_q q + W_k h_s + Mᵀ f_s)")
        return output, LocationState(weights)


def windows(weights: Tensor, width: int) -> Tensor:
    """(B, S, N): the N weights (B, S) around each position, zero beyond the ends.

    >>> windows(torch.tensor([[1.0, 2.0, 3.0]]), 3)
    tensor([[[0., 1., 2.],
             [1., 2., 3.],
             [2., 3., 0.]]])
    """
    half = width // 2
    return F.pad(weights, (half, half)).unfold(1, width, 1)
