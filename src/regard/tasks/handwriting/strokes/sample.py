"""Random lines with their strokes, in splits that share no text."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from regard.corpus.splits import Split
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
    """`count` lines of a split, each in a random style; a longer sample begins with the shorter.

    >>> first, second = sample("train", 2)
    >>> first.text != second.text, first.strokes.shape[1]
    (True, 3)
    """
    if split not in SPLITS:
        raise InputError(f"split must be {', '.join(SPLITS)}, got {split!r}.")
    random = np.random.default_rng([seed, SPLITS.index(split)])
    lines: list[StrokeLine] = []
    while len(lines) < count:
        text = random_line(random)
        if line_split(text) == split:
            strokes = write(text, random_style(random), random)
            lines.append(StrokeLine(text, strokes.astype(np.float32)))
    return lines
