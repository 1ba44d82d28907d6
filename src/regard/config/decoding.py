"""How the output is searched for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from regard.config.check import at_least


@dataclass(frozen=True)
class SearchOptions:
    """How the output is searched for."""

    SECTION: ClassVar[str] = "decoding"

    beam: int = 5
    """Hypotheses kept at every step; 1 is greedy."""
    length_penalty: float = 1.0
    """A hypothesis' score is its log-probability divided by its length to this power."""
    n_best: int = 1
    """How many hypotheses are returned; at most beam."""
    max_length: int | None = None
    """Most tokens of the output; without it 2 · source + 10, within the model's own limit."""
    sample: bool = False
    """Draw tokens at random instead of searching for the best."""
    temperature: float = 1.0
    """When sampling, scores are divided by this."""
    top_k: int = 0
    """When sampling, only the k best tokens; 0 is all."""
    top_p: float = 1.0
    """When sampling, only the best tokens whose probabilities reach p together."""
    seed: int = 0
    """When sampling, the seed."""
    batch_tokens: int = 8192
    """Padded source tokens that are decoded together, times the beam."""

    def __post_init__(self) -> None:
        at_least(self, 1, "beam", "n_best", "max_length", "batch_tokens")
        at_least(self, 0, "top_k", "length_penalty")
