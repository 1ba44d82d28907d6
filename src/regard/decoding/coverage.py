"""The attention that source tokens receive while hypotheses are generated.

R rows (live hypotheses), S source tokens.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from regard.config import AlignmentSettings
from regard.errors import InputError

LEAST = 1e-6  # a source token without any attention counts as having this much
LEAST_SHARE = 1e-3  # the same of a phrase that is written


def step_attention(maps: Sequence[Any], head: AlignmentSettings | None) -> Tensor | None:
    """(R, S): a step's cross-attention by the head for alignment, else the last layer's mean.

    None for a model without cross-attention.
    """
    cross = [layer_map for layer_map in maps if layer_map.kind == "cross"]
    if not cross:
        return None
    layer = max(layer_map.layer for layer_map in cross) if head is None else head.layer
    (layer_map,) = (layer_map for layer_map in cross if layer_map.layer == layer)
    weights_RHS: Tensor = layer_map.weights[:, :, -1].float()
    if head is None or head.head is None:
        return weights_RHS.mean(1)
    return weights_RHS[:, layer_map.heads.index(head.head)]


class AttentionSum:
    """The attention of each live hypothesis to each source token, of this step and of all.

    lengths_R  source tokens of each row
    head       by which attention is read
    weight     of the coverage penalty; 0 for none, and then models without attention are fine
    """

    def __init__(
        self, lengths_R: Tensor, head: AlignmentSettings | None, weight: float = 0.0
    ) -> None:
        self._lengths, self._head, self._weight = lengths_R, head, weight
        self._step: Tensor | None = None
        self._sum: Tensor | None = None

    def add(self, maps: Sequence[Any]) -> None:
        """Add the attention of a step."""
        self._step = step_attention(maps, self._head)
        if self._step is not None:
            self._sum = self._step if self._sum is None else self._sum + self._step
        elif self._weight:
            raise InputError(
                "decoding.coverage_penalty needs a model with cross-attention, and this one has "
                "none; leave it out."
            )

    def select(self, rows: Tensor) -> None:
        """Keep the given rows, in that order."""
        self._lengths = self._lengths[rows]
        self._sum = None if self._sum is None else self._sum[rows]

    def log_share(self, row: int, positions: Sequence[int]) -> float:
        """Log of the share of this step's attention that some source tokens have; 0 if unknown."""
        if self._step is None or not positions:
            return 0.0
        share = self._step[row, list(positions)].sum() / self._step[row].sum().clamp(min=LEAST)
        return math.log(min(max(float(share), LEAST_SHARE), 1.0))

    def penalties(self) -> list[float]:
        """Of each row: weight · Σ_i log(min(Σ_j a_ij, 1)), over its source tokens i."""
        if self._sum is None or not self._weight:
            return [0.0] * len(self._lengths)
        columns = torch.arange(self._sum.shape[1], device=self._sum.device)
        logs_RS = self._sum.clamp(LEAST, 1.0).log()
        is_source_RS = columns < self._lengths[:, None]
        penalties: list[float] = (self._weight * (logs_RS * is_source_RS).sum(1)).tolist()
        return penalties
