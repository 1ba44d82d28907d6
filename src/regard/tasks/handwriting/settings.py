"""Settings of handwriting synthesis."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from regard.config.schema import Fraction, NonNegativeFloat, Options, PositiveInt, Range


@dataclass(frozen=True)
class HandwritingSettings(Options):
    """Recurrent network that writes text as pen strokes, with a Gaussian window (Graves 2013)."""

    kind: Literal["handwriting"] = "handwriting"
    """Recurrent network from text to pen strokes."""
    embedding: PositiveInt = 48
    """Width of the character embedding."""
    dim: PositiveInt = 192
    """Width of every recurrent layer's state."""
    num_layers: PositiveInt = 2
    """Recurrent layers; the first holds the window."""
    components: PositiveInt = 6
    """Gaussians in the window over the text."""
    stride: Annotated[float, Range(1e-6)] = 0.08
    """Initial speed of the window in characters per point."""
    mixture: PositiveInt = 8
    """Gaussians in the density of the next point."""
    dropout: Fraction = 0.0
    """Dropout before the output."""
    unit: NonNegativeFloat = 0.0
    """Length that the model scales to 1; 0: the RMS movement of the training strokes."""
    max_length: PositiveInt = 2000
    """Maximum number of points in a line."""
    lines: Annotated[int, Range(10)] = 8000
    """Lines of built-in strokes to train on when no file is given."""
