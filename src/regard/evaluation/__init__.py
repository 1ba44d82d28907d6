"""Scores of translations and alignments.

    scores      BLEU, chrF and TER by sacreBLEU; exact match
    bootstrap   comparison of two systems: paired resampling, and scores by length
    aer         alignment error rate against gold links

Importing this package does not load sacreBLEU.

>>> exact_match(["Il dort."], ["Il dort."])
1.0
"""

from __future__ import annotations

from regard.evaluation.aer import (
    AlignmentScores,
    alignment_error_rate,
    gold_alignment_error_rate,
)
from regard.evaluation.bootstrap import Difference, LengthScores, by_length, paired_bootstrap
from regard.evaluation.scores import Scores, corpus_bleu, corpus_scores, exact_match

__all__ = [
    "AlignmentScores",
    "Difference",
    "LengthScores",
    "Scores",
    "alignment_error_rate",
    "by_length",
    "corpus_bleu",
    "corpus_scores",
    "exact_match",
    "gold_alignment_error_rate",
    "paired_bootstrap",
]
