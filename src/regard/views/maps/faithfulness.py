"""How far a map is the reason of the output: weights against what happens without them.

For an output token t and a key k, a_tk is the weight and

    e_tk = log p(y_t) − log p(y_t, key k switched off)

its effect: the weights of the key are zero in every layer and head of that kind of attention, and
the others of a row are scaled to the sum that the row had. A map that shows the reason orders the
keys as their effects do: Spearman's rank correlation is 1; 0 means that they are unrelated (Jain
and Wallace 2019, "Attention is not explanation", §4.1).

Shapes: B sentences, T output tokens, K keys, H heads, Q queries, R rows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from regard.attention import Edit, intervene
from regard.attention.engines.tile import as_BHQ
from regard.attention.inspection.observe import ObservedCall
from regard.views.maps.arrays import Bools, Floats

Score = Callable[[Tensor], Tensor]
MIN_KEYS = 3
"""Fewer keys have no order worth comparing."""


def key_effects(model: nn.Module, batch: Any, score: Score, kind: str, num_keys: int) -> Floats:
    """(K, …): the score of one sentence, minus that with each of its first K keys switched off.

    `score` maps the model's output to (B,) or (B, T), and sees one sentence K times.
    """
    first = torch.zeros(num_keys, dtype=torch.long)
    with torch.no_grad():
        whole = score(model(batch))
        with intervene(model, KeysOff(kind=kind), unused=lambda _: None):
            without = score(model(batch.rows(first)))
    effects: Floats = (whole - without).double().cpu().numpy()
    return effects


def rank_correlation(first: Floats, second: Floats) -> float:
    """Spearman's rank correlation of two vectors; equal values share the mean of their ranks.

    NaN where all values of a vector are equal.

    >>> round(rank_correlation(np.array([0.1, 0.7, 0.2]), np.array([1.0, 9.0, 3.0])), 6)
    1.0
    """
    ranks = []
    for values in (first, second):
        below = (values[None, :] < values[:, None]).sum(1)
        equal = (values[None, :] == values[:, None]).sum(1)
        rank = below + (equal - 1) / 2
        ranks.append(rank - rank.mean())
    scale = np.sqrt((ranks[0] ** 2).sum() * (ranks[1] ** 2).sum())
    return float(ranks[0] @ ranks[1] / scale) if scale else float("nan")


def row_correlations(first: Floats, second: Floats, visible: Bools | None = None) -> Floats:
    """(R,): the rank correlation of each row of two matrices (R, K), over its visible keys.

    NaN for rows with fewer than `MIN_KEYS`, or without any order.
    """
    shown = np.ones(first.shape, bool) if visible is None else visible
    return np.array(
        [
            rank_correlation(a[seen], b[seen]) if seen.sum() >= MIN_KEYS else np.nan
            for a, b, seen in zip(first, second, shown, strict=True)
        ]
    )


@dataclass(frozen=True, eq=False, kw_only=True)
class KeysOff(Edit):
    """Switches key b off in sentence b of a batch, in all heads; other weights are scaled up.

    Where a row attends to that key alone, nothing is left and its context is zero.
    """

    def apply(self, call: ObservedCall) -> ObservedCall | None:
        if getattr(call.source, "over", "keys") != "keys":
            return None
        weights_BHQK = as_BHQ(call.weights()).clone()
        total = weights_BHQK.sum(-1, keepdim=True)
        rows = torch.arange(len(weights_BHQK), device=weights_BHQK.device)
        rows = rows[rows < weights_BHQK.shape[-1]]  # a decoder's first steps have fewer keys
        weights_BHQK[rows, :, :, rows] = 0.0
        remaining = weights_BHQK.sum(-1, keepdim=True)
        weights_BHQK *= torch.where(remaining > 0, total / remaining.clamp(min=1e-30), 0.0)
        context = weights_BHQK @ as_BHQ(call.source.spread().value).to(weights_BHQK.dtype)
        return replace(call, context=context.to(call.context.dtype).reshape(call.context.shape))
