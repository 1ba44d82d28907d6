"""A table of word vectors, with nearest words and analogies.

Shapes: V words, D features.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from regard.errors import InputError

Floats = NDArray[np.float32]


class Neighbor(NamedTuple):
    """A word and its cosine similarity."""

    word: str
    cosine: float


@dataclass(frozen=True, eq=False)
class Vectors:
    """One vector for each word.

    words   V of them, usually the most frequent first
    matrix  (V, D)
    counts  (V,)  frequency of each word, if known
    """

    words: tuple[str, ...]
    matrix: Floats
    counts: NDArray[np.int64] | None = None

    def __post_init__(self) -> None:
        matrix = np.asarray(self.matrix, dtype=np.float32)
        if matrix.ndim != 2 or len(matrix) != len(self.words) or not matrix.size:
            raise InputError(
                f"matrix must have one row for each of {len(self.words)} words, got shape "
                f"{matrix.shape}."
            )
        if not np.isfinite(matrix).all():
            raise InputError("vectors must be finite numbers.")
        object.__setattr__(self, "matrix", matrix)

    def __len__(self) -> int:
        return len(self.words)

    def __contains__(self, word: str) -> bool:
        return word in self.rows

    def __getitem__(self, word: str) -> Floats:
        """The vector (D,) of a word."""
        vector: Floats = self.matrix[self._row(word)]
        return vector

    @property
    def dim(self) -> int:
        """D."""
        return int(self.matrix.shape[1])

    @cached_property
    def rows(self) -> dict[str, int]:
        """The row of each word; the first if it occurs twice."""
        return {word: row for row, word in reversed(list(enumerate(self.words)))}

    @cached_property
    def unit(self) -> Floats:
        """(V, D): the vectors, normalized to length one (or zero)."""
        norms = np.linalg.norm(self.matrix, axis=1, keepdims=True)
        unit: Floats = self.matrix / np.maximum(norms, np.float32(1e-12))
        return unit

    def near(self, word: str, count: int = 10) -> list[Neighbor]:
        """Return the words of the highest cosine similarity, best first."""
        return self._nearest(self.unit[self._row(word)], [word], count)

    def analogy(self, first: str, second: str, third: str, count: int = 10) -> list[Neighbor]:
        """Return the words nearest to second − first + third, all normalized (Mikolov 2013a).

        The three words themselves are left out.
        """
        a, b, c = (self.unit[self._row(word)] for word in (first, second, third))
        return self._nearest(b - a + c, [first, second, third], count)

    def nearest(self, vector: Floats, count: int = 10) -> list[Neighbor]:
        """Return the words of the highest cosine similarity to a vector (D,), best first."""
        if np.shape(vector) != (self.dim,):
            raise InputError(f"vector must have {self.dim} numbers, got shape {np.shape(vector)}.")
        return self._nearest(np.asarray(vector, np.float32), (), count)

    def _nearest(self, direction: Floats, without: Iterable[str], count: int) -> list[Neighbor]:
        if count < 1:
            raise InputError(f"--count must be at least 1, got {count}.")
        length = max(float(np.linalg.norm(direction)), 1e-12)
        cosines = self.unit @ (direction / np.float32(length))
        excluded = {self._row(word) for word in without}
        size = min(count + len(excluded), len(self))
        best = np.argpartition(-cosines, size - 1)[:size]
        best = best[np.lexsort((best, -cosines[best]))]
        rows = [row for row in best.tolist() if row not in excluded][:count]
        return [Neighbor(self.words[row], float(cosines[row])) for row in rows]

    def _row(self, word: str) -> int:
        row = self.rows.get(word)
        if row is None:
            raise InputError(f"{word!r} has no vector{_suggestion(word, self.words)}.")
        return row


def _suggestion(word: str, words: Sequence[str]) -> str:
    """Return a hint with similar words."""
    known = set(words)
    other_case = [form for form in (word.lower(), word.capitalize()) if form in known]
    close = other_case or get_close_matches(word, words[:20_000], n=3)
    return f"; similar words: {', '.join(map(repr, close))}" if close else ""
