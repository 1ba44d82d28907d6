"""Attention as the formula says it: the judge of every engine.

Shapes: query (…, Q, Dq), key (…, K, Dk), value (…, K, Dv), context (…, Q, Dv), weights (…, Q, K).
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

from regard.attention.engines.tile import Tile
from regard.attention.masks.bias import Bias, DistanceBias, as_bias
from regard.attention.masks.mask import Mask, as_mask
from regard.attention.normalizers.normalizer import Normalizer, Softmax
from regard.attention.scores.prepared import spread
from regard.attention.scores.score import ScaledDot, Score
from regard.dropout import dropout as drop


def attend(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    *,
    score: Score | None = None,
    bias: Tensor | Bias | DistanceBias | None = None,
    mask: Mask | Tensor | None = None,
    normalizer: Normalizer | None = None,
    dropout: float = 0.0,
) -> tuple[Tensor, Tensor, Tensor]:
    """context_i = Σ_j a_ij v_j with a_i = normalize_j(score(q_i, k_j) + bias_ij).

    j runs over the keys that query i sees: those that neither the mask nor a bias of −∞ hides.
    Returns the context, the weights before dropout, and log Σ_j exp of the scores (…, Q).

    >>> q = torch.eye(3)[None]
    >>> context, weights, _ = attend(q, q, q, mask=Mask.causal())
    >>> context[0, 0], weights.shape
    (tensor([1., 0., 0.]), torch.Size([1, 3, 3]))
    """
    score = ScaledDot() if score is None else score
    normalizer = Softmax() if normalizer is None else normalizer
    batch, size = query.shape[:-2], (query.shape[-2], key.shape[-2])
    tile = Tile.whole(*size, tuple(batch), query.device)
    seen = torch.ones(*batch, *size, dtype=torch.bool, device=query.device)
    if mask is not None:
        seen = seen & as_mask(mask).tile(tile)
    added = None if bias is None else as_bias(bias).tile(tile)
    if added is not None:
        seen = seen & (added > -math.inf)
    heads = query.shape[-3] if query.ndim > 2 else 1
    key, value = spread(key, heads), spread(value, heads)
    # What is not finite counts as zero, also in the gradient: 0 · NaN would be NaN. The rows that
    # see any of it are NaN.
    finite_key = key.isfinite().all(-1) & value.isfinite().all(-1)
    finite = query.isfinite().all(-1, keepdim=True) & finite_key[..., None, :]
    spoiled = (seen & ~finite).any(-1, keepdim=True)
    query, key, value = (torch.where(x.isfinite(), x, 0.0) for x in (query, key, value))
    scores = score(query, key.expand(*batch, *key.shape[-2:]))
    if added is not None:
        scores = scores + added
    scores = scores.masked_fill(~seen, -math.inf)
    weights = normalizer(scores)  # a row that sees nothing is zero
    context = (drop(weights, dropout) @ value).masked_fill(spoiled, math.nan)
    return context, weights.masked_fill(spoiled, math.nan), scores.logsumexp(-1)
