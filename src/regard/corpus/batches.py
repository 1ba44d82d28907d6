"""Batches with a bounded number of padded tokens, of sentences of similar length.

A batch of n pairs is padded to its longest source S and its longest target T, and costs
n · (S + T) tokens. Pairs are ordered along a path on which both lengths change little: bands of
similar target length, each sorted by source length, ascending and descending in turn. The path is
cut into batches wherever the next pair would cost too much. The best number of bands depends on the
correlation of the two lengths, so several are tried and the cheapest is used.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Lengths = NDArray[np.int64]

_WINDOW = 256  # pairs that are searched at a time for the end of a batch


def batches(
    lengths_src: Sequence[int] | Lengths,
    lengths_tgt: Sequence[int] | Lengths,
    max_tokens: int,
    seed: int,
    epoch: int,
) -> list[list[int]]:
    """The batches of an epoch as lists of corpus indices, in training order.

    Each index is in exactly one batch; a batch has at most `max_tokens` padded tokens, source and
    target together, unless it is a single longer pair. The order, and which pairs of equal length
    share a batch, depend on `seed` and `epoch` alone. Give zeros as the lengths of a missing side.
    """
    src = np.asarray(lengths_src, dtype=np.int64)
    tgt = np.asarray(lengths_tgt, dtype=np.int64)
    if src.shape != tgt.shape or src.ndim != 1:
        raise ValueError(
            f"lengths must be two lists of equal length, got shapes {src.shape} and {tgt.shape}."
        )
    if max_tokens < 1:
        raise ValueError(f"max_tokens must be at least 1, got {max_tokens}.")
    if not len(src):
        return []
    random = np.random.default_rng([seed, epoch])
    shuffled = random.permutation(len(src))  # breaks the ties of the stable sorts
    path, cuts = _cheapest(shuffled, src, tgt, max_tokens)
    parts = np.split(path, cuts[1:-1])
    return [parts[index].tolist() for index in random.permutation(len(parts))]


def _cheapest(
    shuffled: Lengths, src: Lengths, tgt: Lengths, max_tokens: int
) -> tuple[Lengths, Lengths]:
    """The cheapest path and its cuts (with both ends) over several numbers of bands."""
    expected = int((src + tgt).sum()) / max_tokens  # batches, were there no padding
    best: tuple[int, Lengths, Lengths] | None = None
    bands = 1
    while bands == 1 or bands <= expected:
        path = _path(shuffled, src, tgt, bands)
        cuts = _cuts(src[path], tgt[path], max_tokens)
        cost = _cost(src[path], tgt[path], cuts)
        if best is not None and cost > 1.02 * best[0]:
            break  # more bands only cost more
        if best is None or cost < best[0]:
            best = cost, path, cuts
        bands = bands + max(1, bands // 2)
    assert best is not None
    return best[1], best[2]


def _path(shuffled: Lengths, src: Lengths, tgt: Lengths, bands: int) -> Lengths:
    """All indices in bands of similar target length, sorted by source length up or down in turn."""
    by_target = shuffled[np.argsort(tgt[shuffled], kind="stable")]
    parts = []
    for number, band in enumerate(np.array_split(by_target, bands)):
        ordered = band[np.argsort(src[band], kind="stable")]
        parts.append(ordered[::-1] if number % 2 else ordered)
    return np.concatenate(parts)


def _cuts(src: Lengths, tgt: Lengths, max_tokens: int) -> Lengths:
    """Starts of the batches on a path, and its end: each takes as many pairs as fit."""
    cuts = [0]
    count = len(src)
    while cuts[-1] < count:
        begin = cuts[-1]
        end = begin
        widest_src = widest_tgt = np.int64(0)
        while end < count:
            window = slice(end, min(end + _WINDOW, count))
            longest_src = np.maximum.accumulate(np.maximum(src[window], widest_src))
            longest_tgt = np.maximum.accumulate(np.maximum(tgt[window], widest_tgt))
            sizes = np.arange(end - begin + 1, end - begin + 1 + len(longest_src))
            fits = int(np.searchsorted(sizes * (longest_src + longest_tgt), max_tokens, "right"))
            end += fits
            if fits < len(longest_src):
                break
            widest_src, widest_tgt = longest_src[-1], longest_tgt[-1]
        cuts.append(max(end, begin + 1))
    return np.asarray(cuts, dtype=np.int64)


def _cost(src: Lengths, tgt: Lengths, cuts: Lengths) -> int:
    """The number of padded tokens of the batches between the cuts."""
    longest = np.maximum.reduceat(src, cuts[:-1]) + np.maximum.reduceat(tgt, cuts[:-1])
    return int((longest * np.diff(cuts)).sum())
