"""All figures of one text: alignment, heads, layers, entropy, distance and rollout."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from regard.views.figures.alignment_lines import MAX_WORDS, alignment_lines
from regard.views.figures.figure import Figure
from regard.views.figures.heads import head_distance, head_entropy, head_grid
from regard.views.figures.heatmap import heatmap
from regard.views.maps.arrays import Floats
from regard.views.maps.layers import layers_of
from regard.views.maps.rollout import rollout_figure
from regard.views.maps.sentence import SentenceView

MAX_TOKENS = 1200
"""Longer texts cannot be read on a figure; the HTML page shows them."""
LONG = 40
"""Tokens from which on a few strong weights would leave all others pale."""
QUANTILE = 0.98  # of the rows' largest weights, which gets the full color in long maps


def figure_set(view: SentenceView) -> Iterator[tuple[str, Figure]]:
    """Yield each figure with a name for its file."""
    alignment = _alignment_figure(view)
    if alignment is not None:
        yield "alignment", alignment
    for kind in dict.fromkeys(maps.kind for maps in view.maps):
        layers = layers_of(view, kind)
        rows, columns = (view.axis(name).tokens for name in view.axes_of(kind))
        yield f"{kind}-heads", head_grid(view, kind, each=max(len(rows), len(columns)) > LONG)
        for layer in layers:
            matrix = layer.matrix(None)
            heads = "mean of heads" if len(layer.heads) > 1 else "its one head"
            yield (
                f"{kind}-layer-{layer.layer}",
                heatmap(
                    matrix,
                    rows,
                    columns,
                    layer.visible,
                    scale=color_limit(matrix),
                    title=f"{kind} attention, layer {layer.layer}, {heads}",
                ),
            )
        yield f"{kind}-entropy", head_entropy(view, kind)
        if kind != "cross":
            yield f"{kind}-distance", head_distance(view, kind)
            if [layer.layer for layer in layers] == list(range(len(layers))):
                yield f"{kind}-rollout", rollout_figure(view, rows, kind)


def color_limit(matrix: Floats) -> float | None:
    """The weight of the full color: None for the largest, or a quantile in the map of a long text.

    There, a row that attends to a single position would leave all others without color.
    """
    if max(matrix.shape) <= LONG:
        return None
    return float(np.quantile(matrix.max(1), QUANTILE)) or None


def _alignment_figure(view: SentenceView) -> Figure | None:
    if not view.target_words or not view.source_words:
        return None
    weights = view.alignment_weights()
    if max(len(view.source_words), len(view.target_words)) > MAX_WORDS or (
        weights is None and not view.links
    ):
        return None
    title = view.model
    if view.alignment_head is not None:
        title += "  layer {}, head {}".format(*view.alignment_head)
    return alignment_lines(
        view.source_words,
        view.target_words,
        None if weights is None else np.clip(weights, 0.0, 1.0),
        links=view.links or None,
        title=title.strip(),
    )
