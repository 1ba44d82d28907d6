"""An alignment in the terminal: a matrix of words, or two lines of words with numbers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderResult
from rich.text import Text

from regard.views.maps.sentence import SentenceView
from regard.views.terminal.text import (
    MAX_LABEL,
    CharacterSet,
    center,
    character_set,
    fit,
    graphemes,
    printable,
    two_lines,
    unwrapped,
)

MAX_HEADING = 12  # characters of a vertical heading
SHADE_LIMITS = (0.05, 0.2, 0.4, 0.65)  # weights from which on a cell has each shade


@dataclass(frozen=True)
class Matrix:
    """Target words down, source words across; shades are weights, dots are links.

    Prints with rich. Headings are horizontal if the terminal is wide enough, else vertical; if even
    that does not fit, a list of each target word's source words is printed. `weights` (target
    words, source words) are the sentence's alignment weights by default.
    """

    sentence: SentenceView
    weights: NDArray[np.float32] | None = None
    legend: bool = True

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        characters = character_set(options)
        sources = [printable(word, options.encoding) for word in self.sentence.source_words]
        targets = [printable(word, options.encoding) for word in self.sentence.target_words]
        if not targets:
            return
        label = min(max(map(cell_len, targets)), MAX_LABEL)
        room = options.max_width - label - 1
        widths = [max(cell_len(word), 3) + 1 for word in sources]
        if sum(widths) <= room:
            heading = [[center(w, n) for w, n in zip(sources, widths, strict=True)]]
        elif 2 * len(sources) <= room and sources:
            widths = [3 if 3 * len(sources) <= room else 2] * len(sources)
            heading = vertical_headings(sources, widths[0], characters.ellipsis)
        else:
            yield from _link_list(self.sentence, sources, targets, characters)
            return
        weights = self.weights if self.weights is not None else self.sentence.alignment_weights()
        links = set(self.sentence.links)
        for line in heading:
            yield unwrapped(Text(" " * (label + 1) + "".join(line), style="bold"))
        for target, word in enumerate(targets):
            row = Text(fit(word, label, characters.ellipsis) + " ", style="bold")
            for source, width in enumerate(widths):
                weight = 0.0 if weights is None else float(weights[target, source])
                row.append_text(cell(weight, (source, target) in links, width, characters))
            yield unwrapped(row)
        if self.legend:
            yield _legend(weights is not None, characters)


@dataclass(frozen=True)
class Interlinear:
    """Source words with numbers below, then target words with the numbers they are linked to."""

    sentence: SentenceView

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        numbers = [str(n + 1) for n in range(len(self.sentence.source_words))]
        linked = [
            ",".join(numbers[source] for source in sources)
            or character_set(options).empty.strip()
            or "-"
            for sources in _linked_sources(self.sentence)
        ]
        for words, below in (
            (self.sentence.source_words, numbers),
            (self.sentence.target_words, linked),
        ):
            yield from two_lines(
                [Text(printable(word, options.encoding)) for word in words],
                [Text(text, "cyan") for text in below],
                options.max_width,
            )


def cell(weight: float, linked: bool, width: int, characters: CharacterSet) -> Text:
    """One cell of the matrix: up to three columns of shade, with a dot in the middle for a link.

    >>> from regard.views.terminal.text import UNICODE
    >>> cell(0.5, True, 3, UNICODE).plain, cell(0.5, False, 3, UNICODE).plain
    ('▓●▓', '▓▓▓')
    """
    level = sum(weight >= limit for limit in SHADE_LIMITS)
    inner = min(width, 3)
    if linked:
        shade = characters.shades[level - 1] if level else " "
        body = Text((shade + characters.link + shade)[:inner], "cyan")
        body.stylize("bold yellow", 1, 2)
    elif level:
        body = Text(characters.shades[level - 1] * inner, "cyan")
    else:
        body = Text(characters.empty.center(inner), "dim")
    left = (width - inner) // 2
    return Text(" " * left) + body + Text(" " * (width - inner - left))


def vertical_headings(words: Sequence[str], width: int, ellipsis: str) -> list[list[str]]:
    """Lines of headings written from top to bottom, aligned at the bottom.

    >>> vertical_headings(["un", "的"], 3, "…")
    [[' u ', '   '], [' n ', '的 ']]
    """
    columns = [graphemes(word) for word in words]
    columns = [
        letters if len(letters) <= MAX_HEADING else [*letters[: MAX_HEADING - 1], ellipsis]
        for letters in columns
    ]
    height = max(map(len, columns))
    padded = [[""] * (height - len(letters)) + letters for letters in columns]
    return [[center(letters[line], width) for letters in padded] for line in range(height)]


def _link_list(
    sentence: SentenceView, sources: Sequence[str], targets: Sequence[str], characters: CharacterSet
) -> Iterator[Text]:
    """For each target word one line: the word ← the source words it is linked to."""
    for target, linked in zip(targets, _linked_sources(sentence), strict=True):
        line = Text(f"{target} ", style="bold")
        line.append(f"{characters.arrow} ", "cyan")
        line.append(", ".join(sources[source] for source in linked) or "-", "default not bold")
        yield line


def _linked_sources(sentence: SentenceView) -> list[list[int]]:
    """For each target word the source words it is linked to."""
    linked: list[set[int]] = [set() for _ in sentence.target_words]
    for source, target in sentence.links:
        linked[target].add(source)
    return [sorted(sources) for sources in linked]


def _legend(has_weights: bool, characters: CharacterSet) -> Text:
    parts = [f"{characters.link} link"]
    if has_weights:
        limits = zip(characters.shades, SHADE_LIMITS, strict=True)
        parts += [f"{shade * 2} {limit:.0%}" for shade, limit in limits]
    return Text("  ".join(parts), style="dim")
