"""Views of attention: figures, HTML pages and terminal output.

figures/   PNG, SVG and PDF figures drawn with matplotlib
html/      the HTML page of texts with their maps, as a file, in a notebook or served; its data and
           its scripts (html/browser)
terminal/  alignments and decisions printed with rich
maps/      the numbers behind them: maps of any origin as arrays, words of tokens, head summaries

A `SentenceView` holds one text with its attention. `Matrix` and `Interlinear` print it, `page`
writes any number of them as one HTML file, and `show` makes such a page of any torch model's
attention. Figures are drawn from a `SentenceView`, from recorded `AttentionMap`s or from plain
numbers. torch and matplotlib are imported when they are needed.
"""

from typing import TYPE_CHECKING, Any

from regard.views.figures.alignment_lines import alignment_lines
from regard.views.figures.figure import Figure
from regard.views.figures.gates import gate_figure, gaze_figure, gaze_map
from regard.views.figures.heads import head_distance, head_effects, head_entropy, head_grid
from regard.views.figures.heatmap import heatmap
from regard.views.figures.kernel_regression import kernel_regression_figure
from regard.views.figures.positions import positions_figure
from regard.views.figures.vector_plane import vector_plane
from regard.views.html.notebook import Page
from regard.views.html.page import page
from regard.views.html.show import show
from regard.views.maps.rollout import rollout, rollout_figure
from regard.views.maps.sentence import HeadMaps, SentenceView, word_weights
from regard.views.maps.summaries import HeadTable, distances, entropies
from regard.views.terminal.alignment import Interlinear, Matrix

if TYPE_CHECKING:
    from regard.views.maps.effects import (
        gradient_figure,
        gradient_times_attention,
        label_score,
        switch_off_effects,
    )

__all__ = [
    "Figure",
    "HeadMaps",
    "HeadTable",
    "Interlinear",
    "Matrix",
    "Page",
    "SentenceView",
    "alignment_lines",
    "distances",
    "entropies",
    "gate_figure",
    "gaze_figure",
    "gaze_map",
    "gradient_figure",
    "gradient_times_attention",
    "head_distance",
    "head_effects",
    "head_entropy",
    "head_grid",
    "heatmap",
    "kernel_regression_figure",
    "label_score",
    "page",
    "positions_figure",
    "rollout",
    "rollout_figure",
    "show",
    "switch_off_effects",
    "vector_plane",
    "word_weights",
]

_NEED_TORCH = {"gradient_figure", "gradient_times_attention", "label_score", "switch_off_effects"}


def __getattr__(name: str) -> Any:
    if name not in _NEED_TORCH:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from regard.views.maps import effects

    return getattr(effects, name)
