"""YAML: values that are strings are translated; keys, comments, anchors and styles are kept.

The positions of the scalars come from PyYAML's events, so nothing is loaded and no alias is
expanded. A block scalar (`|`, `>`) keeps its indentation: of `|` each line is translated, of `>`
each paragraph, which becomes one line.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

import yaml

from regard.documents.blocks import BlockBuilder, Part, Value, blocks
from regard.documents.document import TextDocument
from regard.documents.inline_tags import add_tagged, tagged_line, text_lines
from regard.errors import InputError

MAX_DEPTH = 500
"""Lists and maps inside each other; the parser looks at all of them for each word."""
TOO_DEEP = "the YAML has too many lists or maps inside each other."
_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_STRING_TAG = "tag:yaml.org,2002:str"
_PROPERTY = re.compile(r"(?:[&!][^\s,\[\]{}]*(?:[ \t]+|[ \t]*\r?\n\s*))+")
_RESOLVER: Any = yaml.SafeLoader("")
_UNSAFE_START = re.compile(r"[-?:,\[\]{}#&*!|>'\"%@`\s]")
_UNSAFE_INSIDE = re.compile(r":(?:\s|$)|\s#|[\x00-\x1f\x7f-\x9f\ufeff\u2028\u2029]|\s$")
_UNSAFE_IN_FLOW = re.compile(r"[,\[\]{}]")
_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n|$)")


def parse_yaml(source: str, is_prose: Callable[[str], bool] = lambda key: True) -> TextDocument:
    """The strings of a YAML document; `is_prose` tells for a key whether its values are translated.

    >>> parse_yaml("greeting: Hello  # a comment\\ncount: 3").texts
    ['Hello']
    """
    parts: list[Part] = []
    done = 0
    try:
        for start, end, scalar, in_flow in _values(source, is_prose):
            value = _value(source, start, end, scalar, in_flow)
            if any(True for _ in blocks(value)):
                parts += (source[done:start], *value)
                done = end
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f"line {mark.line + 1}: " if mark else ""
        what = getattr(error, "problem", None) or getattr(error, "reason", None) or "damaged"
        raise InputError(f"{where}this is not YAML ({what}); correct the file.") from error
    except RecursionError as error:
        raise InputError(TOO_DEEP) from error
    return TextDocument((*parts, source[done:]))


def _values(source: str, is_prose: Callable[[str], bool]) -> Iterator[tuple[int, int, Any, bool]]:
    """Start, end and event of all scalars that are strings and not keys, and whether in flow."""
    stack: list[list[Any]] = []  # of maps: whether a key is next, and the last key; of lists: None
    flow = 0
    for event in yaml.parse(source, Loader=_LOADER):
        kind = type(event).__name__
        if kind in ("MappingEndEvent", "SequenceEndEvent"):
            flow -= stack.pop()[2]
        elif kind in ("MappingStartEvent", "SequenceStartEvent", "ScalarEvent", "AliasEvent"):
            is_key, key = _advance(stack, event)
            if kind == "ScalarEvent":
                if not is_key and is_prose(key) and _is_string(event):
                    start, end = event.start_mark.index, event.end_mark.index
                    properties = _PROPERTY.match(source, start)
                    has = event.anchor or event.tag
                    start = properties.end() if properties and has else start
                    yield start, end, event, flow > 0
            elif kind != "AliasEvent":
                if len(stack) >= MAX_DEPTH:
                    raise InputError(TOO_DEEP)
                flow += bool(event.flow_style)
                stack.append([kind == "MappingStartEvent", key, bool(event.flow_style)])


def _advance(stack: list[list[Any]], event: Any) -> tuple[bool, str]:
    """Whether the node is a key, and the key that it belongs to."""
    if not stack:
        return False, ""
    top = stack[-1]
    if len(top) == 4:  # a key came before
        top.pop()
        return False, top[1]
    if top[0]:
        top[1] = str(getattr(event, "value", "") or "")
        top.append(True)
        return True, top[1]
    return False, top[1]


def _is_string(event: Any) -> bool:
    if event.tag:
        return bool(event.tag == _STRING_TAG)
    if not event.implicit[0]:
        return bool(event.value)  # quoted, or a block
    return _is_plain_string(event.value)


def _is_plain_string(text: str) -> bool:
    """Whether an unquoted scalar is a string, not a number, a date, `yes` or the like."""
    return bool(text) and _RESOLVER.resolve(yaml.ScalarNode, text, (True, False)) == _STRING_TAG


def _value(source: str, start: int, end: int, event: Any, in_flow: bool) -> list[Part]:
    raw = source[start:end]
    if event.style in ("|", ">"):
        return list(_block_scalar(raw, folded=event.style == ">"))
    lines = tuple(text_lines(event.value))
    if event.style == "'":
        return [Value(lines, raw, _single_quoted)]
    if event.style == '"':
        return [Value(lines, raw, _double_quoted)]
    return [Value(lines, raw, lambda text: _plain(text, in_flow))]


def _plain(text: str, in_flow: bool) -> str:
    """The text without quotes if it can be so, else in quotes.

    >>> _plain("Bonjour", False), _plain("Note : oui", False), _plain("no", False)
    ('Bonjour', "'Note : oui'", "'no'")
    """
    unsafe = (
        _UNSAFE_START.match(text)
        or _UNSAFE_INSIDE.search(text)
        or (in_flow and _UNSAFE_IN_FLOW.search(text))
        or text.startswith(("---", "..."))
        or not _is_plain_string(text)
    )
    return _single_quoted(text) if unsafe else text


def _single_quoted(text: str) -> str:
    if text.isprintable():
        return "'" + text.replace("'", "''") + "'"
    return _double_quoted(text)


def _double_quoted(text: str) -> str:
    """The text in double quotes, with escapes for what cannot be printed.

    >>> _double_quoted('a "b"\\n')
    '"a \\\\"b\\\\"\\\\n"'
    """
    return '"' + "".join(map(_escaped, text)) + '"'


def _escaped(character: str) -> str:
    if character in '"\\':
        return "\\" + character
    if character.isprintable():
        return character
    named = {"\n": "\\n", "\t": "\\t", "\r": "\\r", "\xa0": "\\_"}
    code = ord(character)
    wide = f"\\U{code:08X}" if code > 0xFFFF else f"\\u{code:04X}"
    return named.get(character) or wide


def _block_scalar(raw: str, folded: bool) -> Iterator[Part]:
    """The header, then the lines of `|`, or the paragraphs of `>` with their indentation."""
    lines = [line for line in _LINE.findall(raw) if line]
    yield lines[0]
    indents = [len(line) - len(line.lstrip(" ")) for line in lines[1:] if line.strip()]
    base = min(indents, default=0)
    paragraph: list[str] = []
    for line in (*lines[1:], ""):
        joins = folded and line.strip() and not line[base : base + 1].isspace()
        if joins:
            paragraph.append(line)
            continue
        if paragraph:
            yield from _paragraph(paragraph)
            paragraph = []
        if line.strip():
            end = line[len(line.rstrip("\r\n")) :]
            yield from (*tagged_line(line[: len(line) - len(end)], escaped=False), end)
        else:
            yield line


def _paragraph(lines: list[str]) -> Iterator[Part]:
    raw = "".join(lines)
    end = raw[len(raw.rstrip("\r\n")) :]
    builder = BlockBuilder()
    add_tagged(builder, raw[: len(raw) - len(end)], escaped=False)
    yield from (*builder.finish(), end)
