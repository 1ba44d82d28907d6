"""Blocks: runs of text with their inline elements, built token by token."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from regard.errors import InputError
from regard.text import normalize

MAX_DEPTH = 100


@dataclass(frozen=True, eq=False)
class Attribute:
    """The value of an attribute that is to be translated, and the quotes around it."""

    text: str
    quote: str


Markup = tuple[str | Attribute, ...]
"""A tag, a comment or the like, verbatim, with the attributes to be translated taken out."""


@dataclass
class Element:
    """An inline element, or, if empty, a tag or comment that stands by itself.

    start, end   its span in the block's text
    after_space  whether white space precedes it
    glued        the character that followed it without white space, where the block's text has some
    """

    opening: Markup
    start: int
    end: int
    name: str = ""
    closing: str = ""
    after_space: bool = False
    glued: str = ""
    inner: list[Element] = field(default_factory=list)

    @property
    def is_empty(self) -> bool:
        """Whether it encloses no text."""
        return self.start == self.end


@dataclass(frozen=True, eq=False)
class Block:
    """A run of text, the inline elements in it, and the white space around it."""

    text: str
    before: str
    after: str
    inner: tuple[Element, ...]


Part = str | Attribute | Block


def markup(elements: Sequence[Element]) -> Iterator[str | Attribute]:
    """All tags and the like of these elements, in order."""
    for element in elements:
        yield from element.opening
        yield from markup(element.inner)
        yield element.closing


class BlockBuilder:
    """Builds a block. Its text has one space wherever there was white space."""

    def __init__(self) -> None:
        self._pieces: list[str] = []
        self._length = 0
        self._before = ""
        self._after = ""
        self._inner: list[Element] = []
        self._open: list[tuple[Element, int]] = []  # with the number of pieces before it
        self._gap = False  # white space since the last text or element
        self._last: Element | None = None  # the last empty element since the last text

    def text(self, data: str) -> None:
        """Add text."""
        content = normalize(data)
        lead, trail = data[: len(data) - len(data.lstrip())], data[len(data.rstrip()) :]
        if not self._length and not self._inner:
            self._before += lead
        elif not self._length:
            self._siblings().append(Element((lead,), 0, 0))
        elif lead:
            self._gap = True
            self._add("" if self._ends_with_space() else " ")
        if not content:
            self._after = lead if self._length else ""
            return
        if self._last and not self._gap and self._ends_with_space():
            self._last.glued = content[0]
        self._add(content)
        self._add(" " if trail else "")
        self._after, self._gap, self._last = trail, bool(trail), None

    def point(self, *content: str | Attribute) -> None:
        """Add markup that stands by itself: a tag, a comment or something not translated."""
        self._last = self._put(Element(content, self._length, self._length))

    def begin(self, name: str, opening: Markup) -> None:
        """Open an inline element."""
        if len(self._open) >= MAX_DEPTH:
            raise InputError(f"the HTML has more than {MAX_DEPTH} elements inside each other.")
        element = self._put(Element(opening, self._length, self._length, name))
        self._open.append((element, len(self._pieces)))

    def end(self, name: str, closing: str) -> None:
        """Close an inline element and all in it; if none of this name is open, add a point."""
        if not any(element.name == name for element, _ in self._open):
            self.point(closing)
            return
        while True:
            element, _ = self._open.pop()
            element.end = self._length
            if element.name == name:
                break
        element.closing = closing
        if element.is_empty:
            self._last, self._gap = element, False

    def is_footnote(self, name: str) -> bool:
        """Whether the innermost element has this name and is a number or sign after a word."""
        element, num_pieces = self._open[-1] if self._open else (None, 0)
        if element is None or element.name != name or element.after_space or not num_pieces:
            return False
        content = "".join(self._pieces[num_pieces:])
        after_word = self._pieces[num_pieces - 1][-1] != " "
        return after_word and bool(content.strip()) and not any(map(str.isalpha, content))

    def replace(self, raw: str) -> None:
        """Replace the innermost element by markup that is not translated."""
        _, num_pieces = self._open.pop()
        self._length -= sum(map(len, self._pieces[num_pieces:]))
        del self._pieces[num_pieces:]
        self._siblings().pop()
        self._gap = False
        self.point(raw)

    def finish(self) -> Sequence[Part]:
        """The block; elements that are still open end here, and are closed elsewhere."""
        for element, _ in self._open:
            element.end = self._length
        text = "".join(self._pieces).rstrip(" ")
        if text:
            return (Block(text, self._before, self._after, tuple(self._inner)),)
        return (self._before, *markup(self._inner))  # nothing to translate

    def _put(self, element: Element) -> Element:
        element.after_space, self._gap, self._after = self._gap, False, ""
        self._siblings().append(element)
        return element

    def _siblings(self) -> list[Element]:
        return self._open[-1][0].inner if self._open else self._inner

    def _ends_with_space(self) -> bool:
        """Whether there is no text, or a space at its end."""
        return not self._pieces or self._pieces[-1][-1] == " "

    def _add(self, piece: str) -> None:
        if piece:
            self._pieces.append(piece)
            self._length += len(piece)
