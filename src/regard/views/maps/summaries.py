"""One number per head: the entropy of its rows, and the distance it attends over.

Shapes: L layers, H heads, R rows, C columns. Rows that attend to nothing are not counted.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from regard.views.maps.arrays import Bools, Floats, Ints, row_bits
from regard.views.maps.layers import LayerHeads, layers_of

if TYPE_CHECKING:
    from regard.views.maps.layers import Maps


class HeadTable(NamedTuple):
    """A number for each head of each layer, `values` (L, H); NaN where there is none."""

    kind: str
    layers: tuple[int, ...]
    heads: tuple[int, ...]
    values: Floats


def entropies(
    maps: Maps, kind: str | None = None, *, normalized: bool = True, row: int = 0, mask: Any = None
) -> HeadTable:
    """The mean entropy of each head's rows.

    A row with weights p over n visible keys has −Σ p log₂ p bits. `normalized` divides by log₂ n: 0
    is a single key, 1 is uniform; rows with one visible key are left out.
    """
    return _table(
        layers_of(maps, kind, row=row, mask=mask),
        lambda layer: row_entropies(layer.weights, layer.visible, normalized=normalized),
    )


def distances(maps: Maps, kind: str | None = None, *, row: int = 0, mask: Any = None) -> HeadTable:
    """The mean attention distance of each head in tokens: the mean over rows i of Σ_j p_ij |i − j|.

    For maps within one text, of kind "encoder" or "decoder".
    """
    layers = layers_of(maps, kind, row=row, mask=mask, among=("encoder", "decoder"))
    return _table(
        layers, lambda layer: row_distances(layer.weights, layer.visible, layer.positions)
    )


def row_entropies(weights_HRC: Floats, visible_RC: Bools, *, normalized: bool = True) -> Floats:
    """The entropy (H, R) of every row, in bits or divided by its maximum; NaN without weights."""
    weights = _visible(weights_HRC, visible_RC)
    bits_HR = np.where(weights.any(-1), row_bits(weights), np.nan)
    if not normalized:
        return np.asarray(bits_HR)
    count_R = visible_RC.sum(-1)
    max_R = np.where(count_R > 1, np.log2(np.maximum(count_R, 2)), np.nan)
    return np.asarray(bits_HR / max_R)


def row_distances(weights_HRC: Floats, visible_RC: Bools, positions_R: Ints) -> Floats:
    """The mean distance (H, R) from each row's position to its keys; NaN without weights."""
    distance_RC = np.abs(positions_R[:, None] - np.arange(weights_HRC.shape[-1]))
    weights = _visible(weights_HRC, visible_RC)
    total_HR = weights.sum(-1)
    sums_HR = (weights * distance_RC).sum(-1)
    return np.asarray(np.where(total_HR > 0, sums_HR / np.where(total_HR > 0, total_HR, 1), np.nan))


def _visible(weights_HRC: Floats, visible_RC: Bools) -> Floats:
    """The weights with masked ones set to zero."""
    if (weights_HRC < 0).any():
        raise ValueError("summaries need attention weights, got negative numbers.")
    return np.where(visible_RC, weights_HRC, 0.0)


def _table(layers: Sequence[LayerHeads], of_rows: Callable[[LayerHeads], Floats]) -> HeadTable:
    heads = sorted({head for layer in layers for head in layer.heads})
    values = np.full((len(layers), len(heads)), np.nan)
    for number, layer in enumerate(layers):
        for head, values_R in zip(layer.heads, of_rows(layer), strict=True):
            if not np.isnan(values_R).all():
                values[number, heads.index(head)] = np.nanmean(values_R)
    return HeadTable(layers[0].kind, tuple(la.layer for la in layers), tuple(heads), values)
