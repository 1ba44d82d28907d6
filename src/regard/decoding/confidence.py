"""How sure the model was of each token and of each word that it wrote."""

from __future__ import annotations

import math
from collections.abc import Sequence

from regard.decoding.hypothesis import Hypothesis
from regard.errors import InputError


def token_confidence(found: Hypothesis) -> list[float]:
    """The probability of each token, and of EOS as the last if it is finished."""
    return [math.exp(log) for log in found.token_log_probabilities]


def word_confidence(
    found: Hypothesis, words: Sequence[Sequence[int]], *, mean: bool = False
) -> list[float]:
    """The probability of each word, given as the places of its tokens in `found.tokens`.

        p(word) = Π p(token | what is before it), over the word's tokens

    By the chain rule the product is the probability that the model writes just this word here, and
    one doubtful piece makes the word doubtful. The geometric mean (`mean=True`) does not punish
    words for having many pieces, but hides that piece: 0.1 · 1 · 1 has a mean of 0.46. A token
    that is part of two words counts for both. Of a word without tokens nothing is doubted: 1.

    >>> found = Hypothesis((8, 9, 7), -0.9, -3.6, (-0.5, -0.1, -2.0, -1.0), True)
    >>> [round(p, 3) for p in word_confidence(found, [[0, 1], [2]])]
    [0.549, 0.135]
    """
    logs = found.token_log_probabilities[: len(found.tokens)]
    for places in words:
        if any(not 0 <= place < len(logs) for place in places):
            raise InputError(
                f"a word has its tokens at {list(places)}, but the output has {len(logs)} tokens; "
                "give the words of this output."
            )
    return [
        math.exp(sum(logs[place] for place in places) / (max(len(places), 1) if mean else 1))
        for places in words
    ]
