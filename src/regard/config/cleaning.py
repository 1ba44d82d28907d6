"""What is dropped of a corpus."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Cleaning:
    """What is dropped of a corpus. Lengths are in words; characters in scripts without spaces."""

    max_length: int = 250
    """The longest side that is kept, in words."""
    max_ratio: float = 3.0
    """The largest ratio of the sides' lengths that is kept; 0 keeps all."""
    ratio_slack: int = 5
    """Words added to both sides before the ratio is taken, so that short pairs may differ."""
    drop_duplicates: bool = True
    """Whether of equal pairs only the first is kept."""
    drop_identical: bool = False
    """Whether a pair whose target equals its source is dropped."""
