"""The evidence for a classification in the terminal: word weights, or channels over time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from rich.cells import cell_len, set_cell_size
from rich.console import Console, ConsoleOptions, RenderResult
from rich.text import Text

from regard.views.terminal.text import (
    MAX_LABEL,
    CharacterSet,
    character_set,
    fit,
    printable,
    two_lines,
    unwrapped,
)

FOR, AGAINST = "green", "red"
MAX_CELL = 4  # characters of a column
SHADE_LIMITS = (0.2, 0.4, 0.6, 0.8)  # shares of the largest weight from which on a cell has a shade


@dataclass(frozen=True)
class WordWeights:
    """Words in a line, below each its weight in percent; evidence against the label is negative."""

    words: Sequence[str]
    weights: Sequence[float]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        largest = max((abs(weight) for weight in self.weights), default=0.0)
        yield from two_lines(
            [
                Text(printable(word, options.encoding), _word_style(weight, largest))
                for word, weight in zip(self.words, self.weights, strict=True)
            ],
            [Text(percent(weight), "dim") for weight in self.weights],
            options.max_width,
        )


@dataclass(frozen=True)
class WeightStrip:
    """Rows (channels, or one of time steps) over time, each cell shaded by its weight.

    A minus marks evidence against the label.

    weights  (rows, P)
    names    of the rows
    patch    time steps of a column
    """

    weights: NDArray[np.float64]
    names: Sequence[str]
    patch: int = 1

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        characters = character_set(options)
        names = [printable(name, options.encoding) for name in self.names]
        label = min(max(map(cell_len, names), default=0), MAX_LABEL)
        room = max(1, options.max_width - label - 9)
        cells, patches = sum_columns(self.weights, room)
        width = max(1, min(MAX_CELL, room // cells.shape[1]))
        largest = float(np.abs(cells).max(initial=0.0))
        for name, row, total in zip(names, cells, self.weights.sum(1), strict=True):
            line = Text(fit(name, label, characters.ellipsis) + " ", "bold")
            for weight in row:
                line.append(_cell(float(weight), largest, characters, width))
            line.append(f" {percent(float(total)):>6}", "dim")
            yield unwrapped(line)
        yield unwrapped(_time_axis(label, cells.shape[1], patches * self.patch, width))


def sum_columns(weights: NDArray[np.float64], room: int) -> tuple[NDArray[np.float64], int]:
    """Sum neighboring columns until all fit; also returns how many are in one.

    >>> sum_columns(np.ones((1, 5)), 3)
    (array([[2., 2., 1.]]), 2)
    """
    size = max(1, -(-weights.shape[1] // room))
    padded = np.pad(weights, ((0, 0), (0, -weights.shape[1] % size)))
    return np.asarray(padded.reshape(len(weights), -1, size).sum(-1)), size


def percent(weight: float) -> str:
    """A share as a whole percentage, or a dot where it rounds to zero.

    >>> percent(0.421), percent(-0.2), percent(0.001)
    ('42%', '-20%', '·')
    """
    return f"{weight:.0%}" if abs(weight) >= 0.005 else "·"


def _level(weight: float, largest: float) -> int:
    """The shade of a weight, from 0 (none) to 4."""
    share = abs(weight) / largest if largest else 0.0
    return sum(share >= limit for limit in SHADE_LIMITS)


def _word_style(weight: float, largest: float) -> str:
    color = FOR if weight >= 0 else AGAINST
    return ("default", color, f"bold {color}", f"bold {color}", f"bold reverse {color}")[
        _level(weight, largest)
    ]


def _cell(weight: float, largest: float, characters: CharacterSet, width: int) -> Text:
    """One cell: a shade for the label, a minus against it."""
    level = _level(weight, largest)
    if not level:
        return Text(characters.empty * width, "dim")
    if weight < 0:
        return Text("-" * width, AGAINST)
    return Text(characters.shades[level - 1] * width, FOR)


def _time_axis(label: int, num_columns: int, size: int, width: int) -> Text:
    """The first time step of a column, about every ten characters."""
    line = " " * (label + 1)
    for column in range(0, num_columns, -(-10 // width)):
        step = f"{column * size}"
        if column * width + len(step) > num_columns * width:
            break
        line = set_cell_size(line, label + 1 + column * width) + step
    return Text(line, style="dim")
