"""Attention rollout: how much of each input token reaches each position through all layers.

Shapes: L layers, H heads, T tokens.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from regard.views.figures.figure import Figure
from regard.views.figures.heatmap import heatmap
from regard.views.maps.arrays import Floats
from regard.views.maps.layers import is_plain, layer_at, layers_of, list_maps

if TYPE_CHECKING:
    from regard.views.maps.layers import Maps

WITHIN_TEXT = ("encoder", "decoder")


def rollout(
    maps: Maps,
    kind: str | None = None,
    *,
    heads: Sequence[int | None] | int | None = None,
    residual: float = 0.5,
    row: int = 0,
    mask: Any = None,
) -> Floats:
    """The rollout (L, T, T) after each layer (Abnar & Zuidema 2020): R_l = Â_l R_{l−1}, R_0 = I.

    Â_l = (1 − r) A_l + r I with rows divided by their sums, where r is the share of the residual
    connection (`residual`). A_l is the mean of the heads, or the head given in `heads`, for all
    layers or one per layer. A row that attends to nothing keeps its input. The maps must be of kind
    "encoder" or "decoder" and recorded whole.
    """
    if not 0 <= residual < 1:
        raise ValueError(f"residual must be from 0 to below 1, got {residual}.")
    layers = layers_of(maps, kind, row=row, mask=mask, among=WITHIN_TEXT)
    chosen = [heads] * len(layers) if heads is None or isinstance(heads, int) else list(heads)
    if len(chosen) != len(layers):
        raise ValueError(f"heads must have one per layer ({len(layers)}), got {len(chosen)}.")
    if [layer.layer for layer in layers] != list(range(len(layers))):
        raise ValueError("rollout needs the maps of every layer from the first on.")
    length = layers[0].weights.shape[-1]
    product = np.eye(length)
    after = []
    for layer, head in zip(layers, chosen, strict=True):
        if layer.weights.shape[1:] != (length, length):
            raise ValueError(
                f"rollout needs whole maps of {length} × {length}, got "
                f"{layer.weights.shape[1]} × {layer.weights.shape[2]} in layer {layer.layer}."
            )
        visible_weights = np.where(layer.visible, layer.matrix(head), 0.0)
        product = add_residual(visible_weights, residual) @ product
        after.append(product)
    return np.stack(after)


def add_residual(matrix_TT: Floats, residual: float) -> Floats:
    """(1 − r) A + r I with rows that sum to one."""
    eye = np.eye(len(matrix_TT))
    mixed = (1 - residual) * matrix_TT + residual * eye
    empty = ~(mixed.sum(-1) > 0)  # no residual, and nothing attended to
    mixed[empty] = eye[empty]
    return np.asarray(mixed / mixed.sum(-1, keepdims=True))


def rollout_figure(
    maps: Maps,
    tokens: Sequence[str],
    kind: str | None = None,
    *,
    layer: int = -1,
    heads: Sequence[int | None] | int | None = None,
    residual: float = 0.5,
    row: int = 0,
    mask: Any = None,
) -> Figure:
    """Draw the rollout after a layer (the last by default) as a heat map."""
    maps = maps if is_plain(maps) else list_maps(maps)  # iterated twice
    after = rollout(maps, kind, heads=heads, residual=residual, row=row, mask=mask)
    layers = layers_of(maps, kind, row=row, mask=mask, among=WITHIN_TEXT)
    last = layer_at(layers, layer).layer
    reached = np.eye(after.shape[-1], dtype=np.bool_)
    for below in layers[: last + 1]:
        reached = (below.visible @ reached) | reached
    return heatmap(
        after[last],
        tokens,
        tokens,
        reached,
        unit="share",
        row_title="position",
        column_title="input",
        title=f"rollout through layer {last}",
    )
