"""Attention rollout: how much of each input word reaches each place, through all layers.

Shapes: L layers, H heads, T tokens.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from regard.views.figures.figure import Figure
from regard.views.figures.heatmap import heatmap
from regard.views.maps.layers import Floats, Maps, is_plain, layers_of, listed

if TYPE_CHECKING:
    from regard.attention import AttentionMap


def rollout(
    maps: Maps | AttentionMap,
    kind: str | None = None,
    *,
    heads: Sequence[int | None] | int | None = None,
    residual: float = 0.5,
    row: int = 0,
    mask: Any = None,
) -> Floats:
    """The rollout (L, T, T) after each layer (Abnar & Zuidema 2020): R_l = Â_l R_{l−1}, R_0 = I.

    Â_l = (1 − r) A_l + r I, its rows divided by their sums: what the layer reads through attention,
    and what passes by it (`residual`). A_l is the mean of the heads, or the head that `heads`
    names, for all layers or for each. A row that sees nothing keeps what it had. Of kind "encoder"
    or "decoder", recorded whole.
    """
    if not 0 <= residual < 1:
        raise ValueError(f"residual must be from 0 to below 1, but {residual} came.")
    layers = layers_of(maps, kind, row=row, mask=mask, among=("encoder", "decoder"))
    named = [heads] * len(layers) if heads is None or isinstance(heads, int) else list(heads)
    if len(named) != len(layers):
        raise ValueError(f"heads must name one for each of {len(layers)} layers, not {len(named)}.")
    if [one.layer for one in layers] != list(range(len(layers))):
        raise ValueError("rollout needs the maps of every layer from the first on.")
    length = layers[0].weights.shape[-1]
    through = np.eye(length)
    after = []
    for one, head in zip(layers, named, strict=True):
        if one.weights.shape[1:] != (length, length):
            raise ValueError(
                f"rollout needs whole maps of {length} × {length}, but the one of layer "
                f"{one.layer} is {one.weights.shape[1]} × {one.weights.shape[2]}."
            )
        if head is not None and head not in one.heads:
            raise ValueError(f"layer {one.layer} has the heads {one.heads}, but {head} came.")
        chosen = one.weights.mean(0) if head is None else one.weights[one.heads.index(head)]
        through = mixed(np.where(one.visible, chosen, 0.0), residual) @ through
        after.append(through)
    return np.stack(after)


def mixed(plane_TT: Floats, residual: float) -> Floats:
    """(1 − r) A + r I with rows that sum to one."""
    both = (1 - residual) * plane_TT + residual * np.eye(len(plane_TT))
    empty = ~(both.sum(-1) > 0)  # no residual, and nothing seen
    both[empty] = np.eye(len(plane_TT))[empty]
    return np.asarray(both / both.sum(-1, keepdims=True))


def rollout_figure(
    maps: Maps | AttentionMap,
    tokens: Sequence[str],
    kind: str | None = None,
    *,
    layer: int = -1,
    heads: Sequence[int | None] | int | None = None,
    residual: float = 0.5,
    row: int = 0,
    mask: Any = None,
) -> Figure:
    """The rollout after a layer (the last by default) as a heat map: rows are made of columns."""
    maps = maps if is_plain(maps) else listed(maps)  # looked at twice
    after = rollout(maps, kind, heads=heads, residual=residual, row=row, mask=mask)
    if not -len(after) <= layer < len(after):
        raise ValueError(f"layer must be below {len(after)}, but {layer} came.")
    reach = np.eye(after.shape[-1], dtype=np.bool_)  # what there is a way to
    layers = layers_of(maps, kind, row=row, mask=mask, among=("encoder", "decoder"))
    for one in layers[: range(len(after))[layer] + 1]:
        reach = (one.visible @ reach) | reach
    return heatmap(
        after[layer], tokens, tokens, reach, unit="share",
        title=f"rollout through layer {range(len(after))[layer]}",
        row_title="place", column_title="input",
    )  # fmt: skip
