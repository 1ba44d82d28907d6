"""Where the words of a reference are in a translation that may differ from it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

Cost = Callable[[str, str], int]
GAP = 2
"""The cost of a word that the other side lacks; two unlike words in one place cost as much."""


def places(reference: Sequence[str], hypothesis: Sequence[str], cost: Cost) -> list[int | None]:
    """For each reference word the place of the hypothesis word that stands for it, if any.

    This is the way of least cost through the table of edit distances; of ways that cost the same,
    the one that puts words beside words wherever it can, from the end.

    >>> places("a b c d".split(), "a x c".split(), lambda one, other: 2 * (one != other))
    [0, 1, 2, None]
    """
    if list(reference) == list(hypothesis):
        return list(range(len(reference)))
    table = _distances(reference, hypothesis, cost)
    found: list[int | None] = [None] * len(reference)
    row, column = len(reference), len(hypothesis)
    while row and column:
        here = table[row][column]
        if here == table[row - 1][column - 1] + cost(reference[row - 1], hypothesis[column - 1]):
            row, column = row - 1, column - 1
            found[row] = column
        elif here == table[row - 1][column] + GAP:
            row -= 1
        else:
            column -= 1
    return found


def _distances(reference: Sequence[str], hypothesis: Sequence[str], cost: Cost) -> list[list[int]]:
    """`table[r][h]`: the least cost of the first r words against the first h."""
    table = [[GAP * column for column in range(len(hypothesis) + 1)]]
    for number, word in enumerate(reference, start=1):
        above = table[-1]
        row = [GAP * number]
        for column, other in enumerate(hypothesis):
            gap = min(above[column + 1], row[column]) + GAP
            row.append(min(above[column] + cost(word, other), gap))
        table.append(row)
    return table
