"""Sentence pairs with gold word alignments and annotations, and the split a pair belongs to.

All indices are positions in `source_words` or `target_words`, counted from 0. A hash of the
sentence chooses its split: 60 % train, 20 % dev, 20 % test. A sentence with coreference is split by
its pair of nouns instead, so that the noun pairs of dev and test never occur as subject and object
of one clause in train.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Literal, NamedTuple

from regard.corpus.splits import Split, hashed_split

Language = Literal["fr", "zh"]
SHOWCASE_PAIRS = frozenset({("animal", "street"), ("bridge", "van"), ("box", "donkey")})
"""Noun pairs of the showcase sentences, reserved for test."""


class GoldLink(NamedTuple):
    """A source word and a target word aligned surely, or possibly (function words)."""

    source: int
    target: int
    sure: bool


class Coreference(NamedTuple):
    """The antecedent of an `it`, and the adjective (`cue`) that alone decides it.

    `distractor` is the noun that is not the antecedent. `gender` is the French antecedent's, "m" or
    "f", and "" for Chinese, where `target_pronoun` is 它 for both.
    """

    pronoun: int
    antecedent: int
    distractor: int
    cue: int
    target_pronoun: int
    gender: str


class SenseAnnotation(NamedTuple):
    """The sense of a source word, its (first) target word, and the source word that shows it."""

    word: int
    lemma: str
    sense: str
    target: int
    cue: int


@dataclass(frozen=True, slots=True)
class GrammarPair:
    """A source sentence, its one correct translation, and their annotations."""

    source: str
    target: str
    source_words: tuple[str, ...]
    target_words: tuple[str, ...]
    links: tuple[GoldLink, ...]
    coreference: tuple[Coreference, ...]
    senses: tuple[SenseAnnotation, ...]
    adjectives: tuple[tuple[int, int], ...]
    """(noun, adjective) pairs of source positions, for adjectives inside noun phrases."""
    phenomena: frozenset[str]


def annotated_links(pair: GrammarPair, name: str) -> list[tuple[int, int]]:
    """The links of an annotation, between words.

    grammar      a source word and the target words that translate it, sure and possible
    antecedents  `it` and its antecedent, both in the source
    modifiers    a noun and each of its adjectives, both in the source
    """
    if name == "grammar":
        return [(link.source, link.target) for link in pair.links]
    if name == "antecedents":
        return [(note.pronoun, note.antecedent) for note in pair.coreference]
    if name == "modifiers":
        return list(pair.adjectives)
    raise ValueError(f"name must be grammar, antecedents or modifiers, got {name!r}.")


@cache
def pair_split(first: str, second: str) -> Split:
    """The split of two nouns in coreference, in any order: 80 % train, 10 % dev, 10 % test."""
    pair = (min(first, second), max(first, second))
    return "test" if pair in SHOWCASE_PAIRS else hashed_split(" ".join(pair), 10)
