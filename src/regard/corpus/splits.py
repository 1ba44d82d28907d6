"""Splits: a development set split off a corpus that has none, and splits by hash."""

from __future__ import annotations

import hashlib
import random
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

from regard.errors import InputError

if TYPE_CHECKING:
    from regard.corpus.pairs import Pair

Split = Literal["train", "dev", "test"]
SPLITS: tuple[Split, ...] = ("train", "dev", "test")


def check_split(split: str) -> None:
    """Raise ValueError unless it is the name of a split."""
    if split not in SPLITS:
        raise ValueError(f"split must be 'train', 'dev' or 'test', got {split!r}.")


def hashed_split(text: str, buckets: int = 5) -> Split:
    """The split of a text by its hash: one bucket for dev, one for test, the others for train."""
    bucket = int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big") % buckets
    return "dev" if bucket == 0 else "test" if bucket == 1 else "train"


def dev_size(count: int, most: int = 1000) -> int:
    """The default size of a development set: a twentieth of the pairs, at most `most`.

    >>> dev_size(100_000), dev_size(600), dev_size(3)
    (1000, 30, 1)
    """
    return min(most, max(1, count // 20))


def split_dev(pairs: Sequence[Pair], size: int, seed: int) -> tuple[list[Pair], list[Pair]]:
    """Training and development pairs; all pairs of one source sentence are in the same part.

    So the model is never validated on a source it was trained on. The development set has `size`
    pairs (slightly fewer where many pairs share their sources), chosen by `seed`, and at most half
    of all; both parts keep their order.
    """
    if not 1 <= size <= len(pairs) // 2:
        raise InputError(
            f"a development set must have at least 1 and at most half of the {len(pairs)} pairs, "
            f"got {size}."
        )
    counts = Counter(pair.source for pair in pairs)
    sources = list(counts)
    random.Random(seed).shuffle(sources)
    chosen: set[str] = set()
    room = size
    for source in sources:
        if counts[source] <= room:
            chosen.add(source)
            room -= counts[source]
        if room == 0:
            break
    if not chosen:
        raise InputError(
            f"every source sentence occurs in more than {size} pairs, so no development set can be "
            "split off; give one with --dev."
        )
    train = [pair for pair in pairs if pair.source not in chosen]
    dev = [pair for pair in pairs if pair.source in chosen]
    return train, dev
