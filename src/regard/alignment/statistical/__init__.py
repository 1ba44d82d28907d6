"""A statistical word aligner, which needs neither an attention model nor gold links.

pair_batches        sentence pairs as arrays
translation_tables  probabilities of words given words
jumps               probabilities of moves from word to word
forward_backward    posteriors of the hidden Markov model
aligner             learning in both directions by agreement, and the links
"""

from regard.alignment.statistical.aligner import (
    BidirectionalLinks,
    align_bidirectional,
    align_words,
)

__all__ = ["BidirectionalLinks", "align_bidirectional", "align_words"]
