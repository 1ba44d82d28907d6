"""Alignment of a hypothesis to its reference by edit distance."""

from __future__ import annotations

from collections.abc import Callable, Sequence

Cost = Callable[[str, str], int]
GAP = 2
"""The cost of a deletion or an insertion; substituting an unlike word costs as much."""


def align_words(
    reference: Sequence[str], hypothesis: Sequence[str], cost: Cost
) -> list[int | None]:
    """For each reference word the position of its hypothesis word, or None.

    The path of least cost through the table of edit distances; of equal paths the one that aligns
    words wherever it can, from the end.

    >>> align_words("a b c d".split(), "a x c".split(), lambda a, b: 2 * (a != b))
    [0, 1, 2, None]
    """
    if list(reference) == list(hypothesis):
        return list(range(len(reference)))
    table = _distances(reference, hypothesis, cost)
    aligned: list[int | None] = [None] * len(reference)
    row, column = len(reference), len(hypothesis)
    while row and column:
        least = table[row][column]
        if least == table[row - 1][column - 1] + cost(reference[row - 1], hypothesis[column - 1]):
            row, column = row - 1, column - 1
            aligned[row] = column
        elif least == table[row - 1][column] + GAP:
            row -= 1
        else:
            column -= 1
    return aligned


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
