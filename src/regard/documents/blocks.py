"""Blocks: stretches of text with the inline elements in them, put together piece by piece."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from regard.errors import InputError
from regard.text import normalize

DEEPEST = 100


@dataclass(frozen=True, eq=False)
class Attribute:
    """The value of an attribute that is to be translated, and the quotes around it."""

    text: str
    quote: str


Markup = tuple[str | Attribute, ...]
"""A tag, a comment or the like, as it came, with what of it is to be translated."""


@dataclass
class Element:
    """An inline element, or, without a length, a tag or comment that stands by itself.

    start, end  its place in the block's text
    apart       whether white space was before it
    glued       what followed it without white space, where there is some in the block's text
    """

    opening: Markup
    start: int
    end: int
    name: str = ""
    closing: str = ""
    apart: bool = False
    glued: str = ""
    inner: list[Element] = field(default_factory=list)


@dataclass(frozen=True, eq=False)
class Block:
    """A stretch of text and the inline elements in it, and the white space around it."""

    text: str
    before: str
    after: str
    inner: tuple[Element, ...]


Part = str | Attribute | Block


def markup(elements: Sequence[Element]) -> Iterator[str | Attribute]:
    """All tags and the like of these elements, in order."""
    for one in elements:
        yield from one.opening
        yield from markup(one.inner)
        yield one.closing


class Draft:
    """A block that is being read. In its text there is one space wherever white space was."""

    def __init__(self) -> None:
        self._pieces: list[str] = []
        self._length = 0
        self._before = ""
        self._after = ""
        self._inner: list[Element] = []
        self._open: list[tuple[Element, int]] = []  # and how many pieces were before it
        self._gap = False  # white space since the last text or element
        self._last: Element | None = None  # what stands by itself since the last text

    def text(self, data: str) -> None:
        """Add text."""
        own = normalize(data)
        lead, trail = data[: len(data) - len(data.lstrip())], data[len(data.rstrip()) :]
        if not self._length and not self._inner:
            self._before += lead
        elif not self._length:
            self._siblings().append(Element((lead,), 0, 0))
        elif lead:
            self._gap = True
            self._add("" if self._ends_apart() else " ")
        if not own:
            self._after = lead if self._length else ""
            return
        if self._last and not self._gap and self._ends_apart():
            self._last.glued = own[0]
        self._add(own)
        self._add(" " if trail else "")
        self._after, self._gap, self._last = trail, bool(trail), None

    def point(self, *own: str | Attribute) -> None:
        """Add what stands by itself: a tag, a comment or something left alone."""
        self._last = self._put(Element(own, self._length, self._length))

    def begin(self, name: str, opening: Markup) -> None:
        """Open an inline element."""
        if len(self._open) >= DEEPEST:
            raise InputError(f"the HTML has more than {DEEPEST} elements inside each other.")
        one = self._put(Element(opening, self._length, self._length, name))
        self._open.append((one, len(self._pieces)))

    def end(self, name: str, closing: str) -> None:
        """Close an inline element and all in it; if none of this name is open, a point."""
        if not any(one.name == name for one, _ in self._open):
            self.point(closing)
            return
        while True:
            one, _ = self._open.pop()
            one.end = self._length
            if one.name == name:
                break
        one.closing = closing
        if one.start == one.end:
            self._last, self._gap = one, False

    def footnote(self, name: str) -> bool:
        """Whether the innermost element is of this name, and a number or sign behind a word."""
        one, pieces = self._open[-1] if self._open else (None, 0)
        if one is None or one.name != name or one.apart or not pieces:
            return False
        own = "".join(self._pieces[pieces:])
        behind = self._pieces[pieces - 1][-1] != " "
        return behind and bool(own.strip()) and not any(map(str.isalpha, own))

    def replace(self, raw: str) -> None:
        """Put this markup, to be left alone, in the place of the innermost element."""
        _, pieces = self._open.pop()
        gone = self._pieces[pieces:]
        del self._pieces[pieces:]
        self._length -= sum(map(len, gone))
        self._siblings().pop()
        self._gap = False
        self.point(raw)

    def finish(self) -> Sequence[Part]:
        """The block; what is still open in it ends here, and is closed elsewhere."""
        for one, _ in self._open:
            one.end = self._length
        text = "".join(self._pieces).rstrip(" ")
        if text:
            return (Block(text, self._before, self._after, tuple(self._inner)),)
        return (self._before, *markup(self._inner))  # nothing to translate

    def _put(self, one: Element) -> Element:
        one.apart, self._gap, self._after = self._gap, False, ""
        self._siblings().append(one)
        return one

    def _siblings(self) -> list[Element]:
        return self._open[-1][0].inner if self._open else self._inner

    def _ends_apart(self) -> bool:
        """Whether there is no text, or a space at its end."""
        return not self._pieces or self._pieces[-1][-1] == " "

    def _add(self, piece: str) -> None:
        if piece:
            self._pieces.append(piece)
            self._length += len(piece)
