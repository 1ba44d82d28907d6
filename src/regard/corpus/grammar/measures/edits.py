"""Word-level edit distance alignment of a reference and a translation."""

from __future__ import annotations

from collections.abc import Callable, Sequence

Cost = Callable[[str, str], int]
GAP = 2
"""The cost of an inserted or deleted word."""


def align_by_edits(
    reference: Sequence[str], hypothesis: Sequence[str], cost: Cost
) -> list[int | None]:
    """For each reference word the index of its hypothesis word, or None for a deletion.

    The path of least cost through the table of edit distances; of equal paths, the one that
    prefers substitutions, from the end. `cost` is that of a substitution.

    >>> align_by_edits("a b c d".split(), "a x c".split(), lambda a, b: 2 * (a != b))
    [0, 1, 2, None]
    """
    if list(reference) == list(hypothesis):
        return list(range(len(reference)))
    table = _distances(reference, hypothesis, cost)
    aligned: list[int | None] = [None] * len(reference)
    row, column = len(reference), len(hypothesis)
    while row and column:
        distance = table[row][column]
        if distance == table[row - 1][column - 1] + cost(
            reference[row - 1], hypothesis[column - 1]
        ):
            row, column = row - 1, column - 1
            aligned[row] = column
        elif distance == table[row - 1][column] + GAP:
            row -= 1
        else:
            column -= 1
    return aligned


def _distances(reference: Sequence[str], hypothesis: Sequence[str], cost: Cost) -> list[list[int]]:
    """`table[r][h]`: the edit distance of the first r and the first h words."""
    table = [[GAP * column for column in range(len(hypothesis) + 1)]]
    for number, word in enumerate(reference, start=1):
        above = table[-1]
        row = [GAP * number]
        for column, other in enumerate(hypothesis):
            gap = min(above[column + 1], row[column]) + GAP
            row.append(min(above[column] + cost(word, other), gap))
        table.append(row)
    return table
