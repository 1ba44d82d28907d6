"""How text is cleaned and tokenized."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from regard.config.check import at_least


@dataclass(frozen=True)
class TextSettings:
    """How text is tokenized."""

    SECTION: ClassVar[str] = "text"

    unit: Literal["bpe", "unigram", "word", "char"] = "bpe"
    """What a token is: a SentencePiece piece (byte-pair or unigram), a word or a character."""
    vocab_size: int = 8000
    """How many tokens there are at the most, for each tokenizer."""
    shared: bool = True
    """One tokenizer for both languages, or one for each."""
    min_count: int = 1
    """How often a word or character must occur to be a token of its own (word and char)."""

    def __post_init__(self) -> None:
        at_least(self, 6, "vocab_size")
        at_least(self, 1, "min_count")


@dataclass(frozen=True)
class CleaningSettings:
    """Which sentences are dropped. Lengths are in words; in scripts without spaces, characters."""

    SECTION: ClassVar[str] = "cleaning"

    max_length: int = 250
    """The longest side that is kept, in words."""
    max_word_length: int = 200
    """The longest word that is kept, in characters between spaces; 0 keeps all."""
    truncate: bool = False
    """Whether sentences of more than model.max_length tokens are cut; else they are dropped."""
    max_ratio: float = 3.0
    """The largest ratio of the sides' lengths that is kept; 0 keeps all."""
    ratio_slack: int = 5
    """Words added to both sides before the ratio is taken, so that short pairs may differ."""
    drop_duplicates: bool = True
    """Whether of equal pairs only the first is kept."""
    drop_identical: bool = False
    """Whether a pair whose target equals its source is dropped."""

    def __post_init__(self) -> None:
        at_least(self, 1, "max_length")
        at_least(self, 0, "max_word_length", "max_ratio", "ratio_slack")
