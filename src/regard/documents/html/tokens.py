"""An HTML tokenizer that keeps every character:

    "".join(token.raw for token in tokens(source)) == source

The rules are those of the HTML standard. A few depend on the tree that a browser builds: the
extent of a script's text and of foreign content (svg, math). Where the tags alone do not decide,
the remaining page is one token, `rest`, which is not translated.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal, NamedTuple

from regard.documents.html.foreign_content import ForeignContent

Kind = Literal["text", "raw", "start", "end", "comment", "rest"]
"""text: with character references; raw: without, or not translated; comment: or the like;
rest: the remaining page, which a browser drops or whose meaning is ambiguous."""

RAW = frozenset(
    {
        "script",
        "style",
        "xmp",
        "iframe",
        "noembed",
        "noframes",
        "noscript",
        "plaintext",
        "textarea",
    }
)
TITLE = "title"  # has no tags inside, but character references
_SPACE = "\t\n\f\r "
_MARKUP = re.compile(r"<(?:[A-Za-z!?]|/(?=.))", re.DOTALL)
_NAME = re.compile(rf"[^{_SPACE}/>]+")
_BETWEEN = re.compile(rf"[{_SPACE}/]*")
_ATTRIBUTE = re.compile(rf"[^{_SPACE}/>][^{_SPACE}/>=]*")
_EQUALS = re.compile(rf"[{_SPACE}]*=[{_SPACE}]*")
_UNQUOTED = re.compile(rf"[^{_SPACE}>]*")
_COMMENT_END = re.compile(r"--!?>")
_SCRIPT_MARKUP = re.compile(rf"<!--|-->|<(/?)script(?=[{_SPACE}/>])", re.ASCII | re.IGNORECASE)
_ENDS = {
    name: re.compile(rf"</{name}(?=[{_SPACE}/>])", re.ASCII | re.IGNORECASE)
    for name in RAW | {TITLE}
}


class AttributeValue(NamedTuple):
    """The span of an attribute's value in its tag, without the quotes around it."""

    name: str
    start: int
    end: int
    quote: str


class Token(NamedTuple):
    """A piece of HTML.

    values   the attributes of a start tag that have a value; of two with one name, the first
    foreign  whether it belongs to foreign content (svg, math)
    depth    how many elements of foreign content are open after it
    """

    kind: Kind
    raw: str
    name: str = ""
    values: tuple[AttributeValue, ...] = ()
    self_closing: bool = False
    foreign: bool = False
    depth: int = 0

    def value(self, name: str) -> str:
        """An attribute's value, in lower case; empty if there is none."""
        return next((self.raw[a:b].lower() for key, a, b, _ in self.values if key == name), "")


def tokens(source: str) -> Iterator[Token]:
    """All tokens of a page, or of a part of one.

    >>> [token.raw for token in tokens("<p>a < b<!-->c</p >")]
    ['<p>', 'a < b', '<!-->', 'c', '</p >']
    """
    position, foreign = 0, ForeignContent()
    while position < len(source):
        token = _token(source, position, foreign.cdata)
        depth_before, is_html = len(foreign), foreign.html
        if token.kind == "start":
            clear = foreign.start(token.name, token.self_closing)
        else:
            clear = token.kind != "end" or foreign.end(token.name)
        if not clear:
            yield Token("rest", source[position:])
            return
        depth = len(foreign)
        root = token.kind == "start" and token.name in ("svg", "math")
        in_foreign = bool(depth_before or depth) or root
        yield token._replace(foreign=in_foreign, depth=depth)
        position += len(token.raw)
        if token.kind == "start" and is_html and (token.name in RAW or token.name == TITLE):
            end = _content_end(source, position, token.name)
            if end > position:
                kind: Kind = "text" if token.name == TITLE and end < len(source) else "raw"
                yield Token(kind, source[position:end], foreign=in_foreign, depth=depth)
            position = end


def _token(source: str, at: int, cdata: bool) -> Token:
    """The token that begins at a position outside of raw text."""
    match = _MARKUP.search(source, at)
    if match is None or match.start() > at:
        return Token("text", source[at : match.start() if match else len(source)])
    mark = source[at + 1]
    if mark == "/" and source[at + 2] == ">":
        return Token("comment", "</>")
    if mark not in "/!?" or (mark == "/" and source[at + 2].isascii() and source[at + 2].isalpha()):
        return _tag(source, at)
    if source.startswith("<!--", at):
        end = _comment_end(source, at + 4)
    elif cdata and source.startswith("<![CDATA[", at):
        end = source.find("]]>", at) + 3
    else:
        end = source.find(">", at) + 1
    # Without an end it includes the remaining page.
    return Token("comment", source[at:end]) if end > at else Token("rest", source[at:])


def _comment_end(source: str, at: int) -> int:
    for abrupt in (">", "->"):
        if source.startswith(abrupt, at):
            return at + len(abrupt)
    match = _COMMENT_END.search(source, at)
    return match.end() if match else -1


def _tag(source: str, start: int) -> Token:
    """The tag that begins at a position."""
    kind: Kind = "end" if source[start + 1] == "/" else "start"
    name = _NAME.match(source, start + (2 if kind == "end" else 1))
    assert name is not None  # the caller saw a letter
    values: dict[str, AttributeValue] = {}
    at = name.end()
    while True:
        gap, at = at, _past(_BETWEEN, source, at)
        if at >= len(source):
            return Token("rest", source[start:])
        if source[at] == ">":
            raw = source[start : at + 1]
            attributes = () if kind == "end" else tuple(v for v in values.values() if v.start)
            self_closing = source.endswith("/", gap, at)  # a value's own slash is before the gap
            return Token(kind, raw, _lower(name[0]), attributes, self_closing)
        at = _attribute(source, at, start, values)


def _attribute(source: str, at: int, tag: int, values: dict[str, AttributeValue]) -> int:
    """Add the attribute that begins at a position; returns its end."""
    name = _ATTRIBUTE.match(source, at)
    assert name is not None  # the caller saw neither space nor the tag's end
    key = _lower(name[0])
    equals = _EQUALS.match(source, name.end())
    if equals is None:
        values.setdefault(key, AttributeValue(key, 0, 0, ""))
        return name.end()
    start = equals.end()
    quote = source[start : start + 1]
    if quote in ('"', "'"):
        end = source.find(quote, start + 1)
        if end < 0:
            return len(source)
        values.setdefault(key, AttributeValue(key, start + 1 - tag, end - tag, quote))
        return end + 1
    end = _past(_UNQUOTED, source, start)
    values.setdefault(key, AttributeValue(key, start - tag, end - tag, ""))
    return end


def _past(pattern: re.Pattern[str], source: str, at: int) -> int:
    """The end of the match at a position, or the position itself."""
    match = pattern.match(source, at)
    return match.end() if match else at


def _content_end(source: str, at: int, name: str) -> int:
    """The start of the end tag of an element that contains no tags."""
    if name == "plaintext":
        return len(source)
    if name == "script":
        return _script_end(source, at)
    match = _ENDS[name].search(source, at)
    return match.start() if match else len(source)


def _script_end(source: str, at: int) -> int:
    """The start of a script's end tag; between `<!--` and `-->` a script may have script tags."""
    commented = nested = False
    while (match := _SCRIPT_MARKUP.search(source, at)) is not None:
        at = match.end()
        if match[0] == "<!--":
            at -= 2  # its hyphens may also end it, as in <!-->
            commented = True
        elif match[0] == "-->":
            commented = nested = False
        elif match[1]:
            if not nested:
                return match.start()
            nested = False
        else:
            nested = commented
    return len(source)


def _lower(name: str) -> str:
    """A name with its ASCII letters in lower case.

    >>> _lower("Ⅷ" + "TITLE")
    'Ⅷtitle'
    """
    return (
        name.lower() if name.isascii() else re.sub("[A-Z]+", lambda match: match[0].lower(), name)
    )
