"""An index of texts by their trigrams, which finds all that may be similar enough.

Texts of edit distance d and lengths of at most L have at least L − q + 1 − d·q n-grams of length q
in common (Ukkonen 1992). Trigrams are hashed; equal hashes of different ones only add candidates,
which the edit distance then rejects.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from regard.corpus.memory.edit_distance import Codes, code_points, edit_distances

Q = 3
BUCKETS = 1 << 21
CELLS = 200_000  # characters of the candidates that are compared at once
MAX_CHARACTERS = 2000  # of a text that is looked up or found


class NgramIndex:
    """Texts by their trigrams."""

    def __init__(self, texts: Sequence[str]) -> None:
        self.texts = texts
        self.lengths = np.array([len(text) for text in texts], np.int64)
        codes = code_points("".join(texts))
        owners = np.repeat(np.arange(len(texts)), self.lengths)
        inside = owners[: 1 - Q] == owners[Q - 1 :]  # no trigram of two texts
        pairs = _hashes(codes)[inside] * len(texts) + owners[: 1 - Q][inside]
        pairs = np.unique(pairs)  # a text once for each of its trigrams
        self._texts = (pairs % max(1, len(texts))).astype(np.int32)
        sizes = np.bincount(pairs // max(1, len(texts)), minlength=BUCKETS)
        self._starts = np.concatenate([[0], np.cumsum(sizes)])

    def similar(self, text: str, least: float, limit: int) -> list[tuple[float, int]]:
        """The `limit` most similar texts as (score, number), best first.

        score = 1 − edit distance / length of the longer text ≥ `least`
        """
        if not 0 < len(text) <= MAX_CHARACTERS:
            return []
        counts = np.zeros(len(self.texts), np.int64)
        buckets, often = np.unique(_hashes(code_points(text)), return_counts=True)
        for bucket, times in zip(buckets.tolist(), often.tolist(), strict=True):
            counts[self._texts[self._starts[bucket] : self._starts[bucket + 1]]] += times
        longer = np.maximum(self.lengths, len(text))
        farthest = np.floor((1 - least) * longer + 1e-9)
        nearest = np.maximum(
            np.ceil((longer - Q + 1 - counts) / Q), np.abs(self.lengths - len(text))
        )
        possible = np.flatnonzero((nearest <= farthest) & (self.lengths <= MAX_CHARACTERS))
        return self._best(text, possible, (1 - nearest / longer)[possible], least, limit)

    def _best(
        self,
        text: str,
        possible: NDArray[np.int64],
        at_most: NDArray[np.float64],
        least: float,
        limit: int,
    ) -> list[tuple[float, int]]:
        """The best of the texts that are possible, none of which can have more than `at_most`."""
        order = np.argsort(-at_most, kind="stable")
        matches: list[tuple[float, int]] = []
        position = 0
        while position < len(order):
            enough = matches[limit - 1][0] if len(matches) >= limit else least
            if at_most[order[position]] < enough:
                break
            size = max(1, CELLS // int(self.lengths[possible[order[position]]] + len(text)))
            rows = possible[order[position : position + size]].tolist()
            position += size
            distances = edit_distances(text, [self.texts[row] for row in rows])
            for row, distance in zip(rows, distances, strict=True):
                score = 1 - distance / max(len(text), len(self.texts[row]))
                if score >= least:
                    matches.append((score, row))
            matches = sorted(matches, key=lambda match: (-match[0], match[1]))[:limit]
        return matches


def _hashes(codes: Codes) -> NDArray[np.int64]:
    """The bucket of each trigram of a text."""
    if len(codes) < Q:
        return np.empty(0, np.int64)
    wide = codes.astype(np.uint64)
    mixed = (wide[:-2] * 2_654_435_761 + wide[1:-1]) * 40_503 + wide[2:]
    mixed = (mixed ^ (mixed >> np.uint64(17))) * np.uint64(0x9E37_79B9_7F4A_7C15)
    return np.asarray((mixed >> np.uint64(43)).astype(np.int64))
