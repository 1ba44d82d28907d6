"""Sparsemax and entmax against the `entmax` package, forward and in gradients."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from regard.attention import entmax15, sparsemax
from regard.bench.row import Row

TOLERANCE = 1e-5


def rows() -> list[Row]:
    """The largest differences; none if the package is not installed."""
    try:
        import entmax
    except ImportError:
        return []
    pairs = (("Sparsemax", sparsemax, entmax.sparsemax), ("Entmax15", entmax15, entmax.entmax15))
    return [
        Row(
            f"{name}: largest difference from the entmax package, {what}",
            number,
            None,
            None,
            "<=",
            TOLERANCE,
        )
        for name, ours, theirs in pairs
        for what, number in zip(("forward", "gradient"), difference(ours, theirs), strict=True)
    ]


def difference(
    ours: Callable[[Tensor], Tensor], theirs: Callable[..., Tensor]
) -> tuple[float, float]:
    """The largest difference of weights and of gradients, over many lengths and scales."""
    torch.manual_seed(0)
    worst = [0.0, 0.0]
    for length in (1, 2, 7, 64, 1000):
        for scale in (0.01, 1.0, 30.0):
            scores = scale * torch.randn(50, length)
            grad = torch.randn(50, length)
            results = []
            for function in (ours, lambda x: theirs(x, dim=-1)):
                leaf = scores.clone().requires_grad_()
                weights = function(leaf)
                results.append((weights.detach(), *torch.autograd.grad(weights, leaf, grad)))
            for index, (a, b) in enumerate(zip(*results, strict=True)):
                worst[index] = max(worst[index], float((a - b).abs().max()))
    return worst[0], worst[1]
