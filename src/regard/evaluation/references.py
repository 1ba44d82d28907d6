"""References: one or several per sentence, checked against the hypotheses."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest
from typing import cast

from regard.errors import InputError

References = Sequence[str] | Sequence[Sequence[str]]
"""For each sentence its reference, or all its references."""


def check_references(hypotheses: Sequence[str], references: References) -> list[list[str]]:
    """The list of references of each hypothesis; lengths that differ and empty lists are errors.

    >>> check_references(["x", "y"], ["a", "b"]), check_references(["x"], [["a", "b"]])
    ([['a'], ['b']], [['a', 'b']])
    """
    per_sentence = [[item] if isinstance(item, str) else list(item) for item in references]
    check_counts(hypotheses, "translations", per_sentence)
    if not per_sentence:
        raise InputError("there are no translations to score; give at least one with a reference.")
    if [] in per_sentence:
        raise InputError(
            f"sentence {per_sentence.index([])} (counted from 0) has no reference; give at least "
            "one."
        )
    return per_sentence


def check_counts(texts: Sequence[str], name: str, references: Sequence[list[str]]) -> None:
    """Raise an error unless there are references for every text."""
    if len(texts) != len(references):
        raise InputError(
            f"there are {len(texts)} {name} but references for {len(references)} sentences; "
            "give as many of one as of the other, in the same order."
        )


def streams(references: list[list[str]]) -> list[list[str]]:
    """First references, second references …; None where a sentence has fewer.

    >>> streams([["a", "b"], ["c"]])
    [['a', 'c'], ['b', None]]
    """
    transposed = [list(stream) for stream in zip_longest(*references)]
    return cast(list[list[str]], transposed)  # sacreBLEU takes None, though its types exclude it
