"""Batches of about equal cost, of sentences of about equal length.

A batch of n pairs is padded to its longest source S and its longest target T, and costs
n · (S + T) tokens. Sentences are laid out along a path on which both lengths change little: bands
of similar target length, within a band ordered by source length, up and down in turn. The path is
cut into batches wherever the next pair would cost too much. How many bands are best depends on how
well the two lengths go together, so several numbers are tried and the cheapest is taken.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Lengths = NDArray[np.int64]

_WINDOW = 256  # pairs that are looked at together for the end of a batch


def batches(
    lengths_src: Sequence[int] | Lengths,
    lengths_tgt: Sequence[int] | Lengths,
    max_tokens: int,
    seed: int,
    epoch: int,
) -> list[list[int]]:
    """The batches of an epoch as lists of places in the corpus, in the order of training.

    Each place is in exactly one batch; a batch costs at most `max_tokens` padded tokens, source
    and target together, unless it is a single pair that is longer by itself. The order, and which
    pairs of equal length are together, depend on `seed` and `epoch` alone. For text without a
    second side, let its lengths be zeros.
    """
    src = np.asarray(lengths_src, dtype=np.int64)
    tgt = np.asarray(lengths_tgt, dtype=np.int64)
    if src.shape != tgt.shape or src.ndim != 1:
        raise ValueError(f"The lengths are of shapes {src.shape} and {tgt.shape}; give two lists.")
    if max_tokens < 1:
        raise ValueError(f"max_tokens is {max_tokens}; give at least 1.")
    if not len(src):
        return []
    random = np.random.default_rng([seed, epoch])
    shuffled = random.permutation(len(src))  # the sorts are stable, so that this breaks their ties
    path, cuts = _cheapest(shuffled, src, tgt, max_tokens)
    made = np.split(path, cuts[1:-1])
    return [made[place].tolist() for place in random.permutation(len(made))]


def padded_tokens(
    made: Sequence[Sequence[int]], lengths_src: Sequence[int], lengths_tgt: Sequence[int]
) -> int:
    """What the batches cost together, padding and all."""
    return sum(
        len(batch) * (max(lengths_src[n] for n in batch) + max(lengths_tgt[n] for n in batch))
        for batch in made
    )


def _cheapest(
    shuffled: Lengths, src: Lengths, tgt: Lengths, max_tokens: int
) -> tuple[Lengths, Lengths]:
    """The path and its cuts (with both ends) that cost least, over several numbers of bands."""
    expected = int((src + tgt).sum()) / max_tokens  # batches, were there no padding
    best: tuple[int, Lengths, Lengths] | None = None
    bands = 1
    while bands == 1 or bands <= expected:
        path = _path(shuffled, src, tgt, bands)
        cuts = _cuts(src[path], tgt[path], max_tokens)
        cost = _cost(src[path], tgt[path], cuts)
        if best is not None and cost > 1.02 * best[0]:
            break  # more bands cost more and more
        if best is None or cost < best[0]:
            best = cost, path, cuts
        bands = bands + max(1, bands // 2)
    assert best is not None
    return best[1], best[2]


def _path(shuffled: Lengths, src: Lengths, tgt: Lengths, bands: int) -> Lengths:
    """All places, in bands of similar target length, each by source length up or down in turn."""
    by_target = shuffled[np.argsort(tgt[shuffled], kind="stable")]
    parts = []
    for number, band in enumerate(np.array_split(by_target, bands)):
        ordered = band[np.argsort(src[band], kind="stable")]
        parts.append(ordered[::-1] if number % 2 else ordered)
    return np.concatenate(parts)


def _cuts(src: Lengths, tgt: Lengths, max_tokens: int) -> Lengths:
    """Where batches begin on a path, and its end: each takes as many pairs as it may."""
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
    """The padded tokens of the batches between the cuts."""
    longest = np.maximum.reduceat(src, cuts[:-1]) + np.maximum.reduceat(tgt, cuts[:-1])
    return int((longest * np.diff(cuts)).sum())
