"""What a head does, in one number: how widely it looks, and how far.

Shapes: L layers, H heads, R rows, C columns. Rows that see nothing count nowhere.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from regard.views.maps.layers import Floats, LayerHeads, Maps, Truths, layers_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from regard.attention import AttentionMap


class HeadTable(NamedTuple):
    """A number for each head of each layer, `values` (L, H); NaN where there is none."""

    kind: str
    layers: tuple[int, ...]
    heads: tuple[int, ...]
    values: Floats


def entropies(
    maps: Maps | AttentionMap,
    kind: str | None = None,
    *,
    normalized: bool = True,
    row: int = 0,
    mask: Any = None,
) -> HeadTable:
    """How widely each head looks, on average over its rows.

    A row with weights p over n visible keys has −Σ p log₂ p bits. `normalized` divides by log₂ n: 0
    is one key alone, 1 all alike; rows that see a single key have no choice and are left out.
    """
    return _table(
        layers_of(maps, kind, row=row, mask=mask),
        lambda one: row_entropies(one.weights, one.visible, normalized=normalized),
    )


def distances(
    maps: Maps | AttentionMap, kind: str | None = None, *, row: int = 0, mask: Any = None
) -> HeadTable:
    """How many tokens away each head looks on average: the mean over rows i of Σ_j p_ij |i − j|.

    For maps within one text, of kind "encoder" or "decoder".
    """
    layers = layers_of(maps, kind, row=row, mask=mask, among=("encoder", "decoder"))
    return _table(layers, lambda one: row_distances(one.weights, one.visible, one.places))


def row_entropies(weights_HRC: Floats, visible_RC: Truths, *, normalized: bool = True) -> Floats:
    """The entropy (H, R) of every row, in bits or as a share of the most there can be; or NaN."""
    shares = _shares(weights_HRC, visible_RC)
    logs = np.log2(shares, out=np.zeros_like(shares), where=shares > 0)
    bits_HR = np.abs(-(shares * logs).sum(-1))  # no −0
    bits_HR[np.isnan(shares).any(-1)] = np.nan
    if not normalized:
        return np.asarray(bits_HR)
    count_R = visible_RC.sum(-1)
    most_R = np.where(count_R > 1, np.log2(np.maximum(count_R, 2)), np.nan)
    return np.asarray(bits_HR / most_R)


def row_distances(weights_HRC: Floats, visible_RC: Truths, places_R: NDArray[np.int64]) -> Floats:
    """The mean distance (H, R) from each row's place to what it looks at; NaN without weights."""
    apart_RC = np.abs(places_R[:, None] - np.arange(weights_HRC.shape[-1]))
    return np.asarray((_shares(weights_HRC, visible_RC) * apart_RC).sum(-1))


def _shares(weights_HRC: Floats, visible_RC: Truths) -> Floats:
    """Weights divided by their row's sum, hidden ones left out; NaN in a row without any."""
    if (weights_HRC < 0).any():
        raise ValueError("weights must not be negative here; summaries are of attention weights.")
    seen = np.where(visible_RC, weights_HRC, 0.0)
    total = seen.sum(-1, keepdims=True)
    shares = np.full_like(seen, np.nan)
    np.divide(seen, total, out=shares, where=total > 0)
    return shares


def _table(layers: Sequence[LayerHeads], of_rows: Callable[[LayerHeads], Floats]) -> HeadTable:
    heads = sorted({head for one in layers for head in one.heads})
    values = np.full((len(layers), len(heads)), np.nan)
    for number, one in enumerate(layers):
        for head, found_R in zip(one.heads, of_rows(one), strict=True):
            there = found_R[~np.isnan(found_R)]
            if len(there):
                values[number, heads.index(head)] = there.mean()
    return HeadTable(layers[0].kind, tuple(one.layer for one in layers), tuple(heads), values)
