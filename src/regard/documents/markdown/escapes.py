"""Plain text as Markdown: what would be taken for markup is escaped, nothing else."""

from __future__ import annotations

import re

from regard.documents.blocks import Syntax

_INLINE = re.compile(
    r"""\\(?=[!-/:-@\[-`{-~])|`|(?<![^\W_])_|_(?![^\W_])|\*|~~|<(?=[A-Za-z/!?])"""
    r"""|&(?=\#?[A-Za-z0-9]{1,31};)|\[(?=[^\[\]]{0,999}\](?:[(\[:]|$))|!(?=\[)"""
)
_LONE = re.compile(r"(?:(?<=\s)|^)[*_](?=\s|$)")
_START = re.compile(
    r"(\s*)(?:(\#{1,6}(?=\s|$)|[-+*](?=\s|$)|>|={1,}\s*$|-{2,}\s*$|~{3,}|\||:(?=\s))|(\d{1,9})([.)])(?=\s|$))"
)


def escape_inline(text: str) -> str:
    """Text with a backslash before what is markup inside a line.

    >>> escape_inline("a*b 2 * 3 snake_case <b> R&D &amp; [x] [y](z)")
    'a\\\\*b 2 * 3 snake_case \\\\<b> R&D \\\\&amp; [x] \\\\[y](z)'
    """
    return _INLINE.sub(lambda match: _escaped(text, match), text)


def _escaped(text: str, match: re.Match[str]) -> str:
    if match[0] in "*_" and _LONE.match(text, match.start()):
        return match[0]
    return "".join("\\" + character for character in match[0])


def escape_cell(text: str) -> str:
    """The same for a cell of a table."""
    return escape_inline(text).replace("|", "\\|")


def escape_start(text: str) -> str:
    """A block with a backslash before what would begin a list, a heading or the like.

    >>> escape_start("1. one"), escape_start("# two"), escape_start("three")
    ('1\\\\. one', '\\\\# two', 'three')
    """
    match = _START.match(text)
    if match is None:
        return text
    if match[2]:
        return f"{match[1]}\\{text[match.start(2) :]}"
    return f"{match[1]}{match[3]}\\{text[match.start(4) :]}"


PROSE = Syntax(escape_inline, escape_start)
LINE = Syntax(escape_inline)
CELL = Syntax(escape_cell)
