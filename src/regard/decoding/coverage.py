"""The attention that source tokens receive while hypotheses are generated.

R rows (live hypotheses), S source tokens.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from regard.config import AlignmentSettings
from regard.errors import InputError

LEAST = 1e-6  # a source token without any attention counts as having this much


def step_attention(maps: Sequence[Any], head: AlignmentSettings | None) -> Tensor:
    """(R, S): a step's cross-attention by the head for alignment, else the last layer's mean."""
    cross = [layer_map for layer_map in maps if layer_map.kind == "cross"]
    if not cross:
        raise InputError(
            "a coverage penalty and checks of coverage need a model with cross-attention, and this "
            "one has none; leave them out."
        )
    layer = max(layer_map.layer for layer_map in cross) if head is None else head.layer
    (layer_map,) = [layer_map for layer_map in cross if layer_map.layer == layer]
    weights_RHS = layer_map.weights[:, :, -1].float()
    if head is None or head.head is None:
        return weights_RHS.mean(1)
    chosen: Tensor = weights_RHS[:, layer_map.heads.index(head.head)]
    return chosen


class AttentionSum:
    """The attention of each live hypothesis to each source token, summed over its steps."""

    def __init__(
        self, lengths_R: Tensor, head: AlignmentSettings | None, weight: float = 1.0
    ) -> None:
        self._lengths, self._head, self._weight = lengths_R, head, weight
        self._sum: Tensor | None = None

    def add(self, maps: Sequence[Any]) -> Tensor:
        """Add the attention of a step, which is returned: (R, S)."""
        step_RS = step_attention(maps, self._head)
        self._sum = step_RS if self._sum is None else self._sum + step_RS
        return step_RS

    def select(self, rows: Tensor) -> None:
        """Keep the given rows, in that order."""
        self._lengths = self._lengths[rows]
        self._sum = None if self._sum is None else self._sum[rows]

    def penalties(self) -> list[float]:
        """Of each row: weight · Σ_i log(min(Σ_j a_ij, 1)), over its source tokens i."""
        if self._sum is None:
            return [0.0] * len(self._lengths)
        columns = torch.arange(self._sum.shape[1], device=self._sum.device)
        logs_RS = self._sum.clamp(LEAST, 1.0).log()
        own_RS = columns < self._lengths[:, None]
        penalties: list[float] = (self._weight * (logs_RS * own_RS).sum(1)).tolist()
        return penalties
