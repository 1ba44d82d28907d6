"""Looking at what a model did: in the terminal, on an HTML page, and as figures.

A `Viewed` holds what there is to see of one translated sentence. `Matrix` and `Interlinear` print
it with rich; `page` writes any number of them as one HTML file that needs nothing else, and `show`
makes one of any torch model's attention, to be saved or shown by a notebook. Figures
(PNG, SVG, PDF) are drawn from these, from recorded `AttentionMap`s or from plain numbers; torch
and matplotlib are loaded when something needs them.
"""

from typing import TYPE_CHECKING, Any

from regard.views.figures.alignment_lines import alignment_lines
from regard.views.figures.figure import Figure
from regard.views.figures.gates import gate_figure
from regard.views.figures.heads import head_distance, head_effects, head_entropy, head_grid
from regard.views.figures.heatmap import heatmap
from regard.views.figures.kernel_regression import kernel_regression_figure
from regard.views.figures.positions import positions_figure
from regard.views.html.notebook import Page
from regard.views.html.page import page
from regard.views.html.show import show
from regard.views.maps.rollout import rollout, rollout_figure
from regard.views.maps.sentence import HeadMaps, Viewed, word_weights
from regard.views.maps.summaries import HeadTable, distances, entropies
from regard.views.terminal.alignment import Interlinear, Matrix

if TYPE_CHECKING:
    from regard.views.maps.effects import switch_off_effects
    from regard.views.maps.gradient import gradient_figure, gradient_times_attention, label_score

__all__ = [
    "Figure", "HeadMaps", "HeadTable", "Interlinear", "Matrix", "Page", "Viewed", "alignment_lines",
    "distances", "entropies", "gate_figure", "gradient_figure", "gradient_times_attention",
    "head_distance", "head_effects", "head_entropy", "head_grid", "heatmap",
    "kernel_regression_figure", "label_score", "page", "positions_figure", "rollout",
    "rollout_figure", "show", "switch_off_effects", "word_weights",
]  # fmt: skip


def __getattr__(name: str) -> Any:  # on demand: these are what needs torch
    if name == "switch_off_effects":
        from regard.views.maps.effects import switch_off_effects

        return switch_off_effects
    if name in ("gradient_figure", "gradient_times_attention", "label_score"):
        from regard.views.maps import gradient

        return getattr(gradient, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
