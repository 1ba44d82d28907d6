"""Plain text: each line is translated; indentation, line breaks and empty lines are kept."""

from __future__ import annotations

import re

from regard.documents.blocks import BlockBuilder, Part
from regard.documents.document import TextDocument

_LINE = re.compile("([\r\n\v\f\x1c-\x1e\x85\u2028\u2029]+)")  # whatever ends a line


def parse_plain(source: str) -> TextDocument:
    """The lines of a text.

    >>> parse_plain("One:\\r\\n  two\\n").texts
    ['One:', 'two']
    """
    parts: list[Part] = []
    for number, piece in enumerate(_LINE.split(source)):
        if number % 2:
            parts.append(piece)
        elif piece:
            builder = BlockBuilder()
            builder.text(piece)
            parts += builder.finish()
    return TextDocument(tuple(parts))
