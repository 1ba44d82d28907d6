"""How far the maps of inspected texts are the reason of the output: one figure of a model.

Tokens are switched off in the attention one by one, and the order of their effects is compared with
that of their weights, in the mean of the last layer's heads (`views/maps/faithfulness.py`). It
takes a batch of as many rows as a text has tokens, for the first few short texts.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from regard.models.batch import Batch
from regard.tasks.inspection import Inspection
from regard.views.maps.arrays import KIND_NAMES, Floats
from regard.views.maps.effects import token_scores
from regard.views.maps.faithfulness import key_effects, row_correlations
from regard.views.maps.layers import layers_of

MAX_TEXTS, MAX_KEYS = 5, 64


class Faithfulness(NamedTuple):
    """Rank correlation of weights and effects, the mean over output tokens of `num_texts` texts."""

    correlation: float
    num_texts: int

    def __str__(self) -> str:
        texts = f"{self.num_texts} text{'' if self.num_texts == 1 else 's'}"
        return (
            f"rank correlation {self.correlation:.2f} between a token's weight and the effect of "
            f"switching it off (1: the map shows what counts; 0: it does not; {texts})"
        )


def measure_faithfulness(model: Any, inspections: Sequence[Inspection]) -> Faithfulness | None:
    """The figure of a model on the texts; None without maps, output or short texts."""
    measured: list[Floats] = []
    for inspection in inspections:
        if len(measured) < MAX_TEXTS and inspection.view.maps and inspection.score is not None:
            correlations = map_correlations(model.network, inspection)
            if np.isfinite(correlations).any():
                measured.append(correlations)
    if not measured:
        return None
    return Faithfulness(float(np.nanmean(np.concatenate(measured))), len(measured))


def map_correlations(network: Any, inspection: Inspection) -> Floats:
    """(R,): of each output token, or of the one label; empty for a long text."""
    view, batch, score = inspection.view, inspection.batch, inspection.score
    assert score is not None
    kinds = {maps.kind for maps in view.maps}
    kind = "cross" if "cross" in kinds else view.maps[-1].kind
    shown = layers_of(view, kind)[-1]
    num_rows, num_keys = shown.visible.shape
    if num_keys > MAX_KEYS:
        return np.zeros(0)
    tokens = isinstance(batch, Batch)
    name = {shown: own for own, shown in KIND_NAMES.items()}.get(kind, kind)
    effects = key_effects(network, batch, token_scores(batch) if tokens else score, name, num_keys)
    effects = effects.reshape(num_keys, -1).T[:num_rows]
    return row_correlations(shown.matrix(None), effects, shown.visible)
