"""Which attention is read as the word alignment."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class AlignmentSettings:
    """The cross-attention that is read as alignment, chosen at the end of training."""

    layer: int = 0
    """Layer of the decoder."""
    head: int | None = None
    """Head; none is the mean of the layer's heads."""
    shift: bool = False
    """Whether a word's row is the step that reads it, instead of the one that writes it."""
    mutual: bool = False
    """Whether a link must be the best one seen from both of its words."""
