"""Text of strings and subtitles: lines, with inline tags such as `<b>…</b>` and `<0/>`."""

from __future__ import annotations

import html
import re
from functools import partial

from regard.documents.blocks import PLAIN, BlockBuilder, Part, Syntax
from regard.documents.references import unescape

LINE_BREAK = re.compile(r"(\r\n|\r|\n)")
_TAG = re.compile(r"<(/?)([A-Za-z0-9][\w.:-]*+)((?:[\s=/][^<>]*+)?)>|<!--")
_REFERENCE = re.compile(r"&(?:#[0-9]{1,7}|#[xX][0-9A-Fa-f]{1,6}|amp|lt|gt|quot|apos|nbsp);")
_ADDRESS = re.compile(r"(?:[a-z][a-z0-9+.-]*://\S+|mailto:\S+|[\w.+-]+@[\w-]+\.[\w.-]+)", re.I)
VOID = frozenset({"br", "hr", "img", "wbr"})
ESCAPED = Syntax(partial(html.escape, quote=False))


def text_lines(text: str) -> list[Part]:
    """The parts of a text whose lines are translated each by itself.

    Text with character references (`&amp;`) is HTML; they are decoded. A web or mail address alone
    is not translated.

    >>> [part if isinstance(part, str) else part.text for part in text_lines("One <b>two</b>\\n 3")]
    ['One two', '\\n', ' 3']
    """
    pieces = LINE_BREAK.split(text)
    if _ADDRESS.fullmatch(text.strip()):
        return [text]
    escaped = bool(_REFERENCE.search(text))
    parts: list[Part] = []
    for line, end in zip(pieces[::2], (*pieces[1::2], ""), strict=True):
        parts += (*tagged_line(line, escaped), end)
    return [part for part in parts if part != ""]


def tagged_line(line: str, escaped: bool, syntax: Syntax | None = None) -> tuple[Part, ...]:
    """The parts of one line: its block with the tags in it.

    escaped  whether `&amp;` and the like stand for characters
    """
    builder = BlockBuilder(syntax or (ESCAPED if escaped else PLAIN))
    add_tagged(builder, line, escaped)
    return tuple(builder.finish())


def add_tagged(builder: BlockBuilder, text: str, escaped: bool) -> None:
    """Add text with tags to a block."""
    position = 0
    last_end = text.rfind("-->")
    for match in _TAG.finditer(text):
        start, end = match.span()
        if start < position:  # inside of a comment
            continue
        if not match[2]:
            if end > last_end:  # a comment that is not closed is text
                continue
            end = text.find("-->", end) + 3
        _add_text(builder, text[position:start], escaped)
        position = end
        name = (match[2] or "").lower()
        if not name or name in VOID or match[3].endswith("/"):
            builder.point(text[start:end])
        elif match[1]:
            builder.end(name, match[0])
        else:
            builder.begin(name, (match[0],))
    _add_text(builder, text[position:], escaped)


def _add_text(builder: BlockBuilder, raw: str, escaped: bool) -> None:
    if raw:
        builder.text(unescape(raw) if escaped else raw, raw)
