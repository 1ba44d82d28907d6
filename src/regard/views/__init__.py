"""Looking at what a model did: alignments in the terminal, attention maps on an HTML page.

A `Viewed` holds what there is to see of one translated sentence. `Matrix` and `Interlinear` print
it with rich; `page` writes any number of them as one HTML file that needs nothing else.
"""

from regard.views.page import page
from regard.views.sentence import HeadMaps, Viewed, word_weights
from regard.views.terminal import Interlinear, Matrix

__all__ = ["HeadMaps", "Interlinear", "Matrix", "Viewed", "page", "word_weights"]
