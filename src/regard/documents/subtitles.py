"""Subtitles (SRT and WebVTT): the text of each cue is translated; times and settings are kept.

The lines of a cue are one text, wrapped into as many lines again; lines that begin with a hyphen
are of different speakers and stay by themselves. Notes, styles and regions are not translated.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator
from functools import partial
from html import escape

from regard.documents.blocks import BlockBuilder, Part, Syntax
from regard.documents.document import TextDocument
from regard.documents.inline_tags import add_tagged

_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n|$)")
_TIMES = re.compile(r"[ \t]*(?:\d+:)?\d{1,2}:\d{2}[.,]\d{1,3}[ \t]+-->[ \t]+(?:\d+:)?\d{1,2}:\d{2}")
_SPEAKER = re.compile(r"[ \t]*[-‐–—]+[ \t]*")
_OVERRIDE = re.compile(r"\{\\[^{}]*\}")
_MARKUP = re.compile(r"<[^<>]*>|\{\\[^{}]*\}")


def parse_subtitles(source: str, *, escaped: bool) -> TextDocument:
    """The cues of a file.

    escaped  whether `&amp;` and the like stand for characters, as in WebVTT

    >>> parse_subtitles("1\\n00:00:01,000 --> 00:00:02,000\\nHello\\nyou\\n", escaped=False).texts
    ['Hello you']
    """
    parts: list[Part] = []
    cue: list[str] | None = None  # lines of text after the times
    for line in _LINE.findall(source):
        if cue is not None and line.strip():
            cue.append(line)
            continue
        if cue:
            parts += _cue(cue, escaped)
        cue = [] if _TIMES.match(line) else None
        parts.append(line)
    if cue:
        parts += _cue(cue, escaped)
    return TextDocument(tuple(part for part in parts if part != ""))


def _cue(lines: list[str], escaped: bool) -> Iterator[Part]:
    groups: list[list[str]] = []
    for line in lines:
        if groups and not _SPEAKER.match(line):
            groups[-1].append(line)
        else:
            groups.append([line])
    for group in groups:
        raw = "".join(group)
        end = raw[len(raw.rstrip("\r\n")) :]
        speaker = _SPEAKER.match(raw)
        start = speaker.end() if speaker else 0
        yield raw[:start]
        yield from _text(raw[start : len(raw) - len(end)], len(group), escaped)
        yield end


def _text(raw: str, num_lines: int, escaped: bool) -> tuple[Part, ...]:
    end = "\r\n" if "\r\n" in raw else "\n"
    finish = partial(wrap_lines, num_lines=num_lines, end=end)
    builder = BlockBuilder(Syntax(partial(escape, quote=False) if escaped else _safe, finish))
    position = 0
    for match in _OVERRIDE.finditer(raw):
        add_tagged(builder, raw[position : match.start()], escaped)
        builder.point(match[0])
        position = match.end()
    add_tagged(builder, raw[position:], escaped)
    return tuple(builder.finish())


def _safe(text: str) -> str:
    """Text that cannot be taken for times."""
    return text.replace("-->", "→")


def wrap_lines(text: str, num_lines: int, end: str) -> str:
    """The text in so many lines of similar length, broken at spaces outside of tags.

    >>> wrap_lines("one <i>two three</i> four", 2, "|")
    'one <i>two|three</i> four'
    """
    if num_lines < 2:
        return text
    spaces: list[int] = []
    shown_before: list[int] = []  # characters displayed before each space
    shown = position = 0
    for match in (*_MARKUP.finditer(text), None):
        stop = match.start() if match else len(text)
        for index in range(position, stop):
            if text[index] == " ":
                spaces.append(index)
                shown_before.append(shown)
            shown += 1
        position = match.end() if match else stop
    breaks: set[int] = set()
    free = 0  # the first space that is not yet behind a break
    for number in range(1, num_lines):
        aim = shown * number / num_lines
        best = bisect_left(shown_before, aim, lo=free)
        if best > free and best < len(spaces):
            nearer = aim - shown_before[best - 1] < shown_before[best] - aim
            best -= nearer
        best = min(best, len(spaces) - 1)
        if best >= free:
            breaks.add(spaces[best])
            free = best + 1
    return "".join(end if n in breaks else character for n, character in enumerate(text))
