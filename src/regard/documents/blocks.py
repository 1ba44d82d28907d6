"""Parts of a document: verbatim text, and blocks of text with their inline elements."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from regard.errors import InputError
from regard.text import normalize

MAX_DEPTH = 100
MAX_SHOWN = 200  # characters of what is not translated that the model reads


def unescaped(text: str) -> str:
    """The text as it is."""
    return text


@dataclass(frozen=True)
class Syntax:
    """How text is written in a format.

    escape  makes markup of plain text
    finish  what is done to a whole block once it is written
    wrap    what stands around each run of text that is in no element with its own
    """

    escape: Callable[[str], str] = unescaped
    finish: Callable[[str], str] = unescaped
    wrap: tuple[str, str] = ("", "")


PLAIN = Syntax()


@dataclass(frozen=True, eq=False)
class Value:
    """Parts inside quotes or the like: an attribute, a string of a table, a message.

    raw    how it stands in the document, written if no text in it changed; None: there is nothing
    write  makes the document's text of its rendered parts
    """

    parts: tuple[Part, ...]
    raw: str | None
    write: Callable[[str], str]


@dataclass(frozen=True)
class Space:
    """White space inside a block, before its first word."""

    text: str


@dataclass
class Element:
    """An inline element, or, if empty, a tag or comment that stands by itself.

    start, end   its span in the block's text
    after_space  whether white space precedes it
    glued        the character that followed it without white space, where the block's text has some
    tight        whether it must enclose words without white space around them, or not be there
    in_word      its opening and closing where a letter or digit adjoins it, if they differ
    wrap         as in `Syntax`, for the text in it
    """

    opening: Markup
    start: int
    end: int
    name: str = ""
    closing: Markup = ()
    after_space: bool = False
    glued: str = ""
    tight: bool = False
    in_word: tuple[str, str] | None = None
    wrap: tuple[str, str] | None = None
    inner: list[Element] = field(default_factory=list)

    @property
    def is_empty(self) -> bool:
        """Whether it encloses no text."""
        return self.start == self.end


class Verbatim(NamedTuple):
    """Something in a block's text that is not translated, where it stands and how it is written."""

    start: int
    end: int
    raw: str


@dataclass(frozen=True, eq=False)
class Block:
    """A run of text, the inline elements in it, and the white space around it.

    raw       how it stands in the document, written if no text in it changed
    verbatim  spans of the text that are not translated, such as code, and what is written for them
    """

    text: str
    before: str
    after: str
    inner: tuple[Element, ...]
    raw: str
    syntax: Syntax
    verbatim: tuple[Verbatim, ...] = ()


Part = str | Space | Value | Block
Markup = tuple[Part, ...]
"""A tag, a comment or the like, verbatim, with what is to be translated in it taken out."""


def markup(elements: Sequence[Element]) -> Iterator[Part]:
    """All tags and the like of these elements, in order."""
    for element in elements:
        yield from element.opening
        yield from markup(element.inner)
        yield from element.closing


def blocks(parts: Sequence[Part]) -> Iterator[Block]:
    """All blocks, in the document's order; a block before those inside its markup."""
    for part in parts:
        if isinstance(part, Value):
            yield from blocks(part.parts)
        elif isinstance(part, Block):
            yield part
            yield from blocks(tuple(markup(part.inner)))


def code_text(content: str) -> str:
    """What the text has for code; empty if that cannot be found again.

    >>> code_text("git  add"), code_text("a`b")
    ('`git add`', '')
    """
    bare = normalize(content)
    return "" if "`" in bare or not bare else f"`{bare}`"


def raw_text(parts: Sequence[Part]) -> str:
    """How parts stand in the document."""
    return "".join(map(_raw, parts))


def _raw(part: Part) -> str:
    if isinstance(part, str):
        return part
    return part.text if isinstance(part, Space) else part.raw or ""


class BlockBuilder:
    """Builds a block. Its text has one space wherever there was white space."""

    def __init__(self, syntax: Syntax = PLAIN) -> None:
        self.syntax = syntax
        self._pieces: list[str] = []
        self._length = 0
        self._before = ""
        self._after = ""
        self._inner: list[Element] = []
        self._open: list[tuple[Element, int]] = []  # with the number of pieces before it
        self._gap = False  # white space since the last text or element
        self._last: Element | None = None  # the last empty element since the last text
        self._raw: list[Part] = []
        self._verbatim: list[Verbatim] = []

    def text(self, data: str, raw: str | None = None) -> None:
        """Add text, which stands in the document as `raw`."""
        self._raw.append(data if raw is None else raw)
        content = normalize(data)
        lead, trail = data[: len(data) - len(data.lstrip())], data[len(data.rstrip()) :]
        if not self._length and not self._inner:
            self._before += lead
        elif not self._length:
            self._siblings().append(Element((Space(lead),), 0, 0))
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

    def point(self, *content: Part) -> None:
        """Add markup that stands by itself: a tag, a comment or something not translated."""
        self._raw += content
        self._last = self._put(Element(content, self._length, self._length))

    def verbatim(self, shown: str, raw: str) -> None:
        """Add something that is not translated but is read by the model, such as code.

        shown  what the text has for it, by which it is found in the translation
        """
        if not shown.strip("`") or len(shown) > MAX_SHOWN or shown != normalize(shown):
            self.point(raw)
            return
        start = self._length
        self.text(shown, raw)
        self._verbatim.append(Verbatim(start, self._length, raw))

    def begin(
        self,
        name: str,
        opening: Markup,
        *,
        tight: bool = False,
        in_word: tuple[str, str] | None = None,
        wrap: tuple[str, str] | None = None,
    ) -> None:
        """Open an inline element; the keywords are those of `Element`."""
        if len(self._open) >= MAX_DEPTH:
            raise InputError(f"the document has more than {MAX_DEPTH} elements inside each other.")
        self._raw += opening
        element = Element(opening, self._length, self._length, name)
        element.tight, element.in_word, element.wrap = tight, in_word, wrap
        self._open.append((self._put(element), len(self._pieces)))

    def end(self, name: str, *closing: Part) -> None:
        """Close an inline element and all in it; if none of this name is open, add a point."""
        if not self.is_open(name):
            self.point(*closing)
            return
        while True:
            element, _ = self._open.pop()
            element.end = self._length
            if element.name == name:
                break
        element.closing = closing
        self._raw += closing
        if element.is_empty:
            self._last, self._gap = element, False

    def is_open(self, name: str) -> bool:
        """Whether an element of this name is open."""
        return any(element.name == name for element, _ in self._open)

    def is_footnote(self, name: str) -> bool:
        """Whether the innermost element has this name and is a number or sign after a word."""
        element, num_pieces = self._open[-1] if self._open else (None, 0)
        if element is None or element.name != name or element.after_space or not num_pieces:
            return False
        content = "".join(self._pieces[num_pieces:])
        after_word = self._pieces[num_pieces - 1][-1] != " "
        return after_word and bool(content.strip()) and not any(map(str.isalpha, content))

    def replace(self, raw: str, closing: str) -> None:
        """Replace the innermost element by markup that is not translated, and ends in `closing`."""
        _, num_pieces = self._open.pop()
        self._length -= sum(map(len, self._pieces[num_pieces:]))
        del self._pieces[num_pieces:]
        while self._verbatim and self._verbatim[-1].end > self._length:
            self._verbatim.pop()
        self._siblings().pop()
        self._gap = False
        self._last = self._put(Element((raw,), self._length, self._length))
        self._raw.append(closing)

    def finish(self, raw: str | None = None) -> Sequence[Part]:
        """The block; elements that are still open end here, and are closed elsewhere.

        raw  how it stands in the document, if that is not what was added
        """
        for element, _ in self._open:
            element.end = self._length
        text = "".join(self._pieces).rstrip(" ")
        if any(map(str.isalpha, self._prose(text))):
            raw = raw_text(self._raw) if raw is None else raw
            around = self._before, self._after
            inner, verbatim = tuple(self._inner), tuple(self._verbatim)
            return (Block(text, *around, inner, raw, self.syntax, verbatim),)
        inside = raw is None or any(True for _ in blocks(self._raw))
        return tuple(self._raw) if inside else (raw or "",)  # nothing to translate

    def _prose(self, text: str) -> Iterator[str]:
        """The text between what is not translated."""
        position = 0
        for start, end, _ in self._verbatim:
            yield from text[position:start]
            position = end
        yield from text[position:]

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
