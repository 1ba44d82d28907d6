"""Checked hypotheses and references: as many of one as of the other, and some of each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from regard.errors import InputError

References = Sequence[str] | Sequence[Sequence[str]]
"""For each sentence its reference, or all its references."""


def references_of(references: References) -> list[list[str]]:
    """For each sentence the list of its references.

    >>> references_of(["a", "b"]), references_of([["a", "b"], ["c"]])
    ([['a'], ['b']], [['a', 'b'], ['c']])
    """
    return [[one] if isinstance(one, str) else list(one) for one in references]


def paired(hypotheses: Sequence[str], references: References) -> list[list[str]]:
    """The references of each hypothesis; lengths that differ and empty lists are errors."""
    found = references_of(references)
    if len(hypotheses) != len(found):
        raise InputError(
            f"there are {len(hypotheses)} translations but references for {len(found)} sentences; "
            "give as many of one as of the other, in the same order."
        )
    if not found:
        raise InputError("there are no translations to score; give at least one with a reference.")
    for number, several in enumerate(found):
        if not several:
            raise InputError(
                f"sentence {number} (counted from 0) has no reference; give it at least one."
            )
    return found


def streams(references: list[list[str]]) -> list[list[str]]:
    """First references, second references …; None where a sentence has fewer.

    >>> streams([["a", "b"], ["c"]])
    [['a', 'c'], ['b', None]]
    """
    most = max(len(several) for several in references)
    found = [
        [several[number] if number < len(several) else None for several in references]
        for number in range(most)
    ]
    return cast(list[list[str]], found)  # sacreBLEU takes None, though its types do not say so
