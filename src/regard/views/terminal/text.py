"""Text in terminal columns, of which a Chinese character takes two.

Shades are block characters, or ASCII where the terminal has no UTF-8. Color only adds to the
characters, so plain output has the same content.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from rich.cells import cell_len, set_cell_size
from rich.console import ConsoleOptions
from rich.text import Text

MAX_LABEL = 20  # columns of a row label


class CharacterSet(NamedTuple):
    """The characters that a terminal can show."""

    shades: str
    link: str
    empty: str
    arrow: str
    ellipsis: str


UNICODE = CharacterSet("░▒▓█", "●", "·", "←", "…")
ASCII = CharacterSet(".:+#", "O", " ", "<-", "~")


def character_set(options: ConsoleOptions) -> CharacterSet:
    """The characters for a console."""
    return ASCII if options.ascii_only else UNICODE


def printable(word: str, encoding: str) -> str:
    """The word in the terminal's encoding; characters it lacks and controls become "?"."""
    safe = "".join("?" if unicodedata.category(c) in ("Cc", "Cs", "Zl", "Zp") else c for c in word)
    return safe.encode(encoding, "replace").decode(encoding)


def graphemes(word: str) -> list[str]:
    """The visible characters of a word: combining marks stay with their letter."""
    parts: list[str] = []
    for character in word:
        if parts and (cell_len(character) == 0 or parts[-1].endswith("\u200d")):
            parts[-1] += character
        else:
            parts.append(character)
    return parts


def center(text: str, width: int) -> str:
    """Center text in terminal columns; where that is uneven, it is nearer to the left."""
    left = (width - cell_len(text)) // 2
    return set_cell_size(" " * left + text, width)


def fit(text: str, width: int, ellipsis: str) -> str:
    """Cut text with an ellipsis, or fill it with spaces, to exactly `width` columns."""
    if cell_len(text) > width:
        return set_cell_size(set_cell_size(text, width - 1).rstrip() + ellipsis, width)
    return set_cell_size(text, width)


def two_lines(words: Sequence[Text], below: Sequence[Text], width: int) -> Iterator[Text]:
    """Words with a text below each, in as many pairs of lines as the width needs."""
    upper, lower = Text(), Text()
    for word, note in zip(words, below, strict=True):
        column = max(word.cell_len, note.cell_len)
        if upper and upper.cell_len + column > width:
            yield from (unwrapped(upper), unwrapped(lower))
            upper, lower = Text(), Text()
        for line, part in ((upper, word), (lower, note)):
            line.append_text(part)
            line.append(" " * (column - part.cell_len + 1))
    yield from (unwrapped(upper), unwrapped(lower))


def unwrapped(line: Text) -> Text:
    """The line, cropped rather than wrapped: a matrix of broken lines is unreadable."""
    line.rstrip()
    line.no_wrap, line.overflow = True, "crop"
    return line
