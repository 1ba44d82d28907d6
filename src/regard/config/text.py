"""How text becomes tokens."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from regard.config.check import at_least


@dataclass(frozen=True)
class TextSettings:
    """How text becomes tokens."""

    SECTION: ClassVar[str] = "text"

    unit: Literal["bpe", "unigram", "word", "char"] = "bpe"
    """What a token is: a SentencePiece piece (byte-pair or unigram), a word or a character."""
    vocab_size: int = 8000
    """How many tokens there are at the most, for each tokeniser."""
    shared: bool = True
    """One tokeniser for both languages, or one for each."""
    min_count: int = 1
    """How often a word or character must occur to be a token of its own (word and char)."""

    def __post_init__(self) -> None:
        at_least(self, 6, "vocab_size")
        at_least(self, 1, "min_count")
