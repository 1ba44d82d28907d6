"""Lines of text with the strokes that write them, by chance, in splits that share no text."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from regard.corpus.grammar.pair import Split
from regard.corpus.strokes.hand import drawn_hand, write
from regard.corpus.strokes.lines import drawn_line, line_split
from regard.errors import InputError

SPLITS: tuple[Split, ...] = ("train", "dev", "test")


@dataclass(frozen=True, eq=False)
class Written:
    """A line: its text, and the pen's movements (N, 3): dx, dy, and 1 where the pen is lifted."""

    text: str
    strokes: NDArray[np.float32]


def sample(split: Split, count: int, seed: int = 0) -> list[Written]:
    """`count` lines of a split; a longer sample begins with the shorter one.

    >>> one, two = sample("train", 2)
    >>> one.text != two.text, one.strokes.shape[1]
    (True, 3)
    """
    return list(islice(stream(split, seed), count))


def stream(split: Split, seed: int = 0) -> Iterator[Written]:
    """Lines of a split without end, each in a hand of its own."""
    if split not in SPLITS:
        raise InputError(f"the split must be {', '.join(SPLITS)}, but {split!r} came.")
    random = np.random.default_rng([seed, SPLITS.index(split)])
    while True:
        text = drawn_line(random)
        if line_split(text) == split:
            strokes = write(text, drawn_hand(random), random)
            yield Written(text, strokes.astype(np.float32))
