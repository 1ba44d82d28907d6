"""Weights that can be exactly zero: sparsemax and 1.5-entmax, by sorting, with exact gradients.

Both are members of one family: p(s) maximizes Σ p_j s_j plus an entropy, and comes out as a
thresholded power of the scores. Softmax is its member that never reaches zero.

    sparsemax   p_j = [s_j − τ]₊         (Martins & Astudillo 2016)
    1.5-entmax  p_j = [s_j / 2 − τ]₊²    (Peters, Niculae & Martins 2019)

The threshold τ makes a row sum to one. It depends only on the scores in the support, the k largest;
for each k it has a closed form, and the largest k whose own members stay above their τ is the one.
A score that lies 1 under the largest (for entmax: 2), or deeper, is never in the support, so those
far below are lifted near that border first: no score, however large, costs the others digits, and
−inf needs no care.

Shapes: scores and weights (…, K); every row on its own.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from regard.attention.engines.precision import accumulated


def sparsemax(scores: Tensor) -> Tensor:
    """The point of the simplex nearest to the scores, along the last dimension (…, K).

    A row must hold a number above −inf. Half precision is summed in float32.

    >>> sparsemax(torch.tensor([1.0, 0.5, -3.0]))
    tensor([0.7500, 0.2500, 0.0000])
    """
    return _rows(_Sparsemax, scores)


def entmax15(scores: Tensor) -> Tensor:
    """Halfway between softmax and sparsemax, along the last dimension (…, K).

    A row must hold a number above −inf. Half precision is summed in float32.

    >>> entmax15(torch.tensor([2.0, 2.0, -3.0]))
    tensor([0.5000, 0.5000, 0.0000])
    """
    return _rows(_Entmax15, scores)


def _rows(function: type[torch.autograd.Function], scores: Tensor) -> Tensor:
    if scores.shape[-1] == 0:
        return scores
    weights: Tensor = function.apply(accumulated(scores))
    return weights.to(scores.dtype)


def _under_the_largest(scores: Tensor) -> Tensor:
    """Scores less their row's largest, at least −2: from −1 on nothing has a weight."""
    return (scores - scores.amax(dim=-1, keepdim=True)).clamp(min=-2.0)


def _threshold(falling: Tensor, threshold: Tensor) -> Tensor:
    """τ (…, 1) of the largest prefix whose members stay above their own `threshold` (…, K)."""
    last = ((falling > threshold) & (falling > -1.0)).sum(dim=-1, keepdim=True) - 1
    return threshold.gather(-1, last.clamp(min=0))  # −1 is from NaN, which then propagates


def _counts(scores: Tensor) -> Tensor:
    """1, 2, …, K: the sizes of the prefixes of a sorted row."""
    return torch.arange(1, scores.shape[-1] + 1, dtype=scores.dtype, device=scores.device)


class _Sparsemax(torch.autograd.Function):
    """The Jacobian is I − 1 1ᵀ/|S| on the support S; its own derivative is zero."""

    generate_vmap_rule = True

    @staticmethod
    def forward(scores: Tensor) -> Tensor:
        """τ(k) = (Σ_{i≤k} s_i − 1) / k over scores in falling order."""
        scores = _under_the_largest(scores)
        falling = scores.sort(dim=-1, descending=True).values
        threshold = (falling.cumsum(dim=-1) - 1) / _counts(scores)
        return (scores - _threshold(falling, threshold)).clamp(min=0)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor], output: Tensor) -> None:
        ctx.save_for_backward(output)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Tensor:
        """∂s_j = ∂p_j − mean of ∂p over the support, for j in it; written to be differentiable."""
        (weights,) = ctx.saved_tensors
        grad = grads[0]
        support = weights > 0
        inside = torch.where(support, grad, 0.0)
        mean = inside.sum(dim=-1, keepdim=True) / support.sum(dim=-1, keepdim=True).clamp(min=1)
        return torch.where(support, grad - mean, 0.0)


class _Entmax15(torch.autograd.Function):
    """The Jacobian is diag(r) − r rᵀ / Σ r with r = √p."""

    generate_vmap_rule = True

    @staticmethod
    def forward(scores: Tensor) -> Tensor:
        """τ(k) = m − √((1 − q) / k), m the mean of the k first, q their squared distance from it.

        The root is of k τ² − 2 τ Σ z_i + Σ z_i² − 1 = 0 over z = s / 2 in falling order.
        """
        halves = _under_the_largest(scores / 2)
        falling = halves.sort(dim=-1, descending=True).values
        count = _counts(halves)
        mean = falling.cumsum(dim=-1) / count
        spread = falling.square().cumsum(dim=-1) - count * mean.square()
        threshold = mean - ((1 - spread) / count).clamp(min=0).sqrt()
        return (halves - _threshold(falling, threshold)).clamp(min=0).square()

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor], output: Tensor) -> None:
        ctx.save_for_backward(output)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Tensor:
        """∂s = r ⊙ (∂p − Σ r ∂p / Σ r); written to be differentiable once more."""
        (weights,) = ctx.saved_tensors
        support = weights > 0  # the root of zero has no slope, so it is never taken
        roots = torch.where(support, torch.where(support, weights, 1.0).sqrt(), 0.0)
        total = roots.sum(dim=-1, keepdim=True)
        pull = (roots * grads[0]).sum(dim=-1, keepdim=True) / total.clamp(min=0.5)
        return roots * (grads[0] - pull)
