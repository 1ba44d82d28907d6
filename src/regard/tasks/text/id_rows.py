"""Sentences as token ids, all in one array: quick to store and to read, and small in memory."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import overload

import numpy as np
from numpy.typing import NDArray

Ids = NDArray[np.int32]


class IdRows(Sequence[Ids]):
    """Rows of ids of different lengths; a row is a view of the array of all.

    >>> rows = IdRows.of([[5, 6, 7], [], [8]])
    >>> len(rows), rows[0].tolist(), rows.lengths.tolist()
    (3, [5, 6, 7], [3, 0, 1])
    """

    def __init__(self, ids: Ids, lengths: NDArray[np.integer]) -> None:
        self.ids, self.lengths = ids, lengths
        self._ends = np.cumsum(lengths, dtype=np.int64)
        total = int(self._ends[-1]) if len(lengths) else 0
        if len(ids) != total or (lengths < 0).any():
            raise IndexError(f"there are {len(ids)} ids, but the rows have {total}")

    @classmethod
    def of(cls, rows: Rows) -> IdRows:
        """Return rows of ids as one array; what is so already, as it is."""
        if isinstance(rows, IdRows):
            return rows
        lengths = np.fromiter(map(len, rows), np.int32, len(rows))
        ids = np.fromiter(chain.from_iterable(rows), np.int32, int(lengths.sum(dtype=np.int64)))
        return cls(ids, lengths)

    def __len__(self) -> int:
        return len(self.lengths)

    @overload
    def __getitem__(self, index: int) -> Ids: ...

    @overload
    def __getitem__(self, index: slice) -> list[Ids]: ...

    def __getitem__(self, index: int | slice) -> Ids | list[Ids]:
        if isinstance(index, slice):
            return [self[number] for number in range(*index.indices(len(self)))]
        end = self._ends[index]
        return self.ids[end - self.lengths[index] : end]


Rows = Sequence[Sequence[int]] | IdRows
"""Sentences as ids, as lists or in one array."""
