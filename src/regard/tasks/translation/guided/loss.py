"""The loss of attention that is to follow links (Garg 2019, "Jointly learning to align …").

Attention can learn what it is to show: with α the weights of one head, and links(q) the keys that a
query q is linked to,

    loss = −Σ_q log Σ_{k ∈ links(q)} α(q, k)

over the queries that have links. How a query with several links divides its weight among them is
left to the head.

Shapes: B sentences, Q queries, K keys.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from regard.config import Run
from regard.models.batch import Batch
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


def guided_loss(run: Run, network: Any, batch: Batch, scale: float) -> Tensor:
    """Return scale · (the cross-entropy of all labels + the loss of each guided head)."""
    features, weights = network.guided_features(batch)
    loss = token_loss(run, network, batch, scale, features)
    for head, weights_BQK in zip(batch.guided, weights, strict=True):
        loss = loss + scale * head.factor * link_loss(weights_BQK, head.links)
    return loss
