"""Settings of handwriting synthesis."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from regard.config.check import at_least, fraction


@dataclass(frozen=True)
class HandwritingSettings:
    """Recurrent network that writes text as pen strokes, with a Gaussian window (Graves 2013)."""

    kind: Literal["handwriting"] = "handwriting"
    """Recurrent network from text to pen strokes."""
    embedding: int = 48
    """Width of the character embedding."""
    dim: int = 192
    """Width of every recurrent layer's state."""
    num_layers: int = 2
    """Recurrent layers; the first holds the window."""
    components: int = 6
    """Gaussians in the window over the text."""
    stride: float = 0.08
    """Initial speed of the window in characters per point."""
    mixture: int = 8
    """Gaussians in the density of the next point."""
    dropout: float = 0.0
    """Dropout before the output."""
    unit: float = 0.0
    """Length that the model scales to 1; 0: the RMS movement of the training strokes."""
    max_length: int = 2000
    """Maximum number of points in a line."""
    lines: int = 8000
    """Lines of built-in strokes to train on when no file is given."""

    def __post_init__(self) -> None:
        at_least(self, 1, "embedding", "dim", "num_layers", "components", "mixture", "max_length")
        at_least(self, 10, "lines")
        at_least(self, 1e-6, "stride")
        at_least(self, 0, "unit")
        fraction(self, "dropout")
