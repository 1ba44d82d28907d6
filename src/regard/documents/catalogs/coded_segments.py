"""Segments of XLIFF and TMX: their text with its inline codes, and edits of the XML around it.

Pairs of codes (`<bpt>…</bpt> … <ept>…</ept>`, `<bx/> … <ex/>`, `<sc/> … <ec/>`) enclose words as
`<g>` and `<pc>` do; codes that stand by themselves (`<x/>`, `<ph>…</ph>`) keep their place.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from regard.documents.blocks import BlockBuilder, Part, Syntax
from regard.documents.document import TextDocument
from regard.documents.xml_tokens import XmlToken, escape_xml, text_pieces

SYNTAX = Syntax(escape_xml)
CODES = frozenset({"bpt", "ept", "ph", "it", "ut", "x", "bx", "ex", "sc", "ec", "sm", "em", "cp"})
_OPENING = frozenset({"bpt", "bx", "sc", "sm"})
_CLOSING = frozenset({"ept", "ex", "ec", "em"})
_PAIR_KEYS = ("startRef", "rid", "i", "id")


def segment_parts(tokens: Sequence[XmlToken], preserve: bool) -> tuple[Part, ...]:
    """The parts of a segment.

    preserve  whether line breaks mean something (xml:space), so that lines are translated each
    """
    parts: list[Part] = []
    builder = BlockBuilder(SYNTAX)
    for token, raw in _joined_codes(tokens):
        if token.kind in ("text", "cdata"):
            lines = re.split(r"(\r\n|\r|\n)", raw) if preserve and token.kind == "text" else [raw]
            for number, line in enumerate(lines):
                if number % 2:
                    parts += (*builder.finish(), line)
                    builder = BlockBuilder(SYNTAX)
                else:
                    _add_text(builder, line, token.kind == "cdata")
        elif token.name in _OPENING:
            builder.begin(_pair_name(token), (raw,))
        elif token.name in _CLOSING:
            builder.end(_pair_name(token), raw)
        elif token.kind == "start" and token.name not in CODES:
            builder.begin(token.name, (raw,))
        elif token.kind == "end":
            builder.end(token.name, raw)
        else:
            builder.point(raw)
    return (*parts, *builder.finish())


def _add_text(builder: BlockBuilder, raw: str, cdata: bool) -> None:
    if cdata:
        builder.text(raw[len("<![CDATA[") : -len("]]>")], raw)
        return
    for text, piece in text_pieces(raw):
        if text:
            builder.text(text, piece)
        else:
            builder.point(piece)  # an entity that only the document type defines


def _joined_codes(tokens: Sequence[XmlToken]) -> Iterator[tuple[XmlToken, str]]:
    """Tokens with their text; those of an element with native code joined into one."""
    opened, depth = None, 0
    pieces: list[str] = []
    for token in tokens:
        if opened is None and token.kind == "start" and token.name in CODES:
            opened, depth, pieces = token, 1, [token.raw]
        elif opened is None:
            yield token, token.raw
        else:
            pieces.append(token.raw)
            depth += (token.kind == "start") - (token.kind == "end")
            if not depth:
                yield opened, "".join(pieces)
                opened = None


def _pair_name(token: XmlToken) -> str:
    """One name for both codes of a pair."""
    kind = "sm" if token.name in ("sm", "em") else "code"
    return f"{kind} {next((value for key in _PAIR_KEYS if (value := token.get(key))), '')}"


def set_attribute(token: XmlToken, name: str, value: str) -> str:
    """The tag with an attribute set; everything else in it stays.

    >>> from regard.documents.xml_tokens import xml_tokens
    >>> set_attribute(next(xml_tokens("<a b='c'  d='e'/>")), "d", "f")
    "<a b='c'  d='f'/>"
    """
    for key, start, end in token.attributes:
        if key == name:
            return token.raw[:start] + value + token.raw[end:]
    end = len(token.raw) - (2 if token.kind == "empty" else 1)
    end = len(token.raw[:end].rstrip())
    return f'{token.raw[:end]} {name}="{value}"{token.raw[end:]}'


@dataclass
class Edits:
    """Replacements of spans of a text."""

    source: str
    spans: list[tuple[int, int, tuple[Part, ...]]] = field(default_factory=list)

    def replace(self, start: int, end: int, *parts: Part) -> None:
        """Put parts in the place of a span, or between characters if it is empty."""
        self.spans.append((start, end, parts))

    def document(self) -> TextDocument:
        """The text with all replacements."""
        parts: list[Part] = []
        done = 0
        for start, end, new in sorted(self.spans, key=lambda span: span[:2]):
            parts += (self.source[done:start], *new)
            done = end
        return TextDocument((*parts, self.source[done:]))


def line_lead(source: str, position: int) -> str:
    """The line break and indentation before a position; empty if something else stands there."""
    start = position
    while start and source[start - 1] in " \t":
        start -= 1
    if start and source[start - 1] == "\n":
        start -= 1
        start -= source[start - 1 : start] == "\r"
        return source[start:position]
    return ""


def prefix(token: XmlToken) -> str:
    """The prefix of a tag's name, with its colon."""
    name = token.raw[1 : token.raw.index(token.name, 1)]
    return name.lstrip("/")


def raw_text(tokens: Iterable[XmlToken]) -> str:
    """The text of tokens, as it stands."""
    return "".join(token.raw for token in tokens)
