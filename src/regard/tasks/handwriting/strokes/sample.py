"""Random lines with their strokes, in splits that share no text."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from regard.corpus.grammar.pair import Split
from regard.errors import InputError
from regard.tasks.handwriting.strokes.lines import line_split, random_line
from regard.tasks.handwriting.strokes.style import random_style, write

SPLITS: tuple[Split, ...] = ("train", "dev", "test")


@dataclass(frozen=True, eq=False)
class StrokeLine:
    """A line: its text, and pen movements (N, 3): dx, dy, and 1 where the pen is lifted."""

    text: str
    strokes: NDArray[np.float32]


def sample(split: Split, count: int, seed: int = 0) -> list[StrokeLine]:
    """`count` lines of a split; a longer sample begins with the shorter one.

    >>> first, second = sample("train", 2)
    >>> first.text != second.text, first.strokes.shape[1]
    (True, 3)
    """
    return list(islice(stream(split, seed), count))


def stream(split: Split, seed: int = 0) -> Iterator[StrokeLine]:
    """Endless lines of a split, each in a random style."""
    if split not in SPLITS:
        raise InputError(f"split must be {', '.join(SPLITS)}, got {split!r}.")
    random = np.random.default_rng([seed, SPLITS.index(split)])
    while True:
        text = random_line(random)
        if line_split(text) == split:
            strokes = write(text, random_style(random), random)
            yield StrokeLine(text, strokes.astype(np.float32))
