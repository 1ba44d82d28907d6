"""What the grammar yields: a sentence pair with gold word alignments and annotations.

All indices are positions in `source_words` or `target_words`, counted from 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple

Language = Literal["fr", "zh"]
Split = Literal["train", "dev", "test"]


class Link(NamedTuple):
    """Source word and target word belong together: surely, or possibly (function words)."""

    source: int
    target: int
    sure: bool


class Coreference(NamedTuple):
    """What an `it` stands for, and the adjective (`cue`) that alone decides it.

    `other` is the noun it does not stand for. `gender` is the French antecedent's, "m" or "f",
    and "" for Chinese, where `target_pronoun` is the 它 that has no gender to show.
    """

    pronoun: int
    antecedent: int
    other: int
    cue: int
    target_pronoun: int
    gender: str


class Sense(NamedTuple):
    """The sense of a source word, its (first) target word, and the source word that shows it."""

    word: int
    lemma: str
    sense: str
    target: int
    cue: int


@dataclass(frozen=True, slots=True)
class GrammarPair:
    """A source sentence, its one correct translation, and what is known about them."""

    source: str
    target: str
    source_words: tuple[str, ...]
    target_words: tuple[str, ...]
    links: tuple[Link, ...]
    coreference: tuple[Coreference, ...]
    senses: tuple[Sense, ...]
    adjectives: tuple[tuple[int, int], ...]
    """(noun, adjective) pairs of source positions, for adjectives inside noun phrases."""
    phenomena: frozenset[str]
