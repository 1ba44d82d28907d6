"""Plain text: each line is translated; indentation, line breaks and empty lines are kept."""

from __future__ import annotations

import re

from regard.documents.blocks import BlockBuilder, Part
from regard.documents.document import TextDocument

_LINE = re.compile(r"[^\r\n]+|[\r\n]+")


def parse_plain(source: str) -> TextDocument:
    """The lines of a text.

    >>> parse_plain("One:\\r\\n  two\\n").texts
    ['One:', 'two']
    """
    parts: list[Part] = []
    for match in _LINE.finditer(source):
        if match[0][0] in "\r\n":
            parts.append(match[0])
        else:
            builder = BlockBuilder()
            builder.text(match[0])
            parts += builder.finish()
    return TextDocument(tuple(parts))
