"""Gettext catalogs (PO): missing translations are filled in and marked fuzzy.

A message is translated if its msgstr is empty (with `replace`, any message); all other lines are
kept. Obsolete messages, the header and comments are never changed. A message with plural forms
gets as many as the header's `nplurals` says; msgid gives the form for one, msgid_plural the others.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property, partial

from regard.documents.blocks import Part, Value, blocks
from regard.documents.catalogs.target_language import check_target_language
from regard.documents.document import DocumentOptions, TextDocument
from regard.documents.inline_tags import text_lines
from regard.errors import InputError

_LINE = re.compile(r"[^\r\n]*(?:\r\n|\n|\r|$)")
_KEYWORD = re.compile(r"[ \t]*(msgctxt|msgid_plural|msgid|msgstr(?:\[(\d{1,3})\])?)[ \t]*(?=\")")
_STRING = re.compile(r'[ \t]*"((?:[^"\\]|\\.)*)"[ \t]*$')
_ESCAPE = re.compile(r"\\(x[0-9A-Fa-f]{1,2}|[0-7]{1,3}|.)")
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "v": "\v", "a": "\a"}
_WRITTEN = {"\\": "\\\\", '"': '\\"', **{value: f"\\{key}" for key, value in _ESCAPES.items()}}
_NPLURALS = re.compile(r"nplurals\s*=\s*(\d{1,2})")
_LANGUAGE = re.compile(r"^Language:(.*)$", re.MULTILINE | re.IGNORECASE)
MAX_FORMS = 10


@dataclass
class _Line:
    """A line, the keyword that it begins or continues, and its string, decoded."""

    raw: str
    keyword: str = ""
    begins: bool = False
    string: str = ""


@dataclass
class _Message:
    """The lines of one message, with the comments before it."""

    lines: list[_Line] = field(default_factory=list)

    @cached_property
    def by_keyword(self) -> dict[str, list[_Line]]:
        """The lines of each keyword; read once all lines are there."""
        lines_of: dict[str, list[_Line]] = {}
        for line in self.lines:
            lines_of.setdefault(line.keyword, []).append(line)
        return lines_of

    def string(self, keyword: str) -> str | None:
        lines = self.by_keyword.get(keyword)
        return "".join(line.string for line in lines) if lines else None

    def last_line(self, keyword: str) -> str:
        return self.by_keyword[keyword][-1].raw

    @property
    def targets(self) -> list[str]:
        """The keywords msgstr, or msgstr[0], msgstr[1], …"""
        return [keyword for keyword in self.by_keyword if keyword.startswith("msgstr")]


def parse_po(source: str, options: DocumentOptions) -> TextDocument:
    """The messages of a catalog that need a translation.

    >>> parse_po('msgid "Save"\\nmsgstr ""\\n', DocumentOptions()).texts
    ['Save']
    """
    forms = 2
    parts: list[Part] = []
    for message in _messages(source):
        msgid = message.string("msgid")
        if msgid == "" and message.string("msgctxt") is None:
            header = message.string("msgstr") or ""
            match = _NPLURALS.search(header)
            if language := _LANGUAGE.search(header):
                check_target_language(language[1], options)
            forms = min(int(match[1]), MAX_FORMS) if match else forms
        if msgid and _is_due(message, options):
            parts += _filled(message, forms, options)
        else:
            parts += (line.raw for line in message.lines)
    return TextDocument(tuple(parts))


def _is_due(message: _Message, options: DocumentOptions) -> bool:
    """Whether a message is to be translated."""
    if not message.targets:
        return False
    return options.replace or not any(message.string(keyword) for keyword in message.targets)


def _filled(message: _Message, forms: int, options: DocumentOptions) -> Iterator[Part]:
    """The message's lines, with values for its msgstr."""
    first = message.lines[0].raw
    end = first[len(first.rstrip("\r\n")) :] or "\n"
    values = _values(message, forms, end)
    if not any(True for _ in blocks(tuple(values.values()))):
        yield from (line.raw for line in message.lines)
        return
    lines = _flagged(message.lines, end) if options.fuzzy else message.lines
    last = ""
    for line in lines:
        if not line.keyword.startswith("msgstr"):
            if last and not line.keyword:  # comments after the message
                yield from _further_forms(values, last, end)
                values = {}
            yield line.raw
        elif line.begins and line.keyword in values:
            yield line.raw[: line.raw.index('"')]
            yield values.pop(line.keyword)
            last = message.last_line(line.keyword)
            yield last[len(last.rstrip("\r\n")) :]
    yield from _further_forms(values, last, end)


def _further_forms(values: dict[str, Value], last: str, end: str) -> Iterator[Part]:
    """The forms that the message has no msgstr for yet, after its last line."""
    unfinished = not last.endswith(("\n", "\r"))
    for number, (keyword, value) in enumerate(values.items()):
        yield end if unfinished and number == 0 else ""
        yield f"{keyword} "
        yield value
        yield end


def _flagged(lines: list[_Line], end: str) -> list[_Line]:
    """The lines with the flag `fuzzy`, in the line of flags or in a new one."""
    keyword = next(n for n, line in enumerate(lines) if line.keyword)
    first = keyword
    while first and lines[first - 1].raw.startswith("#") and lines[first - 1].raw[1:2] != "~":
        first -= 1
    place = keyword
    for number in range(first, keyword):
        flags = lines[number].raw
        if flags.startswith("#,"):
            if "fuzzy" in (flag.strip() for flag in flags[2:].split(",")):
                return lines
            return [*lines[:number], _Line(f"#, fuzzy,{flags[2:]}"), *lines[number + 1 :]]
        if flags.startswith("#|"):
            place = min(place, number)
    return [*lines[:place], _Line(f"#, fuzzy{end}"), *lines[place:]]


def _values(message: _Message, forms: int, end: str) -> dict[str, Value]:
    """The value of each msgstr: parts of msgid or msgid_plural."""
    msgid, plural = message.string("msgid") or "", message.string("msgid_plural")
    keywords = message.targets
    if plural is not None:
        wanted = [f"msgstr[{number}]" for number in range(forms)]
        keywords += [keyword for keyword in wanted if keyword not in keywords]
    made = {}
    for keyword in keywords:
        singular = plural is None or (keyword == "msgstr[0]" and forms > 1)
        text = msgid if singular else plural or ""
        made[keyword] = Value(tuple(text_lines(text)), None, partial(po_string, end=end))
    return made


def po_string(text: str, end: str = "\n") -> str:
    """A string as PO has it; several lines if the text has several.

    >>> print(po_string('Say "x"'))
    "Say \\"x\\""
    >>> print(po_string("One\\nTwo"))
    ""
    "One\\n"
    "Two"
    """
    lines = text.split("\n")
    lines = [line + "\n" for line in lines[:-1]] + ([lines[-1]] if lines[-1] else [])
    quoted = ['"' + "".join(_WRITTEN.get(c, c) for c in line) + '"' for line in lines]
    if len(quoted) == 1:
        return quoted[0]
    return end.join(('""', *quoted))


def _messages(source: str) -> Iterator[_Message]:
    """The messages with the comments before them; what separates messages belongs to the next."""
    message, keyword = _Message(), ""
    for number, raw in enumerate(_LINE.findall(source), start=1):
        if not raw:
            continue
        line, bare = _Line(raw), raw.rstrip("\r\n")
        match = _KEYWORD.match(bare)
        begins_next = not bare.strip() or bare.startswith("#") or (match and match[1] in _FIRST)
        if begins_next and keyword.startswith("msgstr"):
            yield message
            message, keyword = _Message(), ""
        if match:
            keyword = match[1]
            line.keyword, line.begins = keyword, True
            line.string = _decoded(bare[match.end() :], number)
        elif bare.strip() and not bare.lstrip().startswith("#"):
            if not keyword or not bare.lstrip().startswith('"'):
                raise InputError(f"line {number}: this is not a PO catalog; correct the file.")
            line.keyword, line.string = keyword, _decoded(bare, number)
        message.lines.append(line)
    yield message


_FIRST = frozenset({"msgctxt", "msgid"})


def _decoded(quoted: str, number: int) -> str:
    match = _STRING.match(quoted)
    if match is None:
        raise InputError(f"line {number}: the string has no end; correct the file.")
    return _ESCAPE.sub(_character, match[1]) if "\\" in match[1] else match[1]


def _character(match: re.Match[str]) -> str:
    code = match[1]
    if code[0] == "x" and len(code) > 1:
        return chr(int(code[1:], 16))
    if code[0] in "01234567":
        return chr(int(code, 8))
    return _ESCAPES.get(code, code)
