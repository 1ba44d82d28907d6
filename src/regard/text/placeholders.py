"""Find what a translation must keep: placeholders, tags, addresses, paths, code and numbers.

    printf    %s  %1$s  %(count)d  %.2f  %%  %%s  %1 (Qt)  %Y (strftime)
    braces    {}  {name}  {0:.2f}  {{x}}  ${x}  %{x}  #{x}; {n, plural, one {…} other {…}} whole
    tag       <0/>  </b>  <a href="x">  <me@example.org>  <number|name>
    entity    &amp;  &#160;
    url, email, path (/etc/x, ~/x, C:\\x), flag (--all, -x), variable ($HOME), code (in backticks)
    number    2  3.14  12:30  2024-05-01

`%` and `{` in prose are none: "50 % of", "100% free", "a set {of words}". Every pattern reads a
run of characters once, so the time is linear in the text.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import NamedTuple

_CONVERSION = r"(?:hh|h|ll|l|q|j|z|t|L|I64|I32)?[diouxXeEfFgGaAcCsSpnm@]"
_FLAGS = r"[-+#0']{0,5}(?:\*|\d{1,4})?(?:\.(?:\*|\d{1,4})?)?"
_PATTERNS = {
    "code": r"(?P<ticks>`{1,3})(?![\s`])[^`\n]*[^\s`](?P=ticks)(?![\w`])",
    "url": r"(?<![A-Za-z0-9+.-])(?:[A-Za-z][A-Za-z0-9+.-]*://|mailto:|www\.(?=\w))"
    r"[^\s<>\"'`«»“”|\\^（）「」，。；]+",
    "email": r"(?<![\w.+-])[\w.+-]+@[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)+",
    "tag": r"</?[A-Za-z0-9][\w:.-]*(?:\s[^<>]*)?/?>|<[A-Za-z0-9][^\s<>]*>",
    "entity": r"&(?:[A-Za-z][A-Za-z0-9]*|#\d+|#[xX][0-9A-Fa-f]+);",
    "printf": "|".join(
        (
            # %%s is for a second formatting, %%0A an escaped character
            r"%%(?:0[0-9A-F]|[A-Z]+(?![a-z])|[dioxsfgc](?![a-z0-9])|[a-z]\w*)?",
            rf"%\([^()\s]+\){_FLAGS}{_CONVERSION}",
            rf"%\d+\${_FLAGS}{_CONVERSION}",
            rf"(?<=\d)%{_FLAGS}{_CONVERSION}(?![^\W_])",  # 50%of is prose
            rf"(?<!\d)%{_FLAGS}{_CONVERSION}",
            r"(?<!\d)(?<!\d )%[ ][di](?![^\W_])",
            r"(?<!\d)%[A-Za-z](?![^\W_])",  # strftime
            r"(?<!\d)%L?\d{1,2}(?![\d%]|\s*%)",  # Qt
        )
    ),
    "variable": r"(?<![\w$])\$(?:[A-Za-z_]\w*|\([A-Za-z_][\w.-]*\))",
    "path": r"(?<![\w/~.:<])(?:~|\.{1,2})?/[A-Za-z0-9_.][\w.+@-]*(?:/[\w.+@-]*)*"
    r"|(?<!\w)[A-Za-z]:\\[^\s\"'<>|,;“”«»（）]*",
    "flag": r"(?<![\w-])(?:-[\w?#],[ ]?)?--[A-Za-z][\w-]*(?:=[^\s,;:)\]'\"{}%<“”«»（）]+)?"
    r"|(?<=[\s(\['\"‘“«`])-[A-Za-z](?![\w-])",
    "number": r"(?<![^\W_])(?<![^\W_][.,:/-])\d+(?:[.,:/-]\d+)*(?![^\W_])",
}
_TOKEN = re.compile("|".join(f"(?P<{kind}>{pattern})" for kind, pattern in _PATTERNS.items()))
_POSSIBLE = re.compile(r"[%{<&$/\\`@\d]|--|[\s(\[]-|www\.|mailto:")  # most sentences have none
_STOPS = frozenset(".,;:!?…。，；：、！？")
_CLOSERS = {")": "(", "]": "[", "}": "{"}

_NAME = re.compile(r"\s*+[\w.\[\]'\"-]*+\s*+(?:![rsa])?+(?::[^\s{}]*+)?+\s*+")
_ICU = re.compile(
    r"\s*+[\w.-]++\s*+,\s*+(?:plural|select|selectordinal|number|date|time|choice|spellout|ordinal|"
    r"duration|list)\b"
)
_SIGILS = "$%#"

_DIGITS = re.compile(r"\d+")
_GROUPED = re.compile(r"(?<=\d)[.,:/'’\u00a0\u202f\u2009 -](?=\d)")


class Placeholder(NamedTuple):
    """A part of a text that is kept: its kind, its span and its characters."""

    kind: str
    start: int
    end: int
    text: str


def find_placeholders(text: str) -> list[Placeholder]:
    """All placeholders of a text in order; none overlap, and of two the first is found.

    >>> [p.text for p in find_placeholders("%(n)d of {total} files, 50 % of 20 %%")]
    ['%(n)d', '{total}', '50', '20', '%%']
    >>> [p.kind for p in find_placeholders("See https://example.org/a (or --help).")]
    ['url', 'flag']
    """
    if not _POSSIBLE.search(text):
        return []
    groups = list(_brace_groups(text))
    placeholders: list[Placeholder] = []
    position = 0
    match = _TOKEN.search(text)
    for start, end in [*groups, (len(text), len(text))]:
        while position < start:
            if match and match.start() < position:  # a later one is the next for many groups
                match = _TOKEN.search(text, position)
            if match is None:
                break
            kind = next(kind for kind in _PATTERNS if match[kind] is not None)
            first, last = match.start(), _trimmed(text, *match.span(), kind)
            if first >= start or (last > start and kind not in ("code", "tag", "url")):
                break
            if last > first:
                placeholders.append(Placeholder(kind, first, last, text[first:last]))
            position = max(last, first + 1)
        if start < end and position <= start:
            placeholders.append(Placeholder("braces", start, end, text[start:end]))
            position = end
    return placeholders


def _trimmed(text: str, start: int, end: int, kind: str) -> int:
    """The end of a match without the punctuation of the sentence that it is in."""
    if kind not in ("url", "path", "flag", "email"):
        return end
    unclosed = {
        mark: text.count(_CLOSERS[mark], start, end) - text.count(mark, start, end)
        for mark in _CLOSERS
    }
    while end > start:
        last = text[end - 1]
        if last in _CLOSERS and unclosed[last] < 0:
            unclosed[last] += 1
        elif last not in _STOPS:
            break
        end -= 1
    return end


def _brace_groups(text: str) -> Iterator[tuple[int, int]]:
    """The spans of the outermost braces that are placeholders, in order, with $, % or # before."""
    opened: list[int] = []
    pairs: dict[int, int] = {}
    for match in re.finditer(r"[{}]", text):
        if match[0] == "{":
            opened.append(match.start())
        elif opened:
            pairs[opened.pop()] = match.end()
    position = 0
    for start, end in sorted(pairs.items()):
        if start >= position and _is_placeholder(text, start + 1, end - 1):
            sigil = start > position and text[start - 1] in _SIGILS
            sigil = sigil and text[start - 2 : start] != "%%"
            yield start - sigil, end
            position = end


def _is_placeholder(text: str, start: int, end: int) -> bool:
    """Whether braces hold a name, a format, an expression of a template, or an ICU argument."""
    first, last = text[start : start + 1], text[end - 1 : end]
    if start == end:
        return True
    if (first, last) in (("{", "}"), ("%", "%"), ("#", "#")) and end - start > 1:
        return True
    return _NAME.fullmatch(text, start, end) is not None or _ICU.match(text, start, end) is not None


JOINTS, MAX_JOINT = frozenset("/:._=@#+|\\~-*"), 3
"""Characters that join two placeholders, and how many of them may."""
_BEFORE = re.compile(r"(?<![\w.+~/\\-])[\w.+~-]*+[/\\][\w.+~/\\-]*+$")
_AFTER = re.compile(r"(?:[/.\\]+[A-Za-z0-9_][\w+-]*)+")
_PREFIX = re.compile(r"(?<![^\W_])(?:[A-Za-z]{1,2}|[A-Za-z0-9+#]*[0-9+#][A-Za-z0-9+#]*)$")  # 0x%x
_SUFFIX = re.compile(r"(?<=[A-Za-z0-9@])[A-Za-z0-9]{1,8}(?![^\W_])")  # %dMB
MAX_PATH = 64  # characters before a placeholder that are examined


def protected_spans(text: str) -> list[tuple[int, int]]:
    """The spans that are copied: placeholders but numbers, those that touch joined.

    Placeholders with only punctuation and no space between them are one span, with what makes a
    path, the name of a file or a quantity of them.

    >>> text = "%d%% of %s/%s, 100%% of lib/%s.so, 0x%x at %dMB in 2 file%s"
    >>> [text[start:end] for start, end in protected_spans(text)]
    ['%d%%', '%s/%s', '100%%', 'lib/%s.so', '0x%x', '%dMB', '%s']
    """
    spans: list[tuple[int, int]] = []
    for start, end in _joined(text):
        previous = spans[-1][1] if spans else 0
        first = max(previous, start - MAX_PATH)
        if end <= previous:
            continue
        if before := _BEFORE.search(text[first:start]):
            start = first + before.start()
        elif before := _PREFIX.search(text, first, start):
            start = before.start()
        if after := _AFTER.match(text, end) or _SUFFIX.match(text, end):
            end = after.end()
        if spans and start <= previous:
            spans[-1] = spans[-1][0], max(end, previous)
        else:
            spans.append((start, end))
    return spans


def _joined(text: str) -> Iterator[tuple[int, int]]:
    """The spans of placeholders that touch, or are joined by punctuation; not of numbers alone."""
    joined: list[list[int]] = []  # start, end, whether there is more than a number
    for kind, start, end, _ in find_placeholders(text):
        between = text[joined[-1][1] : start] if joined else " "
        if joined and len(between) <= MAX_JOINT and all(mark in JOINTS for mark in between):
            joined[-1][1] = end
            joined[-1][2] |= kind != "number"
        else:
            joined.append([start, end, int(kind != "number")])
    return ((start, end) for start, end, protected in joined if protected)


class LostPlaceholders(NamedTuple):
    """What a translation does not keep.

    missing  placeholders of the source that it has not, or has not as often
    extra    placeholders that it has and the source has not
    numbers  numbers of the source that it has not in digits
    """

    missing: tuple[str, ...] = ()
    extra: tuple[str, ...] = ()
    numbers: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return any(self)


def lost_placeholders(source: str, translation: str) -> LostPlaceholders:
    """What a translation does not keep of its source's placeholders and numbers.

    A number may be written with other separators: 1,000 and 1 000; 12:30 and 12 h 30.

    >>> lost_placeholders("Copy %d files to {path} in 2,000 s", "Copier %s en 2 000 s")
    LostPlaceholders(missing=('%d', '{path}'), extra=('%s',), numbers=())
    """
    expected, present = (_counted(text) for text in (source, translation))
    return LostPlaceholders(
        tuple(_not_in(translation, expected - present, expected)),
        tuple(_not_in(source, present - expected, present)),
        tuple(_lost_numbers(source, translation)),
    )


MAX_SEARCHED = 100
"""Placeholders that a text may have in another shape; it is read once for each of them."""
Counted = Counter[tuple[str, str]]
"""How often a kind of placeholder has some characters."""


def _counted(text: str) -> Counted:
    return Counter((f.kind, f.text) for f in find_placeholders(text) if f.kind != "number")


def _not_in(text: str, lacking: Counted, all_of_it: Counted) -> Iterator[str]:
    """What a text really lacks: its own neighbors may make a path or a flag look different."""
    searched = 0
    for (kind, part), number in lacking.items():
        if kind in ("printf", "braces"):
            yield from [part] * number
        else:
            searched += 1
            present = _num_present(part, text) if searched <= MAX_SEARCHED else 0
            yield from [part] * max(0, min(number, all_of_it[kind, part] - present))


def _num_present(part: str, text: str) -> int:
    """How often a text has some characters that are no part of a longer word."""
    return len(re.findall(rf"(?<![\w-]){re.escape(part)}(?![\w-])", text))


def _lost_numbers(source: str, translation: str) -> Iterator[str]:
    numbers = [
        placeholder.text
        for placeholder in find_placeholders(source)
        if placeholder.kind == "number"
    ]
    if not numbers:
        return
    parts = Counter(_DIGITS.findall(translation))
    whole = Counter(_DIGITS.findall(_GROUPED.sub("", translation)))
    for number in numbers:
        digit_groups = Counter(_DIGITS.findall(number))
        digits = (
            "".join(digit_groups.elements()) if len(digit_groups) == 1 else _GROUPED.sub("", number)
        )
        if whole[digits] > 0:
            whole[digits] -= 1
            _take(digit_groups, parts)
        elif all(parts[part] >= count for part, count in digit_groups.items()):
            _take(digit_groups, parts)
            _take(digit_groups, whole)
        else:
            yield number


def _take(subtracted: Counter[str], counts: Counter[str]) -> None:
    """Subtract counts, none of which becomes negative."""
    for part, count in subtracted.items():
        counts[part] = max(0, counts[part] - count)


_PAIRED = re.compile(r"<(?P<end>/?)(?P<name>[\w:.-]++)[^<>]*+(?<!/)>")


def unpaired_tags(text: str) -> list[str]:
    """The tags of a text that do not pair: an end without its start, or a start that is not ended.

    >>> unpaired_tags("<b>a</b> <0/> </i> c"), unpaired_tags("</b> a <b>")
    (['</i>'], ['</b>', '<b>'])
    """
    opened: list[tuple[str, str]] = []
    wrong: list[str] = []
    for placeholder in find_placeholders(text):
        tag = _PAIRED.fullmatch(placeholder.text) if placeholder.kind == "tag" else None
        if tag is None:
            continue
        if not tag["end"]:
            opened.append((tag["name"], tag[0]))
        elif opened and opened[-1][0] == tag["name"]:
            opened.pop()
        else:
            wrong.append(tag[0])
    return [*wrong, *(whole for _, whole in opened)]


def shield(text: str, spans: Iterable[tuple[int, int]]) -> str:
    """The text with every character of the spans replaced by a letter, so that nothing ends there.

    >>> shield("Open {a. B}. Now", [(5, 11)])
    'Open xxxxxx. Now'
    """
    parts: list[str] = []
    position = 0
    for start, end in spans:
        parts += text[position:start], "x" * (end - start)
        position = end
    return "".join((*parts, text[position:]))


def spans_within(spans: list[tuple[int, int]], start: int, end: int) -> list[tuple[int, int]]:
    """The spans inside of a part of the text, from which their positions are counted."""
    first, last = bisect_left(spans, (start,)), bisect_left(spans, (end + 1,))
    return [(a - start, b - start) for a, b in spans[first:last] if b <= end]
