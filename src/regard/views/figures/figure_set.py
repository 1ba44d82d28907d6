"""All figures of one text: heads side by side, maps, alignment, entropy, distance, rollout."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from regard.views.figures.alignment_lines import MOST_WORDS, alignment_lines
from regard.views.figures.figure import Figure
from regard.views.figures.heads import head_distance, head_entropy, head_grid
from regard.views.figures.heatmap import heatmap
from regard.views.maps.layers import Floats, LayerHeads, layers_of
from regard.views.maps.rollout import rollout_figure
from regard.views.maps.sentence import Viewed

MOST_TOKENS = 1200
"""More than these are not to be read on a figure; the page shows them."""
PALE = 40
"""Tokens from which on a few strong weights would leave all others pale."""
SHARE = 0.98  # of the rows, whose largest weight has its place on the colour scale


def album(viewed: Viewed) -> Iterator[tuple[str, Figure]]:
    """Each figure with a name for its file."""
    if viewed.target_words and viewed.source_words:
        yield from _alignment(viewed)
    for kind in dict.fromkeys(maps.kind for maps in viewed.maps):
        layers = layers_of(viewed, kind)
        long = max(layers[0].visible.shape) > PALE
        yield f"{kind}-heads", head_grid(viewed, kind, each=long)
        for one in layers:
            yield f"{kind}-layer-{one.layer}", _layer_figure(viewed, one)
        yield f"{kind}-entropy", head_entropy(viewed, kind)
        if kind != "cross":
            yield f"{kind}-distance", head_distance(viewed, kind)
            tokens = viewed.axis(viewed.axes_of(kind)[0]).tokens
            if [one.layer for one in layers] == list(range(len(layers))):
                yield f"{kind}-rollout", rollout_figure(viewed, tokens, kind)


def suitable_scale(plane: Floats) -> float | None:
    """The weight of the full colour: the largest, but of a long text that of nearly all rows.

    There a row that looks at one place alone would leave those that look around without colour.
    """
    if max(plane.shape) <= PALE:
        return None
    return float(np.quantile(plane.max(1), SHARE)) or None


def _alignment(viewed: Viewed) -> Iterator[tuple[str, Figure]]:
    if max(len(viewed.source_words), len(viewed.target_words)) > MOST_WORDS:
        return
    weights = viewed.alignment_weights()
    if weights is None and not viewed.links:
        return
    yield (
        "alignment",
        alignment_lines(
            viewed.source_words,
            viewed.target_words,
            None if weights is None else np.clip(weights, 0.0, 1.0),
            links=viewed.links or None,
            title=_heading(viewed),
        ),
    )


def _layer_figure(viewed: Viewed, one: LayerHeads) -> Figure:
    """The mean of a layer's heads, with its tokens."""
    rows, columns = (viewed.axis(name).tokens for name in viewed.axes_of(one.kind))
    plane = one.weights.mean(0)
    heads = "mean of heads" if len(one.heads) > 1 else "its one head"
    return heatmap(
        plane, rows, columns, one.visible, scale=suitable_scale(plane),
        title=f"{one.kind} attention, layer {one.layer}, {heads}",
    )  # fmt: skip


def _heading(viewed: Viewed) -> str:
    if viewed.aligned_by is None:
        return viewed.model
    layer, head = viewed.aligned_by
    return f"{viewed.model}  layer {layer}, head {head}".strip()
