"""The result of search: tokens and their log-probabilities, and the confidence of words."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from regard.errors import InputError
from regard.text import EOS


class Hypothesis(NamedTuple):
    """One output of a sentence.

    tokens                   ids without BOS and EOS, a forced prefix included
    score                    log_probability / length ** length_penalty, EOS included in the length
    log_probability          sum over all tokens, EOS and the prefix included
    token_log_probabilities  of each token, and of EOS as the last if finished
    finished                 True if it ended with EOS, False if it was cut off at the length limit

    Log-probabilities are over the whole vocabulary, unaffected by temperature and suppressed
    tokens, so that those of different searches can be compared.
    """

    tokens: tuple[int, ...]
    score: float
    log_probability: float
    token_log_probabilities: tuple[float, ...]
    finished: bool


def make_hypothesis(
    tokens: Sequence[int], log_probabilities: Sequence[float], length_penalty: float
) -> Hypothesis:
    """Build the hypothesis of generated tokens, with or (if cut off) without a final EOS.

    >>> make_hypothesis([7, 8, 3], [-0.5, -0.25, -0.75], 1.0)
    Hypothesis(tokens=(7, 8), score=-0.5, log_probability=-1.5, \
token_log_probabilities=(-0.5, -0.25, -0.75), finished=True)
    """
    finished = bool(tokens) and tokens[-1] == EOS
    total = float(sum(log_probabilities))
    return Hypothesis(
        tokens=tuple(tokens[:-1] if finished else tokens),
        score=float(total / max(len(tokens), 1) ** length_penalty),
        log_probability=total,
        token_log_probabilities=tuple(log_probabilities),
        finished=finished,
    )


def ranked(hypotheses: Iterable[Hypothesis]) -> list[Hypothesis]:
    """Sort by score, best first; ties keep their order.

    Outputs cut off at the length limit compete with finished ones: otherwise a poor early end
    would beat every good output that needs more tokens.
    """
    return sorted(hypotheses, key=lambda hypothesis: -hypothesis.score)


def word_confidence(hypothesis: Hypothesis, words: Sequence[Sequence[int]]) -> list[float]:
    """Return the probability of each word, a word being the indices of its tokens.

        p(word) = Π p(token | tokens before it), over the word's tokens

    The product is the probability of generating this word here, so one improbable token makes the
    word improbable. (A geometric mean would hide that token: 0.1 · 1 · 1 has a mean of 0.46.) A
    token shared by two words counts for both; a word without tokens has probability 1.

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
    return [math.exp(sum(logs[index] for index in indices)) for indices in words]
