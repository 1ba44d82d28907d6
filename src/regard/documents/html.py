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
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from html.entities import html5

from regard.documents.blocks import Attribute, Block, Draft, Markup, Part, markup
from regard.documents.foreign import VOID
from regard.documents.laying import SMALL, rendered, written
from regard.documents.nesting import Nesting
from regard.documents.places import Linked
from regard.documents.tokens import RAW, Token, tokens
from regard.text import normalize

INLINE = frozenset({
    "a", "abbr", "acronym", "b", "bdi", "bdo", "big", "cite", "data", "del", "dfn", "em", "font",
    "i", "img", "input", "ins", "label", "mark", "q", "s", "small", "span", "strike", "strong",
    "sub", "sup", "time", "tt", "u", "wbr",
})  # fmt: skip
CODE = frozenset({"code", "kbd", "samp", "var"})
KEPT = CODE | RAW | {"pre", "listing", "template"}  # besides drawings and formulas
READ = frozenset({"alt", "title", "aria-label", "placeholder"})  # attributes that are prose
NAMED = frozenset({"link"})  # whose title is a name for programs
_REFERENCE = re.compile(r"&(?:#[0-9]+;?|#[xX][0-9A-Fa-f]+;?|[A-Za-z][A-Za-z0-9]*(?:;|(?!=)))")


@dataclass(frozen=True)
class Page:
    """Markup as it came, and blocks of text between it."""

    parts: tuple[Part, ...]

    @property
    def texts(self) -> list[str]:
        """What is to be translated."""
        return [one.text for one in _prose(self.parts)]

    def render(self, translations: Sequence[Linked]) -> str:
        """The page with translations of its texts."""
        found = dict(zip(_prose(self.parts), translations, strict=True))
        return "".join(
            rendered(part, found) if isinstance(part, Block) else written((part,), found)
            for part in self.parts
        )


def _prose(parts: Sequence[Part]) -> Iterator[Block | Attribute]:
    """All that is to be translated, in the page's order; of a block its text first."""
    for part in parts:
        if isinstance(part, Attribute):
            yield part
        elif isinstance(part, Block):
            yield part
            yield from (one for one in markup(part.inner) if isinstance(one, Attribute))


def parse(source: str) -> Page:
    """The blocks of an HTML page, or of a part of one."""
    items = list(_left_alone(_drawings(tokens(source))))
    parts: list[Part] = []
    draft = Draft()
    begun: dict[str, int] = {}  # where the last element of a name that may be a footnote began
    for number, item in enumerate(items):
        if isinstance(item, Token) and item.kind == "text":
            draft.text(html.unescape(item.raw))
        elif _is_block_level(item):
            parts += (*draft.finish(), *_tag(item))
            draft = Draft()
        elif isinstance(item, Token) and item.kind == "end":
            following = items[number + 1].raw[:1] if number + 1 < len(items) else ""
            if item.name in SMALL and not following.isalnum() and draft.footnote(item.name):
                draft.replace("".join(one.raw for one in items[begun[item.name] : number + 1]))
            else:
                draft.end(item.name, item.raw)
        elif isinstance(item, Token) and item.kind == "start" and item.name not in VOID:
            begun[item.name] = number
            draft.begin(item.name, _tag(item))
        else:
            draft.point(*_tag(item))
    return Page((*parts, *draft.finish()))


@dataclass(frozen=True)
class _Kept:
    """Tokens that are left alone; inline, if they are an element that may stand in a sentence."""

    raw: str
    inline: bool


_Item = Token | _Kept


def _is_block_level(item: _Item) -> bool:
    if isinstance(item, _Kept):
        return not item.inline
    return item.kind != "aside" and item.name not in INLINE


def _drawings(found: Iterable[Token]) -> Iterator[_Item]:
    """Tokens, those of a drawing or a formula joined."""
    own: list[str] = []
    for token in found:
        if not token.foreign:
            if own:
                yield _Kept("".join(own), inline=False)  # never closed
                own = []
            yield token
            continue
        own.append(token.raw)
        if not token.inside:
            yield _Kept("".join(own), inline=True)
            own = []
    if own:
        yield _Kept("".join(own), inline=False)


def _left_alone(items: Iterable[_Item]) -> Iterator[_Item]:
    """Tokens, those of an element that is left alone joined."""
    nesting = Nesting()
    own: list[str] = []
    name, depth = "", 0  # of the element that is left alone
    for item in items:
        stay = nesting.read(item) if isinstance(item, Token) else len(nesting)
        if own and stay > depth:
            own.append(item.raw)
            continue
        if own:
            closed = isinstance(item, Token) and (item.kind, item.name, stay) == (
                "end",
                name,
                depth,
            )
            yield _Kept(
                "".join((*own, item.raw if closed else "")), closed and name in CODE | INLINE
            )
            own = []
            if closed:
                continue
        if not isinstance(item, Token) or not _is_kept(item):
            yield item
        elif item.name in VOID:
            yield _Kept(item.raw, inline=item.name in INLINE)
        else:
            own, name, depth = [item.raw], item.name, stay
    if own:
        yield _Kept("".join(own), inline=False)


def _is_kept(token: Token) -> bool:
    own = token.name in KEPT or token.value("translate") == "no"
    return token.kind == "start" and own


def _tag(item: _Item) -> Markup:
    """A tag with its attributes that are prose taken out; of anything else, itself.

    >>> _tag(next(tokens('<img src=x alt="A cat">')))
    ('<img src=x alt=', Attribute(text='A cat', quote='"'), '>')
    """
    made: list[str | Attribute] = []
    at = 0
    values = item.values if isinstance(item, Token) and item.name not in NAMED else ()
    for name, start, end, quote in values:
        prose = normalize(_meant(item.raw[start:end])) if name in READ else ""
        if any(map(str.isalpha, prose)):
            made += [item.raw[at : start - len(quote)], Attribute(prose, quote or '"')]
            at = end + len(quote)
    return (*made, item.raw[at:])


def _meant(value: str) -> str:
    """An attribute's value without character references; an address may have what looks like one.

    >>> _meant("?a=1&copy=2 &amp; &copy 3")
    '?a=1&copy=2 & © 3'
    """

    def meant(found: re.Match[str]) -> str:
        own = found[0]
        return html.unescape(own) if own[1] == "#" or own[1:] in html5 else own

    return _REFERENCE.sub(meant, value)
