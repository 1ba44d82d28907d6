"""Scores of translations on the built-in corpus, by phenomenon.

A translation may differ from the reference anywhere: its words are aligned to the reference's by
edit distance, and each annotation is scored at its position.

Pronouns: French `il` and `elle` (also in `qu'il`, `qu'elle`) show the antecedent of `it`, so a
correct pronoun has the correct gender. Chinese 它 has no gender: the score only says that the
pronoun is present, not that its antecedent was resolved.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from regard.corpus.grammar.contexts import SENSES
from regard.corpus.grammar.pair import GrammarPair, Language, SenseAnnotation
from regard.corpus.grammar.tokenization import split_words
from regard.errors import InputError
from regard.text import normalize

PRONOUNS = frozenset({"il", "elle", "ils", "elles", "它", "他", "她"})

Cost = Callable[[str, str], int]
GAP = 2
"""The cost of an inserted or deleted word."""


@dataclass(frozen=True, slots=True)
class Judgment:
    """Correctness of one translation: exact match, annotated pronouns and senses, other words."""

    exact: bool
    pronouns: tuple[bool, ...]
    senses: tuple[bool, ...]
    other_words: tuple[bool, ...]
    """For each reference word except pronouns and the adjectives that agree with them."""


@dataclass(frozen=True, slots=True)
class GrammarScores:
    """Shares from 0 to 1, None where no sentence has the phenomenon; and the counts behind them."""

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
    """Score translations of the pairs' sources.

    >>> from regard.corpus.grammar import seed_sentences
    >>> pairs = seed_sentences("fr")[:2]
    >>> wrong = pairs[1].target.replace("qu'elle", "qu'il")
    >>> grammar_scores(pairs, [pairs[0].target, wrong]).pronoun_accuracy
    0.5
    """
    if len(pairs) != len(hypotheses):
        raise InputError(
            "give one translation for each pair, "
            f"got {len(pairs)} pairs and {len(hypotheses)} translations."
        )
    if not pairs:
        raise InputError("give at least one pair to score, got none.")
    judged = [judge(pair, text, language) for pair, text in zip(pairs, hypotheses, strict=True)]
    pronouns = [right for judgment in judged for right in judgment.pronouns]
    senses = [right for judgment in judged for right in judgment.senses]
    return GrammarScores(
        exact_match=sum(judgment.exact for judgment in judged) / len(judged),
        pronoun_accuracy=_share(pronouns),
        sense_accuracy=_share(senses),
        other_words_right=_share([right for judgment in judged for right in judgment.other_words]),
        sentences=len(judged),
        pronouns=len(pronouns),
        senses=len(senses),
    )


def judge(pair: GrammarPair, hypothesis: str, language: Language = "fr") -> Judgment:
    """Compare one translation with its pair."""
    hypothesis_words = split_words(hypothesis, language)
    positions = align_by_edits(pair.target_words, hypothesis_words, _cost)
    aligned = ["" if position is None else hypothesis_words[position] for position in positions]
    excluded = _pronouns_and_agreement(pair, language)
    return Judgment(
        exact=normalize(hypothesis) == normalize(pair.target),
        pronouns=tuple(
            aligned[note.target_pronoun].casefold()
            == pair.target_words[note.target_pronoun].casefold()
            for note in pair.coreference
        ),
        senses=tuple(
            aligned[sense.target].casefold() in _sense_words(sense, language)
            for sense in pair.senses
        ),
        other_words=tuple(
            word == aligned[position]
            for position, word in enumerate(pair.target_words)
            if position not in excluded
        ),
    )


def _pronouns_and_agreement(pair: GrammarPair, language: Language) -> set[int]:
    """Positions of annotated pronouns, and of the French adjectives that agree with them."""
    positions = {note.target_pronoun for note in pair.coreference}
    if language == "fr":
        cues = {note.cue for note in pair.coreference}
        positions |= {link.target for link in pair.links if link.sure and link.source in cues}
    return positions


def _sense_words(annotation: SenseAnnotation, language: Language) -> set[str]:
    """The first word of the sense's noun, singular and plural."""
    noun = next(s.noun for s in SENSES[annotation.lemma] if s.noun.sense == annotation.sense)
    return {noun.french[0], noun.french_plural[0]} if language == "fr" else {noun.chinese}


def _cost(word: str, other: str) -> int:
    """0 for equal words, 1 for two pronouns or words with a common stem, 2 for others."""
    if word == other:
        return 0
    word, other = word.casefold(), other.casefold()
    akin = word == other or {word, other} <= PRONOUNS or word[:4] == other[:4] != word[:3]
    return 1 if akin else 2


def _share(right: Sequence[bool]) -> float | None:
    return sum(right) / len(right) if right else None


def align_by_edits(
    reference: Sequence[str], hypothesis: Sequence[str], cost: Cost
) -> list[int | None]:
    """For each reference word the index of its hypothesis word, or None for a deletion.

    The path of least cost through the table of edit distances; of equal paths, the one that
    prefers substitutions, from the end. `cost` is that of a substitution.

    >>> align_by_edits("a b c d".split(), "a x c".split(), lambda a, b: 2 * (a != b))
    [0, 1, 2, None]
    """
    if list(reference) == list(hypothesis):
        return list(range(len(reference)))
    table = _distances(reference, hypothesis, cost)
    aligned: list[int | None] = [None] * len(reference)
    row, column = len(reference), len(hypothesis)
    while row and column:
        distance = table[row][column]
        if distance == table[row - 1][column - 1] + cost(
            reference[row - 1], hypothesis[column - 1]
        ):
            row, column = row - 1, column - 1
            aligned[row] = column
        elif distance == table[row - 1][column] + GAP:
            row -= 1
        else:
            column -= 1
    return aligned


def _distances(reference: Sequence[str], hypothesis: Sequence[str], cost: Cost) -> list[list[int]]:
    """`table[r][h]`: the edit distance of the first r and the first h words."""
    table = [[GAP * column for column in range(len(hypothesis) + 1)]]
    for number, word in enumerate(reference, start=1):
        above = table[-1]
        row = [GAP * number]
        for column, other in enumerate(hypothesis):
            gap = min(above[column + 1], row[column]) + GAP
            row.append(min(above[column] + cost(word, other), gap))
        table.append(row)
    return table
