"""The additive score of aligners, with features of the aligner's state.

    e_s = v·tanh(W_q q + k_s + Mᵀ f_s)

Its backward pass recomputes tanh, so that a training step saves its features instead of a
(B, S, H) tensor.

Shapes: B sentences, S states, Q features of a query, K of a state, H hidden, F extra.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from regard.attention.aligners.aligner import Aligner
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
    # torch gives `Function.apply` no types
    scores: Tensor = _Energies.apply(query, keys, v, features, matrix)  # type: ignore[no-untyped-call]  # torch's
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
