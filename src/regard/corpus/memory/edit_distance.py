"""Edit distances between a text and many others at once (Levenshtein 1966).

C candidates, N characters of the longest of them.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Codes = NDArray[np.uint32]


def code_points(text: str) -> Codes:
    """The characters of a text as numbers."""
    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32)


def edit_distances(text: str, candidates: Sequence[str]) -> list[int]:
    """The fewest characters to insert, delete or replace that turn a text into each candidate.

        D[i, j] = min(D[i-1, j] + 1, D[i, j-1] + 1, D[i-1, j-1] + [text_i ≠ candidate_j])

    Row by row; the minimum over insertions is a running minimum of D[i, j] − j.

    >>> edit_distances("kitten", ["sitting", "kitten", ""])
    [3, 0, 6]
    """
    lengths = [len(candidate) for candidate in candidates]
    longest = max(lengths, default=0)
    codes_CN = np.zeros((len(candidates), longest), np.uint32)
    for row, candidate in enumerate(candidates):
        codes_CN[row, : lengths[row]] = code_points(candidate)
    columns = np.arange(longest + 1, dtype=np.int32)
    rows_CN = np.broadcast_to(columns, (len(candidates), longest + 1))
    for number, code in enumerate(code_points(text), start=1):
        changed = np.minimum(rows_CN[:, 1:] + 1, rows_CN[:, :-1] + (codes_CN != code))
        first = np.full((len(candidates), 1), number, np.int32)
        reached = np.concatenate([first, changed], axis=1) - columns
        rows_CN = np.minimum.accumulate(reached, axis=1) + columns
    return [int(row[length]) for row, length in zip(rows_CN, lengths, strict=True)]
