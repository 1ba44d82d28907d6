"""JSON: the strings are translated, keys are not; a string keeps its style of escapes."""

from __future__ import annotations

import json
import re
from functools import partial

from regard.documents.blocks import Part, Value, blocks
from regard.documents.document import TextDocument
from regard.documents.inline_tags import text_lines
from regard.errors import InputError

_STRING = re.compile(r'"(?:[^"\\]|\\.)*+(?:"|\\?\Z)', re.DOTALL)  # in valid JSON each has its end
_KEY_END = re.compile(r"[ \t\r\n]*:")
_SURROGATE = re.compile("[\ud800-\udfff]")


def parse_json(source: str) -> TextDocument:
    """The strings of a JSON document.

    >>> parse_json('{"greeting": "Hello", "count": 3}').texts
    ['Hello']
    """
    try:
        json.loads(source, parse_int=str, parse_float=str)  # which need not fit into a number
    except json.JSONDecodeError as error:
        raise InputError(
            f"line {error.lineno}: this is not JSON ({error.msg.lower()}); correct the file."
        ) from error
    except RecursionError as error:
        raise InputError("the JSON has too many lists or objects inside each other.") from error
    parts: list[Part] = []
    done = 0
    for match in _STRING.finditer(source):
        if _KEY_END.match(source, match.end()):
            continue
        value = _value(match[0])
        if any(True for _ in blocks((value,))):
            parts += (source[done : match.start()], value)
            done = match.end()
    return TextDocument((*parts, source[done:]))


def _value(raw: str) -> Value:
    ascii_only = raw.isascii() and "\\u" in raw
    write = partial(_string, ascii_only=ascii_only, slashes="\\/" in raw)
    return Value(tuple(text_lines(json.loads(raw))), raw, write)


def _string(text: str, *, ascii_only: bool, slashes: bool) -> str:
    """A JSON string; lone surrogates, which no encoding has, are always escaped."""
    made = json.dumps(text, ensure_ascii=ascii_only)
    made = _SURROGATE.sub(lambda match: f"\\u{ord(match[0]):04x}", made)
    return made.replace("/", "\\/") if slashes else made
