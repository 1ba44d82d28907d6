"""How well translations do on the built-in corpus, phenomenon by phenomenon.

A translation may differ from the reference anywhere; its words are put beside the reference's by
edit distance, and each annotation is judged at its place.

Pronouns: French `il` and `elle` (also in `qu'il`, `qu'elle`) show what an `it` stands for, so a
right pronoun is one of the right gender. Chinese 它 has no gender to show: there the figure says
only that the pronoun is in its place, not that it was understood.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from regard.corpus.grammar import GrammarPair, Language, Sense, words
from regard.corpus.grammar.senses import MEANINGS
from regard.errors import InputError
from regard.evaluation.edits import align_by_edits
from regard.evaluation.exact import is_exact

PRONOUNS = frozenset({"il", "elle", "ils", "elles", "它", "他", "她"})


@dataclass(frozen=True, slots=True)
class Judgement:
    """One translation: whether it is exact, each annotated pronoun and sense right, other words."""

    exact: bool
    pronouns: tuple[bool, ...]
    senses: tuple[bool, ...]
    others: tuple[bool, ...]
    """For each reference word but pronouns and what agrees with them."""


@dataclass(frozen=True, slots=True)
class GrammarScores:
    """Shares from 0 to 1, None where no sentence has the phenomenon; and what they are out of."""

    exact_match: float
    pronoun_accuracy: float | None
    sense_accuracy: float | None
    other_words_right: float | None
    sentences: int
    pronouns: int
    senses: int


def grammar_scores(
    pairs: Sequence[GrammarPair], hypotheses: Sequence[str], language: Language = "fr"
) -> GrammarScores:
    """The scores of translations of the pairs' sources.

    >>> from regard.corpus.grammar import seed_sentences
    >>> pairs = seed_sentences("fr")[:2]
    >>> wrong = pairs[1].target.replace("qu'elle", "qu'il")
    >>> grammar_scores(pairs, [pairs[0].target, wrong]).pronoun_accuracy
    0.5
    """
    if len(pairs) != len(hypotheses):
        raise InputError(
            f"there are {len(pairs)} pairs but {len(hypotheses)} translations; "
            "give one translation for each."
        )
    if not pairs:
        raise InputError("there are no pairs to score; give at least one.")
    found = [judge(pair, text, language) for pair, text in zip(pairs, hypotheses, strict=True)]
    pronouns = [right for one in found for right in one.pronouns]
    senses = [right for one in found for right in one.senses]
    return GrammarScores(
        exact_match=sum(one.exact for one in found) / len(found),
        pronoun_accuracy=_share(pronouns),
        sense_accuracy=_share(senses),
        other_words_right=_share([right for one in found for right in one.others]),
        sentences=len(found),
        pronouns=len(pronouns),
        senses=len(senses),
    )


def judge(pair: GrammarPair, hypothesis: str, language: Language = "fr") -> Judgement:
    """One translation against its pair."""
    said = words(hypothesis, language)
    where = align_by_edits(pair.target_words, said, _cost)
    at = ["" if place is None else said[place] for place in where]
    aside = _aside(pair, language)
    return Judgement(
        exact=is_exact(hypothesis, [pair.target]),
        pronouns=tuple(
            at[one.target_pronoun].casefold() == pair.target_words[one.target_pronoun].casefold()
            for one in pair.coreference
        ),
        senses=tuple(
            at[sense.target].casefold() in _sense_words(sense, language) for sense in pair.senses
        ),
        others=tuple(
            said_word == word
            for place, (word, said_word) in enumerate(zip(pair.target_words, at, strict=True))
            if place not in aside
        ),
    )


def _aside(pair: GrammarPair, language: Language) -> set[int]:
    """Places of annotated pronouns, and of the French adjectives that agree with them."""
    found = {one.target_pronoun for one in pair.coreference}
    if language == "fr":
        cues = {one.cue for one in pair.coreference}
        found |= {link.target for link in pair.links if link.sure and link.source in cues}
    return found


def _sense_words(sense: Sense, language: Language) -> set[str]:
    """The first word of the sense's noun, singular and plural."""
    noun = next(one.noun for one in MEANINGS[sense.lemma] if one.noun.sense == sense.sense)
    return {noun.french[0], noun.french_plural[0]} if language == "fr" else {noun.chinese}


def _cost(one: str, other: str) -> int:
    """0 for equal words, 1 for two pronouns and for words that begin alike, 2 for unlike words."""
    if one == other:
        return 0
    one, other = one.casefold(), other.casefold()
    akin = one == other or {one, other} <= PRONOUNS or one[:4] == other[:4] != one[:3]
    return 1 if akin else 2


def _share(right: Sequence[bool]) -> float | None:
    return sum(right) / len(right) if right else None
