"""Samples of a validation: what the model makes of a few development examples."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

NUM_SAMPLES = 12


@dataclass(frozen=True)
class ValidationSample:
    """One development example and the model's output, as `samples.jsonl` has it.

    source, output, reference  texts; a reference may be empty
    source_words, words        of source and output, if they are linked
    links                      pairs of a source word and an output word, counted from 0
    confidence                 probability of each output word
    score                      how good the output is, from 0 to 100
    """

    source: str
    output: str
    reference: str = ""
    source_words: tuple[str, ...] = ()
    words: tuple[str, ...] = ()
    links: tuple[tuple[int, int], ...] = ()
    confidence: tuple[float, ...] = ()
    score: float | None = None


def spread_rows(lengths: Sequence[int], count: int = NUM_SAMPLES, longest: int = 40) -> list[int]:
    """Return the rows of `count` examples of all lengths up to `longest`, the shortest first.

    >>> spread_rows([5, 90, 3, 8, 2], count=3)
    [4, 0, 3]
    """
    order = sorted(range(len(lengths)), key=lambda row: (lengths[row], row))
    order = [row for row in order if lengths[row] <= longest] or order[:1]
    if len(order) <= count:
        return order
    return [order[round(n * (len(order) - 1) / max(1, count - 1))] for n in range(count)]
