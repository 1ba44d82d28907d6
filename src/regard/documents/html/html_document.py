"""HTML translation: text is translated block by block, markup is kept.

A block is the text between two block-level tags, with its inline tags. Its text is translated as
a whole; an inline element then encloses the words that its own words are linked to. Attributes
with prose (alt, title, …) are translated too; all other attributes, tags and comments stay
verbatim, text is escaped, and scripts, styles and code are not translated.

    page = parse_html(source)
    page.render(translations of page.texts, with word links)
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from html.entities import html5

from regard.documents.blocks import Block, BlockBuilder, Markup, Part, Syntax, Value, code_text
from regard.documents.document import TextDocument
from regard.documents.html.foreign_content import VOID
from regard.documents.html.open_elements import OpenElements
from regard.documents.html.tokens import RAW, Token, tokens
from regard.documents.references import unescape
from regard.documents.render import SMALL
from regard.text import normalize

INLINE = frozenset(
    {
        "a",
        "abbr",
        "acronym",
        "b",
        "bdi",
        "bdo",
        "big",
        "cite",
        "data",
        "del",
        "dfn",
        "em",
        "font",
        "i",
        "img",
        "input",
        "ins",
        "label",
        "mark",
        "q",
        "s",
        "small",
        "span",
        "strike",
        "strong",
        "sub",
        "sup",
        "time",
        "tt",
        "u",
        "wbr",
    }
)
CODE = frozenset({"code", "kbd", "samp", "var"})
UNTRANSLATED = CODE | RAW | {"pre", "listing", "template"}  # besides foreign content
PROSE_ATTRIBUTES = frozenset({"alt", "title", "aria-label", "placeholder"})
NO_PROSE = frozenset({"link"})  # whose title is an identifier
_TAG = re.compile(r"<[^<>]*+>")
_REFERENCE = re.compile(r"&(?:#[0-9]+;?|#[xX][0-9A-Fa-f]+;?|[A-Za-z][A-Za-z0-9]*(?:;|(?!=)))")


SYNTAX = Syntax(partial(html.escape, quote=False))


def parse_html(source: str) -> TextDocument:
    """The blocks of an HTML page, or of a part of one."""
    items = list(_join_untranslated(_join_foreign(tokens(source))))
    parts: list[Part] = []
    block = BlockBuilder(SYNTAX)
    begun: dict[str, int] = {}  # index of the last start tag of each name
    for number, item in enumerate(items):
        if isinstance(item, Token) and item.kind == "text":
            block.text(unescape(item.raw), item.raw)
        elif _is_block_level(item):
            parts += (*block.finish(), *_tag(item))
            block = BlockBuilder(SYNTAX)
        elif isinstance(item, Token) and item.kind == "end":
            following = items[number + 1].raw[:1] if number + 1 < len(items) else ""
            if item.name in SMALL and not following.isalnum() and block.is_footnote(item.name):
                footnote = items[begun[item.name] : number + 1]
                block.replace("".join(part.raw for part in footnote), item.raw)
            else:
                block.end(item.name, item.raw)
        elif isinstance(item, Token) and item.kind == "start" and item.name not in VOID:
            begun[item.name] = number
            block.begin(item.name, _tag(item))
        elif isinstance(item, _Untranslated):
            block.verbatim(code_text(unescape(without_markup(item.raw))), item.raw)
        else:
            block.point(*_tag(item))
    return TextDocument((*parts, *block.finish()))


@dataclass(frozen=True)
class _Untranslated:
    """Tokens that are not translated; inline, if they are an element that fits in a sentence."""

    raw: str
    inline: bool


_Item = Token | _Untranslated


def _is_block_level(item: _Item) -> bool:
    if isinstance(item, _Untranslated):
        return not item.inline
    return item.kind != "comment" and item.name not in INLINE


def _join_foreign(page: Iterable[Token]) -> Iterator[_Item]:
    """Tokens, those of a foreign element (svg, math) joined."""
    foreign: list[str] = []
    for token in page:
        if not token.foreign:
            if foreign:
                yield _Untranslated("".join(foreign), inline=False)  # never closed
                foreign = []
            yield token
            continue
        foreign.append(token.raw)
        if not token.depth:
            yield _Untranslated("".join(foreign), inline=True)
            foreign = []
    if foreign:
        yield _Untranslated("".join(foreign), inline=False)


def _join_untranslated(items: Iterable[_Item]) -> Iterator[_Item]:
    """Tokens, those of an element that is not translated joined."""
    elements = OpenElements()
    joined: list[str] = []
    name, depth = "", 0  # of the element that is being joined
    for item in items:
        open_depth = elements.read(item) if isinstance(item, Token) else len(elements)
        if joined and open_depth > depth:
            joined.append(item.raw)
            continue
        if joined:
            end = ("end", name, depth)
            closed = isinstance(item, Token) and (item.kind, item.name, open_depth) == end
            raw = "".join((*joined, item.raw if closed else ""))
            yield _Untranslated(raw, closed and name in CODE | INLINE)
            joined = []
            if closed:
                continue
        if not isinstance(item, Token) or not _is_untranslated(item):
            yield item
        elif item.name in VOID:
            yield _Untranslated(item.raw, inline=item.name in INLINE)
        else:
            joined, name, depth = [item.raw], item.name, open_depth
    if joined:
        yield _Untranslated("".join(joined), inline=False)


def _is_untranslated(token: Token) -> bool:
    marked = token.name in UNTRANSLATED or token.value("translate") == "no"
    return token.kind == "start" and marked


def without_markup(raw: str) -> str:
    """HTML without its tags and comments; a comment that is not closed is like a tag.

    >>> without_markup("a<!-- > -->b<c d>e < f <!-- g> h")
    'abe < f  h'
    """
    pieces: list[str] = []
    last_end = raw.rfind("-->")
    done = at = 0
    while (at := raw.find("<", at)) >= 0:
        if raw.startswith("<!--", at) and at + 4 <= last_end:
            end = raw.find("-->", at + 4) + 3
        else:
            tag = _TAG.match(raw, at)
            end = tag.end() if tag else 0
        if end:
            pieces.append(raw[done:at])
            done = end
        at = end or at + 1
    return "".join((*pieces, raw[done:]))


def _tag(item: _Item) -> Markup:
    """A tag with its prose attributes taken out; anything else verbatim.

    >>> [part if isinstance(part, str) else part.raw
    ...  for part in _tag(next(tokens('<img src=x alt="A cat">')))]
    ['<img src=x alt=', '"A cat"', '>']
    """
    parts: list[Part] = []
    done = 0
    values = item.values if isinstance(item, Token) and item.name not in NO_PROSE else ()
    for name, start, end, quote in values:
        prose = normalize(_unescape(item.raw[start:end])) if name in PROSE_ATTRIBUTES else ""
        if any(map(str.isalpha, prose)):
            first, last = start - len(quote), end + len(quote)
            parts += [item.raw[done:first], _attribute(prose, item.raw[first:last], quote)]
            done = last
    return (*parts, item.raw[done:])


def _attribute(prose: str, raw: str, quote: str) -> Value:
    block = Block(prose, "", "", (), prose, SYNTAX)
    return Value((block,), raw, partial(_quoted, quote or '"'))


def _quoted(quote: str, value: str) -> str:
    inside = value.replace(quote, "&quot;" if quote == '"' else "&#x27;")
    return quote + inside + quote


def _unescape(value: str) -> str:
    """An attribute's value without character references; `&copy=` in an address is not one.

    >>> _unescape("?a=1&copy=2 &amp; &copy 3")
    '?a=1&copy=2 & © 3'
    """

    def decoded(match: re.Match[str]) -> str:
        reference = match[0]
        known = reference[1] == "#" or reference[1:] in html5
        return unescape(reference) if known else reference

    return _REFERENCE.sub(decoded, value)
