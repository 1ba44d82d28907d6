"""Explanations of a classifier in the terminal: weighted words, or channels × moments as a strip.

The output is complete without color: weights are printed below words, and shades are block
characters (ASCII if the terminal has no UTF-8).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from rich.cells import cell_len, set_cell_size
from rich.console import Console, ConsoleOptions, RenderResult
from rich.text import Text

from regard.views.terminal.alignment import ASCII, MAX_LABEL, UNICODE, Marks, fitted, shown

FOR, AGAINST = "green", "red"
MAX_COLUMN = 4  # characters
LEVELS = (0.2, 0.4, 0.6, 0.8)  # shares of the largest weight at which the shade changes


@dataclass(frozen=True)
class WeighedWords:
    """Words in a line, with their weights in percent below; negative ones are against the label."""

    words: Sequence[str]
    weights: Sequence[float]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        words = [shown(word, options.encoding) for word in self.words]
        top = max((abs(weight) for weight in self.weights), default=0.0)
        upper, lower = Text(), Text()
        for word, weight in zip(words, self.weights, strict=True):
            number = percent(weight)
            column = max(cell_len(word), cell_len(number))
            if upper and cell_len(upper.plain) + column > options.max_width:
                yield from (upper, lower)
                upper, lower = Text(), Text()
            style = styled(weight, top)
            upper.append(word, style)
            upper.append(" " * (column - cell_len(word) + 1))
            lower.append(set_cell_size(number, column + 1), "dim")
        yield from (_line(upper), _line(lower))


@dataclass(frozen=True)
class Strip:
    """Rows (channels, or one of moments) over time, each cell shaded by its weight.

    Negative weights, against the label, are shown as minus signs.

    weights  (rows, P)
    names    of the rows
    patch    moments of a column
    """

    weights: NDArray[np.float64]
    names: Sequence[str]
    patch: int = 1

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        marks = ASCII if options.ascii_only else UNICODE
        names = [shown(name, options.encoding) for name in self.names]
        labels = min(max(map(cell_len, names), default=0), MAX_LABEL)
        room = max(1, options.max_width - labels - 9)
        joined, columns = join_columns(self.weights, room)
        wide = max(1, min(MAX_COLUMN, room // joined.shape[1]))
        top = float(np.abs(joined).max(initial=0.0))
        for name, row, whole in zip(names, joined, self.weights.sum(1), strict=True):
            line = Text(fitted(name, labels, marks.ellipsis) + " ", "bold")
            for weight in row:
                line.append(_cell(float(weight), top, marks, wide))
            line.append(f" {percent(float(whole)):>6}", "dim")
            yield _line(line)
        yield _line(_axis(labels, joined.shape[1], columns * self.patch, wide))


def join_columns(weights: NDArray[np.float64], room: int) -> tuple[NDArray[np.float64], int]:
    """Sum neighboring columns until all fit; also returns how many are in a column.

    >>> join_columns(np.ones((1, 5)), 3)
    (array([[2., 2., 1.]]), 2)
    """
    size = max(1, -(-weights.shape[1] // room))
    whole = np.pad(weights, ((0, 0), (0, -weights.shape[1] % size)))
    return np.asarray(whole.reshape(len(weights), -1, size).sum(-1)), size


def percent(weight: float) -> str:
    """A share as a whole percentage, or a dot if it rounds to zero.

    >>> percent(0.421), percent(-0.2), percent(0.001)
    ('42%', '-20%', '·')
    """
    return f"{weight:.0%}" if abs(weight) >= 0.005 else "·"


def styled(weight: float, top: float) -> str:
    """The style of a word, stronger with its share of the largest weight."""
    share = abs(weight) / top if top else 0.0
    color = FOR if weight >= 0 else AGAINST
    if share < LEVELS[0]:
        return "default"
    if share < LEVELS[1]:
        return color
    return f"bold {color}" if share < LEVELS[3] else f"bold reverse {color}"


def _cell(weight: float, top: float, marks: Marks, wide: int) -> Text:
    """A cell: a shade if for the label, a minus if against it."""
    share = abs(weight) / top if top else 0.0
    level = sum(share >= step for step in LEVELS)
    if not level:
        return Text(marks.nothing * wide, "dim")
    if weight < 0:
        return Text("-" * wide, AGAINST)
    return Text(marks.shades[level - 1] * wide, FOR)


def _axis(labels: int, columns: int, size: int, wide: int) -> Text:
    """The first time step of a column, about every ten characters."""
    line = " " * (labels + 1)
    for column in range(0, columns, -(-10 // wide)):
        mark = f"{column * size}"
        if column * wide + len(mark) > columns * wide:
            break
        line = set_cell_size(line, labels + 1 + column * wide) + mark
    return Text(line, style="dim")


def _line(text: Text) -> Text:
    text.no_wrap, text.overflow = True, "crop"
    return text
