"""Alignment error rate against gold links, sure and possible ones.

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


class AlignmentScores(NamedTuple):
    """Error rate, precision and recall from 0 to 1, and the numbers of links behind them."""

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
    """How far predicted links are from gold ones, over all sentences.

    Sure links count as possible whether `possible` holds them or not. Of nothing predicted and
    nothing sure the error rate is 0; precision of nothing predicted is 1, as is recall of nothing
    sure.

    >>> scores = alignment_error_rate([{(0, 0), (1, 2)}], [{(0, 0), (1, 1)}], [{(1, 2)}])
    >>> scores.error_rate, scores.precision, scores.recall
    (0.25, 1.0, 0.5)
    """
    possible = [()] * len(sure) if possible is None else possible
    if not len(predicted) == len(sure) == len(possible):
        raise InputError(
            f"there are predicted links for {len(predicted)} sentences, sure ones for {len(sure)} "
            f"and possible ones for {len(possible)}; give the same sentences each time."
        )
    made = certain = found = allowed = 0
    for one, needed, tolerated in zip(predicted, sure, possible, strict=True):
        links, gold = set(one), set(needed)
        made, certain = made + len(links), certain + len(gold)
        found += len(links & gold)
        allowed += len(links & (gold | set(tolerated)))
    return AlignmentScores(
        error_rate=1 - (found + allowed) / (made + certain) if made + certain else 0.0,
        precision=allowed / made if made else 1.0,
        recall=found / certain if certain else 1.0,
        predicted=made,
        sure=certain,
    )


def grammar_alignment_error_rate(
    predicted: Sequence[Collection[Link]], pairs: Sequence[GrammarPair]
) -> AlignmentScores:
    """The same against the built-in corpus' gold links: possible ones are those not sure."""
    return alignment_error_rate(
        predicted,
        [[(link.source, link.target) for link in pair.links if link.sure] for pair in pairs],
        [[(link.source, link.target) for link in pair.links] for pair in pairs],
    )
