"""Alignment error rate against sure and possible gold links.

Och and Ney (2003), "A systematic comparison of various statistical alignment models", section 5:

    precision = |A ∩ P| / |A|      recall = |A ∩ S| / |S|
    AER = 1 - (|A ∩ S| + |A ∩ P|) / (|A| + |S|)

A are the predicted links, S the sure ones, P the possible ones; S ⊆ P; all summed over sentences.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, NamedTuple

from regard.alignment import Link
from regard.errors import InputError

if TYPE_CHECKING:
    from regard.corpus.grammar import GrammarPair
    from regard.formats.word_links import FileLinks


class AlignmentScores(NamedTuple):
    """Error rate, precision and recall from 0 to 1, and the numbers of links."""

    error_rate: float
    precision: float
    recall: float
    predicted: int
    sure: int


def alignment_error_rate(
    predicted: Sequence[Collection[Link]],
    sure: Sequence[Collection[Link]],
    possible: Sequence[Collection[Link]] | None = None,
) -> AlignmentScores:
    """Score predicted links against gold ones, over all sentences.

    Sure links count as possible whether `possible` has them or not. Without predicted and sure
    links the error rate is 0; without predicted links precision is 1, without sure ones recall.

    >>> scores = alignment_error_rate([{(0, 0), (1, 2)}], [{(0, 0), (1, 1)}], [{(1, 2)}])
    >>> scores.error_rate, scores.precision, scores.recall
    (0.25, 1.0, 0.5)
    """
    possible = [()] * len(sure) if possible is None else possible
    if not len(predicted) == len(sure) == len(possible):
        raise InputError(
            f"there are predicted links for {len(predicted)} sentences, sure ones for {len(sure)} "
            f"and possible ones for {len(possible)}; give the same sentences for all three."
        )
    num_predicted = num_sure = in_sure = in_possible = 0
    for sentence, sentence_sure, sentence_possible in zip(predicted, sure, possible, strict=True):
        links, gold = set(sentence), set(sentence_sure)
        num_predicted, num_sure = num_predicted + len(links), num_sure + len(gold)
        in_sure += len(links & gold)
        in_possible += len(links & (gold | set(sentence_possible)))
    total = num_predicted + num_sure
    return AlignmentScores(
        error_rate=1 - (in_sure + in_possible) / total if total else 0.0,
        precision=in_possible / num_predicted if num_predicted else 1.0,
        recall=in_sure / num_sure if num_sure else 1.0,
        predicted=num_predicted,
        sure=num_sure,
    )


def gold_alignment_error_rate(
    predicted: Sequence[Collection[Link]], gold: Sequence[FileLinks]
) -> AlignmentScores:
    """Score predicted links against those of a file (`regard.formats.word_links`)."""
    sure, possible = [links.sure for links in gold], [links.possible for links in gold]
    return alignment_error_rate(predicted, sure, possible)


def grammar_alignment_error_rate(
    predicted: Sequence[Collection[Link]], pairs: Sequence[GrammarPair]
) -> AlignmentScores:
    """Score predicted links against the gold links of the built-in corpus."""
    return alignment_error_rate(
        predicted,
        [[(link.source, link.target) for link in pair.links if link.sure] for pair in pairs],
        [[(link.source, link.target) for link in pair.links] for pair in pairs],
    )
