"""From scores to weights: the masked softmax, whose empty rows are exactly zero.

Shapes: scores and weights (…, Q, K); a row is what one query gives to all keys.
"""

from __future__ import annotations

import math
from typing import Protocol

import torch
from torch import Tensor

from regard.attention.mask import Mask, as_mask


class Normalizer(Protocol):
    """Turns scores into weights and says which engines can do it."""

    engines: frozenset[str]

    def __call__(
        self, scores: Tensor, keep: Tensor | None = None, *, finite: bool = False
    ) -> Tensor:
        """Weights (…, Q, K) of scores (…, Q, K); `keep` is True where a query may look.

        `finite` promises that no score is −inf, which would hide its key as well.
        """
        ...


class Softmax:
    """weight_j = exp(s_j) / Σ_k exp(s_k) over the keys a query may see; none seen, all zero."""

    engines = frozenset({"dense", "fused", "blockwise"})

    def __call__(
        self, scores: Tensor, keep: Tensor | None = None, *, finite: bool = False
    ) -> Tensor:
        if finite and keep is None:
            return torch.softmax(scores, dim=-1)
        if finite and keep is not None:  # an empty row is opened, so that nothing becomes NaN
            empty = ~keep.any(dim=-1, keepdim=True)
            scores = scores.masked_fill(~(keep | empty), -math.inf)
        else:
            scores = scores if keep is None else scores.masked_fill(~keep, -math.inf)
            empty = _empty_rows(scores)
            scores = scores.masked_fill(empty, 0.0)
        return torch.softmax(scores, dim=-1).masked_fill(empty, 0.0)

    def __repr__(self) -> str:
        return "Softmax()"


def masked_softmax(scores: Tensor, mask: Mask | Tensor | None = None) -> Tensor:
    """Softmax over the last dimension of `scores` (…, Q, K), in which hidden keys get exactly 0.

    A row that may look at nothing gets all zeros, with zero gradient, never NaN.

    >>> masked_softmax(torch.zeros(1, 1, 4), Mask.lengths([2]))
    tensor([[[0.5000, 0.5000, 0.0000, 0.0000]]])
    """
    if scores.ndim < 2:
        raise ValueError(
            f"scores must have shape (…, Q, K), but {tuple(scores.shape)} came; "
            "add the dimension of queries."
        )
    keep = None
    if mask is not None:
        num_queries, num_keys = scores.shape[-2:]
        keep = as_mask(mask).tensor(
            num_queries, num_keys, batch=scores.shape[:-2], device=scores.device
        )
    return Softmax()(scores, keep)


def log_total(scores: Tensor) -> Tensor:
    """log Σ_j exp(s_j) of each row, (…, Q); −inf, with zero gradient, where a row sees nothing."""
    empty = _empty_rows(scores)
    total = torch.logsumexp(scores.masked_fill(empty, 0.0), dim=-1)
    return total.masked_fill(empty.squeeze(-1), -math.inf)


def _empty_rows(scores: Tensor) -> Tensor:
    """(…, Q, 1): True where every score is −inf, as in a row that was hidden whole."""
    if scores.shape[-1] == 0:
        return torch.ones((*scores.shape[:-1], 1), dtype=torch.bool, device=scores.device)
    return scores.detach().amax(dim=-1, keepdim=True) == -math.inf
