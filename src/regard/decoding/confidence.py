"""The probability of each word of an output."""

from __future__ import annotations

import math
from collections.abc import Sequence

from regard.decoding.hypothesis import Hypothesis
from regard.errors import InputError


def word_confidence(
    hypothesis: Hypothesis, words: Sequence[Sequence[int]], *, mean: bool = False
) -> list[float]:
    """Return the probability of each word, a word being the indices of its tokens.

        p(word) = Π p(token | tokens before it), over the word's tokens

    The product is the probability of generating this word here, so one improbable token makes the
    word improbable. The geometric mean (`mean=True`) does not penalize words of many tokens, but
    hides that token: 0.1 · 1 · 1 has a mean of 0.46. A token shared by two words counts for both;
    a word without tokens has probability 1.

    >>> hypothesis = Hypothesis((8, 9, 7), -0.9, -3.6, (-0.5, -0.1, -2.0, -1.0), True)
    >>> [round(p, 3) for p in word_confidence(hypothesis, [[0, 1], [2]])]
    [0.549, 0.135]
    """
    logs = hypothesis.token_log_probabilities[: len(hypothesis.tokens)]
    for indices in words:
        if any(not 0 <= index < len(logs) for index in indices):
            raise InputError(
                f"token indices of a word must be below {len(logs)}, the tokens of the output, "
                f"got {list(indices)}."
            )
    return [
        math.exp(sum(logs[index] for index in indices) / (max(len(indices), 1) if mean else 1))
        for indices in words
    ]
