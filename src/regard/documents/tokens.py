"""HTML cut into tokens the way browsers cut it; every token keeps its text, none is lost.

    "".join(token.raw for token in tokens(source)) == source

The rules are those of the HTML standard's tokenisation. A few depend on the tree that a browser
builds meanwhile: what is a script's text, and what is inside a drawing or a formula. Where that
cannot be told from the tags alone, all that follows is one token, `rest`, to be left alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal, NamedTuple

from regard.documents.foreign import Foreign

Kind = Literal["text", "raw", "start", "end", "aside", "rest"]
"""text: with character references; raw: without, or left alone; aside: a comment or the like;
rest: all that follows, since a browser drops it, or since its meaning cannot be told."""

RAW = frozenset({
    "script", "style", "xmp", "iframe", "noembed", "noframes", "noscript", "plaintext", "textarea",
})  # fmt: skip
TITLE = "title"  # as a textarea, without tags, but with character references
_SPACE = "\t\n\f\r "
_MARKUP = re.compile(r"<(?:[A-Za-z!?]|/(?=.))", re.DOTALL)
_NAME = re.compile(rf"[^{_SPACE}/>]+")
_BETWEEN = re.compile(rf"[{_SPACE}/]*")
_ATTRIBUTE = re.compile(rf"[^{_SPACE}/>][^{_SPACE}/>=]*")
_EQUALS = re.compile(rf"[{_SPACE}]*=[{_SPACE}]*")
_UNQUOTED = re.compile(rf"[^{_SPACE}>]*")
_COMMENT_END = re.compile(r"--!?>")
_SCRIPT_TURN = re.compile(rf"<!--|-->|<(/?)script(?=[{_SPACE}/>])", re.ASCII | re.IGNORECASE)
_ENDS = {
    name: re.compile(rf"</{name}(?=[{_SPACE}/>])", re.ASCII | re.IGNORECASE)
    for name in RAW | {TITLE}
}


class Value(NamedTuple):
    """Where an attribute's value is in its tag, quotes left out.

    quote  the quotes around it, if there are any
    """

    name: str
    start: int
    end: int
    quote: str


class Token(NamedTuple):
    """A piece of HTML.

    values    of a start tag, the attributes with a value; of two with one name, the first
    foreign   whether it is of a drawing or a formula (svg, math)
    inside    how many elements of those are open after it
    """

    kind: Kind
    raw: str
    name: str = ""
    values: tuple[Value, ...] = ()
    closes_itself: bool = False
    foreign: bool = False
    inside: int = 0

    def value(self, name: str) -> str:
        """An attribute as it is written, in lower case."""
        return next((self.raw[a:b].lower() for key, a, b, _ in self.values if key == name), "")


def tokens(source: str) -> Iterator[Token]:
    """All tokens of a page, or of a part of one.

    >>> [token.raw for token in tokens("<p>a < b<!-->c</p >")]
    ['<p>', 'a < b', '<!-->', 'c', '</p >']
    """
    at, foreign = 0, Foreign()
    while at < len(source):
        token = _token(source, at, foreign.cdata)
        before = len(foreign)
        html = foreign.html
        if token.kind == "start":
            known = foreign.start(token.name, token.closes_itself)
        else:
            known = token.kind != "end" or foreign.end(token.name)
        if not known:
            yield Token("rest", source[at:])
            return
        inside = len(foreign)
        of_it = bool(before or inside) or (token.kind == "start" and token.name in ("svg", "math"))
        yield token._replace(foreign=of_it, inside=inside)
        at += len(token.raw)
        if token.kind == "start" and html and (token.name in RAW or token.name == TITLE):
            end = _content_end(source, at, token.name)
            if end > at:
                kind: Kind = "text" if token.name == TITLE and end < len(source) else "raw"
                yield Token(kind, source[at:end], foreign=of_it, inside=inside)
            at = end


def _token(source: str, at: int, cdata: bool) -> Token:
    """The token that begins here, where text may be."""
    found = _MARKUP.search(source, at)
    if found is None or found.start() > at:
        return Token("text", source[at : found.start() if found else len(source)])
    mark = source[at + 1]
    if mark == "/" and source[at + 2] == ">":
        return Token("aside", "</>")
    if mark not in "/!?" or (mark == "/" and source[at + 2].isascii() and source[at + 2].isalpha()):
        return _tag(source, at)
    if source.startswith("<!--", at):
        end = _comment_end(source, at + 4)
    elif cdata and source.startswith("<![CDATA[", at):
        end = source.find("]]>", at) + 3
    else:
        end = source.find(">", at) + 1
    # Without an end it lasts to the page's, and whatever came after it would be in it.
    return Token("aside", source[at:end]) if end > at else Token("rest", source[at:])


def _comment_end(source: str, at: int) -> int:
    for abrupt in (">", "->"):
        if source.startswith(abrupt, at):
            return at + len(abrupt)
    found = _COMMENT_END.search(source, at)
    return found.end() if found else -1


def _tag(source: str, start: int) -> Token:
    """The tag that begins here."""
    kind: Kind = "end" if source[start + 1] == "/" else "start"
    name = _NAME.match(source, start + (2 if kind == "end" else 1))
    assert name is not None  # a letter is there
    values: dict[str, Value] = {}
    at = name.end()
    while True:
        gap, at = at, _past(_BETWEEN, source, at)
        if at >= len(source):
            return Token("rest", source[start:])
        if source[at] == ">":
            raw = source[start : at + 1]
            own = () if kind == "end" else tuple(one for one in values.values() if one.start)
            closes = source.endswith("/", gap, at)  # a slash of a value's own is before the gap
            return Token(kind, raw, _lower(name[0]), own, closes)
        at = _attribute(source, at, start, values)


def _attribute(source: str, at: int, tag: int, values: dict[str, Value]) -> int:
    """Put down the attribute that begins here; returns its end."""
    name = _ATTRIBUTE.match(source, at)
    assert name is not None  # neither space nor the tag's end is here
    key = _lower(name[0])
    equals = _EQUALS.match(source, name.end())
    if equals is None:
        values.setdefault(key, Value(key, 0, 0, ""))
        return name.end()
    start = equals.end()
    quote = source[start : start + 1]
    if quote in ('"', "'"):
        end = source.find(quote, start + 1)
        if end < 0:
            return len(source)
        values.setdefault(key, Value(key, start + 1 - tag, end - tag, quote))
        return end + 1
    end = _past(_UNQUOTED, source, start)
    values.setdefault(key, Value(key, start - tag, end - tag, ""))
    return end


def _past(pattern: re.Pattern[str], source: str, at: int) -> int:
    """The end of what matches here, if anything does."""
    found = pattern.match(source, at)
    return found.end() if found else at


def _content_end(source: str, at: int, name: str) -> int:
    """Where the end tag of an element begins in which there are no other tags."""
    if name == "plaintext":
        return len(source)
    if name == "script":
        return _script_end(source, at)
    found = _ENDS[name].search(source, at)
    return found.start() if found else len(source)


def _script_end(source: str, at: int) -> int:
    """Where a script's end tag begins.

    Behind `<!--`, up to `-->`, a script may have script tags of its own.
    """
    commented = doubled = False
    while (found := _SCRIPT_TURN.search(source, at)) is not None:
        at = found.end()
        if found[0] == "<!--":
            at -= 2  # its hyphens may be those of its end, as in <!-->
            commented = True
        elif found[0] == "-->":
            commented = doubled = False
        elif found[1]:
            if not doubled:
                return found.start()
            doubled = False
        else:
            doubled = commented
    return len(source)


def _lower(name: str) -> str:
    """A name in lower case, letters beyond ASCII left as they are.

    >>> _lower("Ⅷ" + "TITLE")
    'Ⅷtitle'
    """
    return name.lower() if name.isascii() else re.sub("[A-Z]+", lambda one: one[0].lower(), name)
