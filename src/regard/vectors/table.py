"""A table of word vectors, and what is asked of it.

Shapes: V words, D features.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from regard.errors import InputError

Floats = NDArray[np.float32]


class Near(NamedTuple):
    """A word, and the cosine of the angle at which it was found."""

    word: str
    cosine: float


@dataclass(frozen=True, eq=False)
class Vectors:
    """One vector for each word.

    words   V of them, usually the most frequent first
    matrix  (V, D)
    counts  (V,)  how often each was seen, where that is known
    """

    words: tuple[str, ...]
    matrix: Floats
    counts: NDArray[np.int64] | None = None

    def __post_init__(self) -> None:
        matrix = np.asarray(self.matrix, dtype=np.float32)
        if matrix.ndim != 2 or len(matrix) != len(self.words) or not matrix.size:
            raise InputError(
                f"{len(self.words)} words need a matrix of as many rows, but one of shape "
                f"{matrix.shape} came."
            )
        if not np.isfinite(matrix).all():
            raise InputError("a vector holds a number that is not finite.")
        object.__setattr__(self, "matrix", matrix)

    def __len__(self) -> int:
        return len(self.words)

    def __contains__(self, word: str) -> bool:
        return word in self.places

    def __getitem__(self, word: str) -> Floats:
        """The vector (D,) of a word."""
        row: Floats = self.matrix[self._place(word)]
        return row

    @property
    def dim(self) -> int:
        """D."""
        return int(self.matrix.shape[1])

    @cached_property
    def places(self) -> dict[str, int]:
        """The row of each word; of a word that comes twice, the first."""
        return {word: place for place, word in reversed(list(enumerate(self.words)))}

    @cached_property
    def unit(self) -> Floats:
        """(V, D): the vectors, each of length one (or zero)."""
        norms = np.linalg.norm(self.matrix, axis=1, keepdims=True)
        unit: Floats = self.matrix / np.maximum(norms, np.float32(1e-12))
        return unit

    def near(self, word: str, count: int = 10) -> list[Near]:
        """The words whose vectors point most nearly the same way."""
        return self._nearest(self.unit[self._place(word)], [word], count)

    def analogy(self, first: str, second: str, third: str, count: int = 10) -> list[Near]:
        """What is to `third` as `second` is to `first`: words near second − first + third.

        Each of the three has length one in it, and none of them is an answer (Mikolov 2013a).
        """
        a, b, c = (self.unit[self._place(word)] for word in (first, second, third))
        return self._nearest(b - a + c, [first, second, third], count)

    def _nearest(self, direction: Floats, without: Iterable[str], count: int) -> list[Near]:
        if count < 1:
            raise InputError(f"--count must be at least 1, but {count} came.")
        length = max(float(np.linalg.norm(direction)), 1e-12)
        cosines = self.unit @ (direction / np.float32(length))
        left_out = {self._place(word) for word in without}
        number = min(count + len(left_out), len(self))
        best = np.argpartition(-cosines, number - 1)[:number]
        best = best[np.lexsort((best, -cosines[best]))]
        found = [place for place in best.tolist() if place not in left_out][:count]
        return [Near(self.words[place], float(cosines[place])) for place in found]

    def _place(self, word: str) -> int:
        place = self.places.get(word)
        if place is None:
            raise InputError(f"{word!r} has no vector{_perhaps(word, self.words)}.")
        return place

    def subset(self, words: Sequence[str]) -> Vectors:
        """The vectors of these words alone, in this order."""
        rows = [self._place(word) for word in words]
        counts: Any = None if self.counts is None else self.counts[rows]
        return Vectors(tuple(words), self.matrix[rows], counts)


def _perhaps(word: str, words: Sequence[str]) -> str:
    """What may have been meant."""
    known = set(words)
    other = [w for w in (word.lower(), word.capitalize()) if w in known]
    close = other or get_close_matches(word, words[:20_000], n=3)
    return f"; perhaps {' or '.join(map(repr, close))} is meant" if close else ""
