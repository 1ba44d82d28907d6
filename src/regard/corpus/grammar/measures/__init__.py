"""Scores of translations and of attention heads on the built-in corpus."""

from regard.corpus.grammar.measures.coreference import (
    AntecedentCount,
    HeadRow,
    count_antecedents,
    merge_counts,
    rank_heads,
)
from regard.corpus.grammar.measures.translation import (
    GrammarScores,
    Judgment,
    grammar_scores,
    judge,
)

__all__ = [
    "AntecedentCount", "GrammarScores", "HeadRow", "Judgment", "count_antecedents",
    "grammar_scores", "judge", "merge_counts", "rank_heads",
]  # fmt: skip
