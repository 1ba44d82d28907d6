"""Character references of HTML, of any length."""

from __future__ import annotations

import html
import re

_LONG = re.compile(r"&#0*([0-9]*);?")
_MAX_DIGITS = 7  # of the numbers that characters have


def unescape(text: str) -> str:
    """Text with characters for its references; a number that is too large is U+FFFD.

    >>> unescape("a &lt; &#" + "7" * 5000 + ";&#" + "0" * 5000 + "65;")
    'a < �A'
    """
    try:
        return html.unescape(text)
    except ValueError:  # Python converts no decimal number of thousands of digits
        return html.unescape(_LONG.sub(_shortened, text))


def _shortened(match: re.Match[str]) -> str:
    return f"&#{match[1] or 0};" if len(match[1]) <= _MAX_DIGITS else "\ufffd"
