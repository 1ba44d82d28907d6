"""What search finds: tokens, and how probable the model holds each of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from regard.decoding.writer import EOS


class Hypothesis(NamedTuple):
    """One output of a sentence.

    tokens                   ids without BOS and EOS; a forced prefix is part of them
    score                    log_probability / length ** length_penalty, EOS counted in the length
    log_probability          of all tokens together, EOS and the prefix among them
    token_log_probabilities  of each token, and EOS's as the last if it is finished
    finished                 whether the model wrote EOS, or else was stopped at the maximum length

    Log-probabilities are the model's own, over the whole vocabulary: neither the temperature nor
    tokens that may not be written change them, so that those of any two searches compare.
    """

    tokens: tuple[int, ...]
    score: float
    log_probability: float
    token_log_probabilities: tuple[float, ...]
    finished: bool


def hypothesis(
    written: Sequence[int], log_probabilities: Sequence[float], length_penalty: float
) -> Hypothesis:
    """The hypothesis of what was written, with EOS or (stopped before it) without.

    >>> hypothesis([7, 8, 3], [-0.5, -0.25, -0.75], 1.0)
    Hypothesis(tokens=(7, 8), score=-0.5, log_probability=-1.5, \
token_log_probabilities=(-0.5, -0.25, -0.75), finished=True)
    """
    finished = bool(written) and written[-1] == EOS
    total = float(sum(log_probabilities))
    return Hypothesis(
        tokens=tuple(written[:-1] if finished else written),
        score=penalised(total, len(written), length_penalty),
        log_probability=total,
        token_log_probabilities=tuple(log_probabilities),
        finished=finished,
    )


def penalised(log_probability: float, length: int, length_penalty: float) -> float:
    """The score: log p / length ** α. At α = 0 the log-probability, at α = 1 a token's mean."""
    return float(log_probability / max(length, 1) ** length_penalty)


def ranked(found: Iterable[Hypothesis]) -> list[Hypothesis]:
    """By score, best first; of equal ones the one found first.

    Outputs cut off at the maximum length compete like finished ones: were those preferred, a poor
    early end would beat every good output that needs more room.
    """
    return sorted(found, key=lambda one: -one.score)
