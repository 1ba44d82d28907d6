"""Scores of translations and alignments.

    scores, exact        BLEU, chrF and TER by sacreBLEU; exact match
    bootstrap            comparison of two systems: paired resampling, and scores by length
    aer                  alignment error rate against gold links
    grammar, coreference the built-in corpus: pronouns, senses, and what heads attend to

Importing this package loads neither sacreBLEU nor the built-in corpus.

>>> exact_match(["Il dort."], ["Il dort."])
1.0
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from regard.evaluation.aer import AlignmentScores, alignment_error_rate
from regard.evaluation.bootstrap import Difference, LengthScores, by_length, paired_bootstrap
from regard.evaluation.exact import exact_match
from regard.evaluation.scores import Scores, SentenceScores, corpus_scores, sentence_scores

if TYPE_CHECKING:
    from regard.evaluation.grammar import GrammarScores, Judgement, grammar_scores, judge

__all__ = [
    "AlignmentScores", "Difference", "GrammarScores", "Judgement", "LengthScores", "Scores",
    "SentenceScores", "alignment_error_rate", "by_length", "corpus_scores", "exact_match",
    "grammar_scores", "judge", "paired_bootstrap", "sentence_scores",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name in ("GrammarScores", "Judgement", "grammar_scores", "judge"):  # these load the lexicon
        return getattr(import_module("regard.evaluation.grammar"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
