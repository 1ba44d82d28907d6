"""A traced text in the terminal: the equation and the matrix of every step.

The rows of a matrix are labelled by tokens. Features that do not fit into the width are left out,
with a mark in their place; keys continue on further lines.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.cells import cell_len, set_cell_size
from rich.console import Console, ConsoleOptions, RenderResult
from rich.text import Text

from regard.views.maps.traced import ShownStep, TracedText
from regard.views.terminal.text import fit, printable, unwrapped

MAX_LABEL = 14  # columns of a token
MAX_ROWS = 7  # of a matrix, unless it is shown by itself
INDENT = "    "


@dataclass(frozen=True)
class TraceTable:
    """All steps of a traced text, or the one with the number `only`, with all its numbers."""

    traced: TracedText
    only: int | None = None

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        layout = _Layout(options.max_width, options.encoding, self.only is not None)
        if self.only is None:
            yield from _introduction(self.traced, layout)
        place = None
        for step in self.traced.steps:
            if self.only not in (None, step.number):
                continue
            if step.place[:3] != place:
                place = step.place[:3]
                yield Text()
                yield unwrapped(Text(place_name(step), "bold underline"))
                yield from _skipped(self.traced, step)
            yield from _step_lines(self.traced, step, layout)


@dataclass(frozen=True)
class _Layout:
    """The width of the terminal, and whether everything of a step is to be shown."""

    width: int
    encoding: str
    whole: bool

    def text(self, text: str) -> str:
        return printable(text.replace("▁", " ").strip() or text, self.encoding)


def place_name(step: ShownStep) -> str:
    """Where a step belongs.

    >>> from types import SimpleNamespace
    >>> place_name(SimpleNamespace(side="encoder", part="self-attention", layer=0, head=2))
    'Encoder, layer 0: self-attention'
    """
    layer = "" if step.layer is None else f", layer {step.layer}"
    return f"{step.side.capitalize()}{layer}: {step.part}"


def matrix_lines(
    values: NDArray[np.float64],
    rows: Sequence[str],
    columns: Sequence[str] | None = None,
    *,
    width: int = 100,
    whole: bool = False,
    decimals: int = 2,
    importance: NDArray[np.float64] | None = None,
) -> Iterator[str]:
    """A matrix (r, c) in lines of at most `width`, its rows labelled, and its columns if given.

    Labelled columns continue below; of others those that do not fit are left out, unless `whole`.
    Of many rows the most important are kept, by default the first.

    >>> print(*matrix_lines(np.array([[1.0, 2.0], [0.5, -np.inf]]), ["我", "b"]), sep="\\n")
    我  ⎡   1.00   2.00 ⎤
    b   ⎣   0.50     −∞ ⎦
    """
    shown_rows = _shown_rows(len(rows), whole, importance)
    label = min(max((cell_len(row) for row in rows), default=0), MAX_LABEL)
    cells = [[number(value, decimals) for value in row] for row in values]
    size = max([4 + decimals if decimals else 2, *(cell_len(c) for row in cells for c in row)])
    sizes = [size] * values.shape[1]
    if columns is not None:
        names = [fit(name, min(cell_len(name), MAX_LABEL), "…") for name in columns]
        sizes = [max(size, cell_len(name)) for name in names]
    room = width - label - 6
    for band in _bands(sizes, room, wrap=columns is not None or whole):
        if columns is not None:
            heading = " ".join(_right(names[c], sizes[c]) for c in band if c is not None)
            yield " " * (label + 4) + heading
        for place, row in enumerate(shown_rows):
            if row is None:
                yield f"{' ' * (label + 4)}⋮  {len(rows) - len(shown_rows) + 1} more"
                continue
            left, right = _brackets(place, len(shown_rows) - (None in shown_rows))
            numbers = " ".join("…" if c is None else _right(cells[row][c], sizes[c]) for c in band)
            yield f"{fit(rows[row], label, '…')}  {left} {numbers} {right}"


def number(value: float, decimals: int = 2) -> str:
    """A rounded number.

    >>> number(-0.001), number(1234567.0), number(float("-inf")), number(3.0, 0)
    ('0.00', '1.23e+06', '−∞', '3')
    """
    if np.isneginf(value):
        return "−∞"
    if abs(value) >= 1e5:
        return f"{value:.3g}"
    text = f"{value:.{decimals}f}"
    return text.removeprefix("-") if not text.strip("-0.") else text


def _introduction(traced: TracedText, layout: _Layout) -> Iterator[Text]:
    """What was read, which word is followed, and what is shown of the model."""
    yield Text(f"{traced.model}: {traced.kind}", "bold")
    yield Text(f"reads   {printable(traced.text, layout.encoding)}")
    if traced.output:
        yield Text(f"writes  {printable(traced.output, layout.encoding)}")
    for side, rows in traced.rows.items():
        if side not in traced.sides or not rows:
            continue
        about, places = traced.sides[side], ", ".join(map(str, rows))
        tokens = " ".join(layout.text(about.tokens[row]) for row in rows)
        line = f"{side} position {places}: reads “{tokens}”"
        if about.written:
            line += ", writes “" + " ".join(layout.text(about.written[r]) for r in rows) + "”"
        yield Text(line, "cyan")
    yield Text(
        _selection(traced) + "Numbers are rounded; … and ⋮ stand for what is left out.", "dim"
    )


def _selection(traced: TracedText) -> str:
    layers = {step.layer for step in traced.steps if step.layer is not None}
    heads = {step.head for step in traced.steps if step.head is not None}
    most_layers = max((size[0] for size in traced.sizes.values()), default=0)
    most_heads = max((size[1] for size in traced.sizes.values()), default=0)
    if len(layers) == len(heads) == 1 and most_layers * most_heads > 1:
        return (
            f"Shown: layer {min(layers)} of {most_layers} (--layer), head {min(heads)} of "
            f"{most_heads} (--head), counted from 0. "
        )
    return ""


def _step_lines(traced: TracedText, step: ShownStep, layout: _Layout) -> Iterator[Text]:
    """The equation of a step, and its numbers."""
    sizes = " × ".join(f"{axis} {n}" for axis, n in zip(step.axes, step.shape, strict=True))
    head = "" if step.head is None else f"head {step.head}, "
    line = Text(f"{step.number:>2}. ", "dim")
    line.append(step.name, "bold")
    line.append(f"   {step.equation}", "cyan")
    line.append(f"   ({head}{sizes})" if sizes else "", "dim")
    yield unwrapped(line)
    rows = [layout.text(token) for token in traced.row_labels(step)] if step.rows else []
    width = layout.width - len(INDENT)
    if step.name == "word":
        for row, (token,) in zip(rows, step.tokens, strict=True):
            yield Text(f"{INDENT}after {row}: {layout.text(token)}", "yellow")
        return
    if step.tokens:
        for row, values, tokens in zip(rows, step.values, step.tokens, strict=True):
            names = [layout.text(token) for token in tokens]
            yield from _indented(matrix_lines(values[None], [row], names, width=width))
        left = step.shape[-1] - len(step.tokens[0])
        if left:
            yield Text(f"{INDENT}the {left:,} other tokens are left out", "dim")
        return
    labels = None
    if "key" in step.axes or "slot" in step.axes:
        labels = [layout.text(token) for token in traced.key_labels(step)]
    options: dict[str, Any] = {
        "width": width,
        "whole": layout.whole,
        "decimals": 4 if layout.whole else 2,
        "importance": _key_weights(traced, step),
    }
    if len(step.axes) == 3 and labels is not None:  # for each query a matrix over keys
        shown = rows if layout.whole else rows[:1]
        for row, values in zip(shown, step.values, strict=False):
            yield Text(f"{INDENT}for {row}:", "dim") if len(rows) > 1 else Text(end="")
            yield from _indented(matrix_lines(values, labels, **options))
        return
    if step.axes[0] in ("key", "slot") and labels is not None:
        yield from _indented(matrix_lines(step.values, labels, **options))
    else:
        yield from _indented(matrix_lines(step.values, rows, labels, **options))


def _key_weights(traced: TracedText, step: ShownStep) -> NDArray[np.float64] | None:
    """The weight of each key in the same head, by which the shown keys are chosen."""
    same = (s for s in traced.steps if s.name == "weights" and s.place == step.place)
    weights = next(same, None)
    return (
        None
        if weights is None or (step.axes[0] == "query" and len(step.axes) == 2)
        else (weights.values.max(0))
    )


def _skipped(traced: TracedText, step: ShownStep) -> Iterator[Text]:
    """A line that names the layers before the output that are not shown."""
    if step.part != "output":
        return
    numbers = [size[0] for (side, _), size in traced.sizes.items() if side == step.side]
    shown = {s.layer for s in traced.steps if s.side == step.side}
    left = [str(layer) for layer in range(max(numbers, default=0)) if layer not in shown]
    if left:
        yield Text(f"{INDENT}layers not shown: {', '.join(left)} (--layer)", "dim")


def _indented(lines: Iterator[str]) -> Iterator[Text]:
    return (unwrapped(Text(INDENT + line)) for line in lines)


def _shown_rows(
    count: int, whole: bool, importance: NDArray[np.float64] | None
) -> list[int | None]:
    """The rows that are shown; None stands for the others."""
    if whole or count <= MAX_ROWS:
        return list(range(count))
    order = range(count) if importance is None else np.argsort(-importance, kind="stable").tolist()
    return [*sorted(order[: MAX_ROWS - 1]), None]


def _bands(sizes: Sequence[int], room: int, *, wrap: bool) -> Iterator[list[int | None]]:
    """The columns of each band of lines; None stands for those that are left out."""
    if sum(sizes) + len(sizes) - 1 <= room:
        yield list(range(len(sizes)))
        return
    if not wrap:
        count = max(2, (room - 2) // (sizes[0] + 1))
        yield [*range(count - 1), None, len(sizes) - 1]
        return
    band: list[int | None] = []
    used = 0
    for column, size in enumerate(sizes):
        if band and used + size + 1 > room:
            yield band
            band, used = [], 0
        band.append(column)
        used += size + 1
    yield band


def _brackets(place: int, count: int) -> tuple[str, str]:
    if count == 1:
        return "[", "]"
    return ("⎡", "⎤") if place == 0 else ("⎣", "⎦") if place == count - 1 else ("⎢", "⎥")


def _right(text: str, width: int) -> str:
    """Text at the right of `width` terminal columns.

    >>> _right("的", 4)
    '  的'
    """
    return set_cell_size(" " * max(0, width - cell_len(text)) + text, width)
