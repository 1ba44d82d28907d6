"""An alignment in the terminal: a matrix of words, or two lines of words with numbers.

Everything is laid out in terminal columns, of which a Chinese character takes two. Shades are block
characters, or ASCII where the terminal does not speak UTF-8; colour only adds to them, so that
plain output says the same.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from rich.cells import cell_len, set_cell_size
from rich.console import Console, ConsoleOptions, RenderResult
from rich.text import Text

from regard.views.maps.sentence import Viewed

MAX_LABEL = 20  # columns of a target word
MAX_HEADING = 12  # characters of a source word written downwards
STEPS = (0.05, 0.2, 0.4, 0.65)  # weights from which on a cell has the first, second … shade


class Marks(NamedTuple):
    """The characters a terminal can show."""

    shades: str
    link: str
    nothing: str
    arrow: str
    ellipsis: str
    times: str


UNICODE = Marks("░▒▓█", "●", "·", "←", "…", "·")
ASCII = Marks(".:+#", "O", " ", "<-", "~", "-")


@dataclass(frozen=True)
class Matrix:
    """Target words down, source words across; shade is weight, a dot is a link.

    Prints with rich. Headings stand across if the terminal is wide enough, else downwards; if even
    that does not fit, a list says for each target word which source words it is linked to.
    `weights` (target words, source words) are those of the sentence unless given.
    """

    sentence: Viewed
    weights: NDArray[np.float32] | None = None
    legend: bool = True

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        marks = ASCII if options.ascii_only else UNICODE
        sources = [shown(word, options.encoding) for word in self.sentence.source_words]
        targets = [shown(word, options.encoding) for word in self.sentence.target_words]
        if not targets:
            return
        labels = min(max(map(cell_len, targets)), MAX_LABEL)
        room = options.max_width - labels - 1
        across = [max(cell_len(word), 3) + 1 for word in sources]
        if sum(across) <= room:
            heading = [[centred(w, n) for w, n in zip(sources, across, strict=True)]]
            yield from self._rows(heading, across, targets, labels, marks)
        elif 2 * len(sources) <= room and sources:
            size = 3 if 3 * len(sources) <= room else 2
            heading = downwards(sources, size, marks.ellipsis)
            yield from self._rows(heading, [size] * len(sources), targets, labels, marks)
        else:
            yield from link_list(self.sentence, sources, targets, marks)

    def _rows(
        self,
        heading: list[list[str]],
        widths: list[int],
        targets: list[str],
        labels: int,
        marks: Marks,
    ) -> Iterator[Text]:
        weights = self.weights if self.weights is not None else self.sentence.alignment_weights()
        links = set(self.sentence.links)
        for line in heading:
            yield _line(Text(" " * (labels + 1) + "".join(line).rstrip(), style="bold"))
        for target, word in enumerate(targets):
            row = Text(fitted(word, labels, marks.ellipsis) + " ", style="bold")
            for source, width in enumerate(widths):
                weight = 0.0 if weights is None else float(weights[target, source])
                row.append_text(cell(weight, (source, target) in links, width, marks))
            row.rstrip()
            yield _line(row)
        if self.legend:
            yield _legend(weights is not None, marks)


@dataclass(frozen=True)
class Interlinear:
    """Source words with their numbers below, then target words with those they are linked to."""

    sentence: Viewed

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        marks = ASCII if options.ascii_only else UNICODE
        sources = [shown(word, options.encoding) for word in self.sentence.source_words]
        targets = [shown(word, options.encoding) for word in self.sentence.target_words]
        numbers = [str(place + 1) for place in range(len(sources))]
        linked = [
            ",".join(numbers[source] for source in sorted(found)) or marks.nothing.strip() or "-"
            for found in _linked(self.sentence)
        ]
        yield from _two_lines(sources, numbers, options.max_width)
        yield from _two_lines(targets, linked, options.max_width)


def cell(weight: float, linked: bool, width: int, marks: Marks) -> Text:
    """One cell of the matrix: up to three columns of shade, in their middle a dot for a link.

    >>> cell(0.5, True, 3, UNICODE).plain, cell(0.5, False, 3, UNICODE).plain
    ('▓●▓', '▓▓▓')
    """
    level = sum(weight >= step for step in STEPS)
    inner = min(width, 3)
    if linked:
        shade = marks.shades[level - 1] if level else " "
        body = Text(shade + marks.link + shade if inner == 3 else shade + marks.link, "cyan")
        body.stylize("bold yellow", 1, 2)
    elif level:
        body = Text(marks.shades[level - 1] * inner, "cyan")
    else:
        body = Text(marks.nothing.center(inner), "dim")
    before = (width - inner) // 2
    return Text(" " * before) + body + Text(" " * (width - inner - before))


def link_list(
    sentence: Viewed, sources: Sequence[str], targets: Sequence[str], marks: Marks
) -> Iterator[Text]:
    """For each target word one line: the word ← the source words it is linked to."""
    for target, found in zip(targets, _linked(sentence), strict=True):
        names = ", ".join(sources[source] for source in sorted(found))
        line = Text(f"{target} ", style="bold")
        line.append(f"{marks.arrow} ", "cyan")
        line.append(names or "-", "default not bold")
        yield line


def downwards(words: Sequence[str], width: int, ellipsis: str) -> list[list[str]]:
    """Lines of headings written from top to bottom, all ending at the bottom.

    >>> downwards(["un", "的"], 3, "…")
    [[' u ', '   '], [' n ', '的 ']]
    """
    columns = []
    for word in words:
        letters = characters(word)
        if len(letters) > MAX_HEADING:
            letters = [*letters[: MAX_HEADING - 1], ellipsis]
        columns.append(letters)
    height = max(map(len, columns))
    return [
        [
            centred(letters[at], width)
            if (at := line - height + len(letters)) >= 0
            else " " * width
            for letters in columns
        ]
        for line in range(height)
    ]


def characters(word: str) -> list[str]:
    """What a reader calls characters: marks without a width stay with their letter."""
    found: list[str] = []
    for character in word:
        joins = found and (cell_len(character) == 0 or found[-1].endswith("\u200d"))
        if joins:
            found[-1] += character
        else:
            found.append(character)
    return found


def centred(text: str, width: int) -> str:
    """Text in the middle of so many terminal columns; a wide character keeps to the left."""
    before = (width - cell_len(text)) // 2
    return set_cell_size(" " * before + text, width)


def fitted(text: str, width: int, ellipsis: str) -> str:
    """Text in exactly so many columns, cut with an ellipsis or filled with spaces."""
    if cell_len(text) > width:
        return set_cell_size(set_cell_size(text, width - 1).rstrip() + ellipsis, width)
    return set_cell_size(text, width)


def shown(word: str, encoding: str) -> str:
    """The word as a terminal of that encoding can show it; control characters read as "?"."""
    plain = "".join("?" if unicodedata.category(c) in ("Cc", "Cs", "Zl", "Zp") else c for c in word)
    return plain.encode(encoding, "replace").decode(encoding)


def _linked(sentence: Viewed) -> list[set[int]]:
    """For each target word the source words it is linked to."""
    found: list[set[int]] = [set() for _ in sentence.target_words]
    for source, target in sentence.links:
        found[target].add(source)
    return found


def _two_lines(words: Sequence[str], below: Sequence[str], width: int) -> Iterator[Text]:
    """Words with something below each, in as many pairs of lines as the width needs."""
    upper, lower = "", ""
    for word, number in zip(words, below, strict=True):
        column = max(cell_len(word), cell_len(number))
        if upper and cell_len(upper) + column > width:
            yield from (_line(Text(upper.rstrip())), _line(Text(lower.rstrip(), style="cyan")))
            upper, lower = "", ""
        upper += set_cell_size(word, column + 1)
        lower += set_cell_size(number, column + 1)
    yield from (_line(Text(upper.rstrip())), _line(Text(lower.rstrip(), style="cyan")))


def _legend(weighted: bool, marks: Marks) -> Text:
    parts = [f"{marks.link} link"]
    if weighted:
        steps = zip(marks.shades, STEPS, strict=True)
        parts += [f"{shade * 2} {step:.0%}" for shade, step in steps]
    return Text("  ".join(parts), style="dim")


def _line(text: Text) -> Text:
    """A line that is never wrapped: a matrix of broken lines says nothing."""
    text.no_wrap, text.overflow = True, "crop"
    return text
