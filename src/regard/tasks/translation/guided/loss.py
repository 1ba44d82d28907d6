"""The loss of attention that is to follow links (Garg 2019, "Jointly learning to align …").

Attention can learn what it is to show: with α the weights of one head, and links(q) the keys that a
query q is linked to,

    loss = −Σ_q log Σ_{k ∈ links(q)} α(q, k)

over the queries that have links. How a query with several links divides its weight among them is
left to the head.

Shapes: B sentences, Q queries, K keys.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from regard.attention.inspection import probe
from regard.config import Run
from regard.models.batch import Batch, GuidedHead
from regard.tasks.text.loss import token_loss

SMALLEST = 1e-30
"""What a weight counts as at least, so that its logarithm is finite."""


def link_loss(weights_BQK: Tensor, links_BQK: Tensor) -> Tensor:
    """Return −Σ log of the weight on linked keys, over all queries with links.

    >>> weights = torch.tensor([[[0.5, 0.25, 0.25], [0.1, 0.1, 0.8]]])
    >>> links = torch.tensor([[[True, True, False], [False, False, False]]])
    >>> round(float(link_loss(weights, links)), 4)  # −log(¾)
    0.2877
    """
    linked = links_BQK.any(-1)
    weights_NK = weights_BQK[linked]
    wide = torch.promote_types(weights_NK.dtype, torch.float32)
    on_links = (weights_NK.to(wide) * links_BQK[linked]).sum(-1)
    return -on_links.clamp_min(SMALLEST).log().sum()


class HeadWeights:
    """The probe of heads: the weights (B, H, Q, K) of their attention, with gradients."""

    def __init__(self, network: Any, heads: Sequence[GuidedHead]) -> None:
        self._scopes = [_scope(network, head) for head in heads]
        self._weights: dict[tuple[int, str], Tensor] = {}
        self._scope = 0, ""

    def scope(self, side: str, part: str, layer: object, offset: int) -> bool:
        self._scope = id(layer), part
        return self.needs_weights()

    def needs_weights(self) -> bool:
        return self._scope in self._scopes

    def emit(self, name: str, equation: str, x: Tensor, axis: str, make: probe.Make | None) -> None:
        if name == "weights" and self.needs_weights():
            self._weights[self._scope] = x

    @property
    def weights(self) -> list[Tensor]:
        """The weights of the attention of every head, in the order of the heads."""
        return [self._weights[scope] for scope in self._scopes]


def _scope(network: Any, head: GuidedHead) -> tuple[int, str]:
    """The layer and the part that a head belongs to."""
    stack = network.encoder if head.attention == "encoder" else network.decoder
    part = "cross-attention" if head.attention == "cross" else "self-attention"
    return id(stack.layers[head.layer]), part


def guided_features(network: Any, batch: Batch) -> tuple[Tensor, list[Tensor]]:
    """Return the features, and the weights (B, Q, K) of each of the batch's guided heads."""
    heads = HeadWeights(network, batch.guided)
    with probe.probing(heads):
        features: Tensor = network.features(batch)
    weights = zip(heads.weights, batch.guided, strict=True)
    return features, [weights_BHQK[:, guided.head] for weights_BHQK, guided in weights]


def guided_loss(run: Run, network: Any, batch: Batch, scale: float) -> Tensor:
    """Return scale · (the cross-entropy of all labels + the loss of each guided head)."""
    features, weights = guided_features(network, batch)
    loss = token_loss(run, network, batch, scale, features)
    for head, weights_BQK in zip(batch.guided, weights, strict=True):
        loss = loss + scale * head.factor * link_loss(weights_BQK, head.links)
    return loss
