"""The inline markup of Markdown: emphasis, links, images, code, addresses, tags and breaks."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from functools import cached_property

from regard.documents.blocks import BlockBuilder, Part, Syntax, Value, code_text
from regard.documents.inline_tags import VOID
from regard.documents.markdown.emphasis import Delimiters, delimiters, emphasis_pairs
from regard.documents.references import unescape

_SPECIAL = re.compile(r"[\\`*_~\[\]!<&${]")
_CODE = re.compile(r"`+")
_AUTOLINK = re.compile(r"<(?:[A-Za-z][A-Za-z0-9+.-]{1,31}:[^\s<>]*|[\w.+-]+@[\w.-]+)>")
_TAG = re.compile(
    r"""</?([A-Za-z][A-Za-z0-9-]*+)"""
    r"""(?:\s++[A-Za-z_:][\w.:-]*+(?:\s*+=\s*+(?:"[^"]*+"|'[^']*+'|[^\s"'=<>`]++))?)*+\s*+(/?)>"""
)
_ENTITY = re.compile(r"&(?:#[0-9]{1,7}|#[xX][0-9A-Fa-f]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});")
_MATH = re.compile(r"\$\$[^$]+\$\$|\$(?=[^\s$])[^$\n]*?[^\s$\\]\$(?!\d)")
_TEMPLATE = re.compile(r"\{\{[^{}\n]*\}\}|\{%[^%\n]*%\}|\{\w+\}(?=`)")
_FOOTNOTE = re.compile(r"\[\^[^\]\s]{1,200}\]")
_TARGET = re.compile(
    r"""\([ \t\n]*+(?:<[^<>\n]*+>|(?:[^\s()\\]|\\.|\((?:[^\s()\\]|\\.)*+\))*+)"""
    r"""(?:[ \t\n]++("(?:[^"\\]|\\.)*+"|'(?:[^'\\]|\\.)*+'|\((?:[^()\\]|\\.)*+\)))?+[ \t\n]*+\)"""
)
_LABEL = re.compile(r"\[((?:[^\[\]\\]|\\.)*+)\]")
_CODE_TAGS = frozenset({"code", "kbd", "samp", "var", "script", "style", "pre", "svg", "math"})
_PUNCTUATION = frozenset("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~")
_PAST_BRACKET = 3000  # characters that are searched for the target of a link
_MAX_BRACKETS = 50  # opening brackets that may have a link or an image; of more, the last ones
_MAX_LABEL = 1000  # characters of a link's label


@dataclass
class _Item:
    """Something in the text: literal text, a mark of its own, or the start or end of an element."""

    start: int
    end: int
    kind: str  # text, point, code, begin, end
    text: str = ""
    name: str = ""
    parts: tuple[Part, ...] = ()
    number: int = 0


@dataclass
class _Scan:
    """The state of a scan: what was found, open brackets, and runs that may be emphasis."""

    text: str
    labels: Collection[str]
    syntax: Syntax
    items: list[_Item] = field(default_factory=list)
    brackets: list[tuple[int, bool, int]] = field(default_factory=list)  # position, image?, runs
    runs: list[Delimiters] = field(default_factory=list)
    inactive: int = 0  # brackets before this one open no link: a link has no link inside
    unclosed: set[str] = field(default_factory=set)  # comments and tags that have no end

    @cached_property
    def backticks(self) -> dict[int, list[int]]:
        """Where the runs of backticks begin, by their length."""
        starts: dict[int, list[int]] = {}
        for match in _CODE.finditer(self.text):
            starts.setdefault(len(match[0]), []).append(match.start())
        return starts


def label_key(label: str) -> str:
    """A link's label as it is compared."""
    return " ".join(label.split()).casefold()


def add_inline(builder: BlockBuilder, text: str, labels: Collection[str]) -> None:
    """Add Markdown text to a block.

    labels  keys of the labels that the document defines
    """
    scan = _Scan(text, labels, builder.syntax)
    position = 0
    while (match := _SPECIAL.search(text, position)) is not None:
        position = _STEPS[match[0]](scan, match.start()) or match.start() + 1
    _pair(scan, 0)
    _emit(scan, builder)


def _backslash(scan: _Scan, at: int) -> int | None:
    following = scan.text[at + 1 : at + 2]
    if following in _PUNCTUATION:
        scan.items.append(_Item(at, at + 2, "text", following))
        return at + 2
    return None


def _code(scan: _Scan, at: int) -> int | None:
    opening = _CODE.match(scan.text, at)
    assert opening is not None
    size = len(opening[0])
    equal = scan.backticks.get(size, ())
    following = bisect_left(equal, opening.end())
    if following == len(equal):
        return opening.end()
    end = equal[following]
    scan.items.append(_Item(at, end + size, "code", code_text(scan.text[opening.end() : end])))
    return end + size


def _emphasis(scan: _Scan, at: int) -> int | None:
    end = at
    while scan.text[end : end + 1] == scan.text[at]:
        end += 1
    scan.runs.append(delimiters(scan.text, at, end))
    return end


def _verbatim(pattern: re.Pattern[str]) -> Callable[[_Scan, int], int | None]:
    def step(scan: _Scan, at: int) -> int | None:
        match = pattern.match(scan.text, at)
        if match is None:
            return None
        scan.items.append(_Item(at, match.end(), "code", code_text(match[0])))
        return match.end()

    return step


def _entity(scan: _Scan, at: int) -> int | None:
    match = _ENTITY.match(scan.text, at)
    if match is None or unescape(match[0]) == match[0]:
        return None
    scan.items.append(_Item(at, match.end(), "text", unescape(match[0])))
    return match.end()


def _less(scan: _Scan, at: int) -> int | None:
    text = scan.text
    if text.startswith("<!--", at):
        end = 0 if "<!--" in scan.unclosed else text.find("-->", at + 4) + 3
        if end < 3:
            scan.unclosed.add("<!--")
            return None
        scan.items.append(_Item(at, end, "point"))
        return end
    match = _AUTOLINK.match(text, at) or _TAG.match(text, at)
    if match is None:
        return None
    end, name = match.end(), (match[1] or "").lower() if match.re is _TAG else ""
    is_end_tag = text[at + 1] == "/"
    if not name:  # an address in angle brackets
        scan.items.append(_Item(at, end, "code", match[0][1:-1]))
        return end
    if name in _CODE_TAGS and not is_end_tag and not match[2] and name not in scan.unclosed:
        closing = re.compile(rf"</{name}\s*>", re.IGNORECASE).search(text, end)
        if closing:
            content = unescape(text[end : closing.start()])
            scan.items.append(_Item(at, closing.end(), "code", code_text(content)))
            return closing.end()
        scan.unclosed.add(name)
    if match[2] or name in VOID:
        scan.items.append(_Item(at, end, "point"))
    else:
        scan.items.append(_Item(at, end, "end" if is_end_tag else "begin", name=f"<{name}"))
    return end


def _bracket(scan: _Scan, at: int) -> int | None:
    footnote = _FOOTNOTE.match(scan.text, at)
    if footnote:
        scan.items.append(_Item(at, footnote.end(), "point"))
        return footnote.end()
    _open_bracket(scan, at, image=False)
    return at + 1


def _exclamation(scan: _Scan, at: int) -> int | None:
    if scan.text[at + 1 : at + 2] != "[":
        return None
    _open_bracket(scan, at, image=True)
    return at + 2


def _open_bracket(scan: _Scan, at: int, image: bool) -> None:
    scan.brackets.append((at, image, len(scan.runs)))
    if len(scan.brackets) > _MAX_BRACKETS:  # an image's description is read for each around it
        del scan.brackets[0]
        scan.inactive = max(0, scan.inactive - 1)


def _close_bracket(scan: _Scan, at: int) -> int | None:
    """A link or an image, if an opening bracket and a target fit."""
    if not scan.brackets:
        return None
    start, image, num_runs = scan.brackets.pop()
    is_active = image or len(scan.brackets) >= scan.inactive
    scan.inactive = min(scan.inactive, len(scan.brackets))
    inside = start + 1 + image
    end, closing = _target(scan, inside, at) if is_active else (None, ())
    if end is None:
        return None
    if image:
        alt = _plain(scan.text[inside:at])
        while scan.items and scan.items[-1].start >= start:
            scan.items.pop()
        del scan.runs[num_runs:]
        label = _value(alt, scan.text[inside:at], "", "", scan.syntax)
        parts = ("![", label, *closing)
        scan.items.append(_Item(start, end, "point", parts=parts))
        return end
    _pair(scan, num_runs)
    opening = _Item(start, start + 1, "begin", name="[", number=at)
    scan.items.append(opening)
    scan.items.append(_Item(at, end, "end", name="[", parts=closing, number=at))
    scan.inactive = len(scan.brackets)
    return end


def _target(scan: _Scan, inside: int, at: int) -> tuple[int | None, tuple[Part, ...]]:
    """The end of a link and its closing markup, as it is written after other text."""
    text = scan.text
    match = _TARGET.match(text, at + 1, at + 1 + _PAST_BRACKET)
    if match:
        if not match[1]:
            return match.end(), (text[at : match.end()],)
        first, last = match.span(1)
        quote = match[1][0], match[1][-1]
        title = _value(_plain(match[1][1:-1]), match[1], *quote, scan.syntax)
        return match.end(), (text[at:first], title, text[last : match.end()])
    label = text[inside:at] if at - inside < _MAX_LABEL else None
    match = _LABEL.match(text, at + 1, at + 1 + _PAST_BRACKET)
    if match and match[1] and label_key(match[1]) in scan.labels:
        return match.end(), (text[at : match.end()],)
    if label is not None and label_key(label) in scan.labels:
        end = match.end() if match and not match[1] else at + 1
        return end, (f"][{label}]",)
    return None, ()


def _value(plain: str, raw: str, before: str, after: str, syntax: Syntax) -> Value:
    def write(text: str) -> str:
        return before + (text.replace(after, "\\" + after) if after else text) + after

    builder = BlockBuilder(Syntax(syntax.escape))
    builder.text(plain)
    return Value(tuple(builder.finish()), raw, write)


def _plain(text: str) -> str:
    """Text without backslashes, references and emphasis."""
    bare = re.sub(r"\\([!-/:-@\[-`{-~])|[*_`]", lambda match: match[1] or "", text)
    return unescape(bare)


def _pair(scan: _Scan, first: int) -> None:
    """Find the emphasis among the runs from number `first` on, which are then used up."""
    for start, opened, closed, end in emphasis_pairs(scan.runs[first:]):
        name = scan.text[start]
        scan.items.append(_Item(start, opened, "begin", name=name, number=end))
        scan.items.append(_Item(closed, end, "end", name=name, number=end))
    del scan.runs[first:]


def _emit(scan: _Scan, builder: BlockBuilder) -> None:
    """Add all to the block, in order."""
    position, text = 0, scan.text
    for item in sorted(scan.items, key=lambda item: item.start):
        if item.start < position:
            continue
        _literal(builder, text[position : item.start])
        raw = text[item.start : item.end]
        name = f"{item.name}{item.number or ''}"
        position = item.end
        if item.kind == "text":
            builder.text(item.text, raw)
        elif item.kind == "code":
            builder.verbatim(item.text, raw)
        elif item.kind == "point":
            builder.point(*(item.parts or (raw,)))
        elif item.kind == "end":
            builder.end(name, *(item.parts or (raw,)))
        else:
            in_word = ("*" * len(raw),) * 2 if item.name == "_" else None
            tight = item.name in ("*", "_", "~")
            builder.begin(name, (raw,), tight=tight, in_word=in_word)
    _literal(builder, text[position:])


def _literal(builder: BlockBuilder, text: str) -> None:
    if text:
        builder.text(text)


_STEPS: dict[str, Callable[[_Scan, int], int | None]] = {
    "\\": _backslash,
    "`": _code,
    "*": _emphasis,
    "_": _emphasis,
    "~": _emphasis,
    "[": _bracket,
    "]": _close_bracket,
    "!": _exclamation,
    "<": _less,
    "&": _entity,
    "$": _verbatim(_MATH),
    "{": _verbatim(_TEMPLATE),
}
