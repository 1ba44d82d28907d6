"""A development set taken from a corpus that has none."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence

from regard.corpus.pairs import Pair
from regard.errors import InputError


def dev_size(count: int, most: int = 1000) -> int:
    """How many of `count` pairs to set aside if nobody said: a twentieth, and `most` at the most.

    >>> dev_size(100_000), dev_size(600), dev_size(3)
    (1000, 30, 1)
    """
    return min(most, max(1, count // 20))


def split_dev(pairs: Sequence[Pair], size: int, seed: int) -> tuple[list[Pair], list[Pair]]:
    """Training and development pairs, by source sentence: all pairs of one source go together.

    So the model is never tested on a source it was trained on. `size` pairs are set aside (a
    few fewer where many pairs share their sources), chosen by `seed`; both parts stay in order.
    At most half of the pairs may be.
    """
    if not 1 <= size <= len(pairs) // 2:
        raise InputError(
            f"A development set of {size} cannot be split off {len(pairs)} pairs; "
            "it takes at least 1 and at most half of them."
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
            f"Every source sentence occurs in more than {size} pairs, so no development set can be "
            "split off; give one of its own."
        )
    train = [pair for pair in pairs if pair.source not in chosen]
    dev = [pair for pair in pairs if pair.source in chosen]
    return train, dev
