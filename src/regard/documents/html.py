"""HTML through a translator: text translated block by block, markup kept.

A block is the text between two block-level tags, with its inline tags. Its text is translated as
a whole; an inline element then encloses the words that its own words are linked to. Attributes
that people read (alt, title, …) are translated too; all other attributes, tags and comments come
out as they went in, text is escaped, and what is no prose (scripts, styles, code) is left alone.

    page = parse(source)
    page.render(translations of page.texts, with word links)
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from html.parser import HTMLParser

from regard.documents.places import Linked, Places
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
READ = frozenset({"alt", "title", "aria-label", "placeholder"})  # attributes that are prose
DEEPEST = 100
_NAME = re.compile(r"<[^\s/>]+")
_ATTRIBUTE = re.compile(
    r"""[\s/]*([^\s/>=]+)(?:\s*=\s*("[^"]*"|'[^']*'|[^\s>"'][^\s>]*))?""", re.DOTALL
)


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
    """

    opening: Markup
    start: int
    end: int
    name: str = ""
    closing: str = ""
    inner: list[Element] = field(default_factory=list)


@dataclass(eq=False)
class Block:
    """A stretch of text and the inline elements in it."""

    text: str = ""
    before: str = ""
    after: str = ""
    inner: list[Element] = field(default_factory=list)


Prose = Block | Attribute
Found = dict[Prose, Linked]


@dataclass(frozen=True)
class Page:
    """Markup as it came, and blocks of text between it."""

    parts: tuple[str | Attribute | Block, ...]

    @property
    def texts(self) -> list[str]:
        """What is to be translated."""
        return [one.text for one in _prose(self.parts)]

    def render(self, translations: Sequence[Linked]) -> str:
        """The page with translations of its texts."""
        found = dict(zip(_prose(self.parts), translations, strict=True))
        return "".join(
            _rendered(part, found) if isinstance(part, Block) else _written((part,), found)
            for part in self.parts
        )


def _prose(parts: Sequence[str | Attribute | Block]) -> Iterator[Prose]:
    """All that is to be translated, in the page's order; of a block its text first."""
    for part in parts:
        if isinstance(part, Attribute):
            yield part
        elif isinstance(part, Block):
            yield part
            yield from (one for one in _markup(part.inner) if isinstance(one, Attribute))


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
        self.parts: list[str | Attribute | Block] = []
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
            self._point(*_tag(text, attrs))
        elif tag in INLINE:
            at = len(self.block.text)
            self._begin(Element(_tag(text, attrs), at, at, tag))
        else:
            self.markup(*_tag(text, attrs))

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        text = self.get_starttag_text() or ""
        if self.kept:
            self.raw += text
            return
        own = _tag(text, [] if tag in KEPT or ("translate", "no") in attrs else attrs)
        if tag in INLINE:
            self._point(*own)
        else:
            self.markup(*own)

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
        if not block.text and block.inner:
            self._point(lead)
        elif not block.text:
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

    def markup(self, *own: str | Attribute) -> None:
        """A block-level tag: what stood before it is a block."""
        self.end_block()
        self.parts += own

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
            self.parts += [block.before, *_markup(block.inner)]

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

    def _point(self, *own: str | Attribute) -> None:
        """A tag, a comment or something left alone, at this place."""
        at = len(self.block.text)
        space = (" ",) if self.block.text.endswith(" ") else ()
        one = Element((*space, *own), at, at)
        (self.open[-1].inner if self.open else self.block.inner).append(one)
        self.raw = ""


def _tag(text: str, attributes: Sequence[tuple[str, str | None]]) -> Markup:
    """A tag with its attributes that are prose taken out; `attributes` are all, as they mean.

    >>> _tag('<img src=x alt="A cat">', [("src", "x"), ("alt", "A cat")])
    ('<img src=x alt=', Attribute(text='A cat', quote='"'), '>')
    """
    means = dict(reversed(attributes))  # of two with one name, the first counts
    name = _NAME.match(text)
    if name is None or READ.isdisjoint(means):
        return (text,)
    made: list[str | Attribute] = []
    at, place = 0, name.end()
    while (found := _ATTRIBUTE.match(text, place)) is not None:
        place, key, value = found.end(), found[1].lower(), found[2] or ""
        quote = value[0] if value[:1] in ("'", '"') else ""
        meant = html.unescape(value[1:-1] if quote else value)
        prose = normalise(meant)
        if key in READ and means.pop(key, None) == meant and any(map(str.isalpha, prose)):
            made += [text[at : found.start(2)], Attribute(prose, quote or '"')]
            at = place
    return (*made, text[at:])


def _markup(elements: Sequence[Element]) -> Iterator[str | Attribute]:
    for one in elements:
        yield from one.opening
        yield from _markup(one.inner)
        yield one.closing


def _written(markup: Sequence[str | Attribute], found: Found) -> str:
    """Markup with its attributes translated."""
    made = []
    for part in markup:
        if isinstance(part, Attribute):
            text = html.escape(found[part].text, quote=False)
            escaped = text.replace(part.quote, "&quot;" if part.quote == '"' else "&#x27;")
            made += [part.quote, escaped, part.quote]
        else:
            made.append(part)
    return "".join(made)


def _rendered(block: Block, found: Found) -> str:
    translation = found[block]
    text = translation.text
    laid = _laid(block.inner, text, 0, len(text), Places(block.text, translation), found)
    return block.before + laid + block.after


def _laid(
    elements: Sequence[Element], text: str, start: int, end: int, places: Places, found: Found
) -> str:
    """The text from start to end with the elements around the words that theirs are linked to."""
    targets = [(places.target(one.start, one.end), one) for one in elements]
    order = sorted(range(len(targets)), key=lambda n: (targets[n][0][0], n))
    made, at = [], start
    for number in order:
        (first, last), one = targets[number]
        first = min(max(first, at), end)
        last = min(max(last, first), end)
        made += [html.escape(text[at:first], quote=False), _written(one.opening, found)]
        made += [_laid(one.inner, text, first, last, places, found), one.closing]
        at = last
    return "".join((*made, html.escape(text[at:end], quote=False)))
