"""HTML through a translator: text translated block by block, markup kept.

A block is the text between two block-level tags, with its inline tags. Its text is translated as
a whole; an inline element then encloses the words that its own words are linked to. Tags,
attributes and comments come out as they went in, text is escaped, and what is no prose (scripts,
styles, code) is left alone.

    page = parse(source)
    page.render(translations of page.texts, with word links)
"""

from __future__ import annotations

import html
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from html.parser import HTMLParser
from typing import Protocol

from regard.errors import InputError
from regard.text import normalise

INLINE = frozenset({
    "a", "abbr", "acronym", "b", "bdi", "bdo", "big", "cite", "data", "del", "dfn", "em", "font",
    "i", "img", "input", "ins", "label", "mark", "q", "s", "small", "span", "strike", "strong",
    "sub", "sup", "time", "tt", "u", "wbr",
})  # fmt: skip
VOID = frozenset({"img", "input", "wbr"})  # of those that are inline
CODE = frozenset({"code", "kbd", "samp", "var"})
KEPT = CODE | {"script", "style", "pre", "textarea", "svg", "math", "template"}
DEEPEST = 100


class Linked(Protocol):
    """A translation with its word links."""

    @property
    def text(self) -> str: ...
    @property
    def source_words(self) -> Sequence[str]: ...
    @property
    def words(self) -> Sequence[str]: ...
    @property
    def alignment(self) -> Sequence[tuple[int, int]]: ...


@dataclass
class Element:
    """An inline element, or, without a length, a tag or comment that stands by itself.

    start, end  its place in the block's text
    """

    opening: str
    start: int
    end: int
    name: str = ""
    closing: str = ""
    inner: list[Element] = field(default_factory=list)


@dataclass
class Block:
    """A stretch of text and the inline elements in it."""

    text: str = ""
    before: str = ""
    after: str = ""
    inner: list[Element] = field(default_factory=list)


@dataclass(frozen=True)
class Page:
    """Markup as it came, and blocks of text between it."""

    parts: tuple[str | Block, ...]

    @property
    def texts(self) -> list[str]:
        """What is to be translated."""
        return [part.text for part in self.parts if isinstance(part, Block)]

    def render(self, translations: Sequence[Linked]) -> str:
        """The page with translations of its texts."""
        rest = iter(translations)
        return "".join(
            part if isinstance(part, str) else _rendered(part, next(rest)) for part in self.parts
        )


def parse(source: str) -> Page:
    """The blocks of an HTML page, or of a part of one."""
    reader = _Reader()
    reader.feed(source)
    reader.close()
    reader.end_block()
    return Page(tuple(reader.parts))


class _Reader(HTMLParser):
    """Collects parts; `self.open` are the inline elements that are not closed yet."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.parts: list[str | Block] = []
        self.block = Block()
        self.open: list[Element] = []
        self.kept: list[str] = []  # elements whose content is left alone
        self.raw = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        text = self.get_starttag_text() or ""
        if self.kept:
            self.kept += [tag] if tag == self.kept[0] else []
            self.raw += text
        elif tag in KEPT or ("translate", "no") in attrs:
            self.kept, self.raw = [tag], text
        elif tag in VOID:
            self._point(text)
        elif tag in INLINE:
            self._begin(Element(text, len(self.block.text), len(self.block.text), tag))
        else:
            self.markup(text)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        text = self.get_starttag_text() or ""
        if self.kept:
            self.raw += text
        elif tag in INLINE:
            self._point(text)
        else:
            self.markup(text)

    def handle_endtag(self, tag: str) -> None:
        text = f"</{tag}>"
        if self.kept:
            self.raw += text
            if tag == self.kept[0]:
                self.kept.pop()
            if not self.kept and tag in CODE | INLINE:
                self._point(self.raw)
            elif not self.kept:
                self.markup(self.raw)
                self.raw = ""
        elif tag not in INLINE:
            self.markup(text)
        elif any(one.name == tag for one in self.open):
            while self.open:
                one = self.open.pop()
                one.end = len(self.block.text)
                if one.name == tag:
                    one.closing = text
                    return
        else:
            self._point(text)

    def handle_data(self, data: str) -> None:
        if self.kept:
            self.raw += data if self.cdata_elem else html.escape(data, quote=False)
            return
        block, text = self.block, normalise(data)
        lead = data[: len(data) - len(data.lstrip())]
        if not block.text:
            block.before += lead
        elif lead and not block.text.endswith(" "):
            block.text += " "
        if not text:
            block.after = data if block.text else ""
            return
        block.after = data[len(data.rstrip()) :]
        block.text += text + " " * bool(block.after)

    def handle_comment(self, data: str) -> None:
        self._aside(f"<!--{data}-->")

    def handle_decl(self, decl: str) -> None:
        self._aside(f"<!{decl}>")

    def unknown_decl(self, data: str) -> None:
        self._aside(f"<![{data}]>")

    def handle_pi(self, data: str) -> None:
        self._aside(f"<?{data}>")

    def markup(self, text: str) -> None:
        """A block-level tag: what stood before it is a block."""
        self.end_block()
        self.parts.append(text)

    def end_block(self) -> None:
        """Put the block away; what is still open in it ends here, and is closed elsewhere."""
        if self.raw and self.kept:  # never closed
            self.kept = []
            self._point(self.raw)
        for one in self.open:
            one.end = len(self.block.text)
        block, self.block, self.open = self.block, Block(), []
        block.text = block.text.rstrip(" ")
        if block.text:
            self.parts.append(block)
        else:  # nothing to translate
            self.parts.append(block.before + "".join(_markup(block.inner)))

    def _aside(self, text: str) -> None:
        if self.kept:
            self.raw += text
        else:
            self._point(text)

    def _begin(self, one: Element) -> None:
        if len(self.open) >= DEEPEST:
            raise InputError(f"the HTML has more than {DEEPEST} elements inside each other.")
        (self.open[-1].inner if self.open else self.block.inner).append(one)
        self.open.append(one)

    def _point(self, text: str) -> None:
        """A tag, a comment or something left alone, at this place."""
        at = len(self.block.text)
        text = " " + text if self.block.text.endswith(" ") else text
        (self.open[-1].inner if self.open else self.block.inner).append(Element(text, at, at))
        self.raw = ""


def _markup(elements: Sequence[Element]) -> Iterator[str]:
    for one in elements:
        yield one.opening
        yield from _markup(one.inner)
        yield one.closing


def _rendered(block: Block, translation: Linked) -> str:
    text = translation.text
    places = _Places(block.text, translation)
    return block.before + _laid(block.inner, text, 0, len(text), places) + block.after


def _laid(elements: Sequence[Element], text: str, start: int, end: int, places: _Places) -> str:
    """The text from start to end with the elements around the words that theirs are linked to."""
    targets = [(places.target(one.start, one.end), one) for one in elements]
    order = sorted(range(len(targets)), key=lambda n: (targets[n][0][0], n))
    made, at = [], start
    for number in order:
        (first, last), one = targets[number]
        first = min(max(first, at), end)
        last = min(max(last, first), end)
        made += [html.escape(text[at:first], quote=False), one.opening]
        made += [_laid(one.inner, text, first, last, places), one.closing]
        at = last
    return "".join((*made, html.escape(text[at:end], quote=False)))


class _Places:
    """Where the words of a text and of its translation are, and which belong together."""

    def __init__(self, source: str, translation: Linked) -> None:
        self.length = len(source)
        self.text = translation.text
        self.source = _spans(source, translation.source_words)
        self.words = _spans(translation.text, translation.words)
        self.links: dict[int, list[int]] = {}
        for one, other in translation.alignment:
            self.links.setdefault(one, []).append(other)

    def target(self, start: int, end: int) -> tuple[int, int]:
        """The place in the translation of a place in the source."""
        if start == end:
            return (self._after(start),) * 2
        inside = [n for n, (a, b) in enumerate(self.source) if a < end and b > start]
        linked = sorted({word for n in inside for word in self.links.get(n, ())})
        if not linked:
            return self._share(start), self._share(end)
        first, last = _longest_run(linked)
        return self.words[first][0], self.words[last][1]

    def _after(self, place: int) -> int:
        """Behind what is linked to the last word before a place."""
        before = [n for n, (_, b) in enumerate(self.source) if b <= place]
        if not before:
            return 0
        linked = self.links.get(before[-1])
        return self.words[max(linked)][1] if linked else self._share(place)

    def _share(self, place: int) -> int:
        """The end of the word that is as far into the translation, where no link tells more."""
        aim = place / max(1, self.length) * len(self.text)
        ends = (0, *(end for _, end in self.words))
        return min(ends, key=lambda end: abs(end - aim))


def _longest_run(numbers: Sequence[int]) -> tuple[int, int]:
    """First and last of the longest run of words, in which one may be missing.

    >>> _longest_run([2, 3, 5, 9])
    (2, 5)
    """
    runs = [[numbers[0], numbers[0]]]
    for number in numbers[1:]:
        if number - runs[-1][1] <= 2:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    first, last = max(runs, key=lambda run: run[1] - run[0])
    return first, last


def _spans(text: str, words: Sequence[str]) -> list[tuple[int, int]]:
    """The places of words, one after another."""
    spans, at = [], 0
    for word in words:
        found = text.find(word, at)
        start = at if found < 0 else found
        at = start if found < 0 else start + len(word)
        spans.append((start, at))
    return spans
