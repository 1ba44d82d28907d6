"""The structure of Markdown, line by line: which lines are prose, and which belong together.

Code (fenced or indented), HTML comments, thematic breaks and the like are kept verbatim; a
paragraph is one block, and becomes one line if it is translated. HTML between blank lines goes
through the HTML reader, front matter through the YAML reader (title, description and the like).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from regard.documents.blocks import BlockBuilder, Part, Syntax
from regard.documents.document import TextDocument
from regard.documents.html import parse_html
from regard.documents.markdown.escapes import CELL, LINE, PROSE
from regard.documents.markdown.inline import add_inline, label_key
from regard.documents.tables.yaml_table import parse_yaml
from regard.errors import InputError

PROSE_KEYS = frozenset(
    {
        "title",
        "subtitle",
        "description",
        "summary",
        "abstract",
        "excerpt",
        "caption",
        "alt",
        "headline",
        "tagline",
        "lead",
        "linktitle",
        "sidebar_label",
    }
)
"""Keys of front matter whose values are prose."""
_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n|$)")
_FRONT_BEGIN = re.compile(r"---[ \t]*+\r?\n")
_FRONT_END = re.compile(r"^(?:---|\.\.\.)[ \t]*+(?:\r?\n|\Z)", re.MULTILINE)
_QUOTE = re.compile(r" {0,3}>[ \t]?")
_ITEM = re.compile(r"([ \t]*)([-+*]|\d{1,9}[.)])([ \t]+(?:\[[ xX]\][ \t]+)?|$)")
_HEADING = re.compile(r" {0,3}#{1,6}[ \t]+")
_UNDERLINE = re.compile(r" {0,3}(?:=+|-+)[ \t]*$")
_BREAK = re.compile(r" {0,3}(?:(?:\*[ \t]*){3,}|(?:-[ \t]*){3,}|(?:_[ \t]*){3,})$")
_FENCE = re.compile(r"[ \t]*(`{3,}+(?!.*`)|~{3,}|\${2}(?!.*\$)|:{3,})")
_DEFINITION = re.compile(r" {0,3}\[((?:[^\[\]\\^]|\\.)(?:[^\[\]\\]|\\.){0,998})\]:[ \t]*\S")
_FOOTNOTE = re.compile(r" {0,3}\[\^[^\]\s]{1,200}\]:[ \t]*")
_TABLE_RULE = re.compile(
    r"[ \t]*+\|?+[ \t]*+:?+-++:?+[ \t]*+(?:\|[ \t]*+:?+-++:?+[ \t]*+)*+\|?+[ \t]*+$"
)
_TICKS = re.compile(r"`+")
_CELL = re.compile(r"((?:[^|\\`]++|\\.|`[^`]*+`|`|\\$)*+)(\||$)")  # of a row without two backticks
_CELL_MARK = re.compile(r"[|\\`]")
_VERBATIM_HTML = (
    (
        re.compile(r" {0,3}<(?:script|pre|style|textarea)(?=[\s>]|$)", re.I),
        re.compile(r"</(?:script|pre|style|textarea)>", re.I),
    ),
    (re.compile(r" {0,3}<!--"), re.compile(r"-->")),
    (re.compile(r" {0,3}<\?"), re.compile(r"\?>")),
    (re.compile(r" {0,3}<!\[CDATA\["), re.compile(r"\]\]>")),
    (re.compile(r" {0,3}<![A-Za-z]"), re.compile(r">")),
)
_BLOCK_TAGS = (
    "address|article|aside|base|basefont|blockquote|body|caption|center|col|colgroup|dd|details|"
    "dialog|dir|div|dl|dt|fieldset|figcaption|figure|footer|form|frame|frameset|h[1-6]|head|"
    "header|hr|html|iframe|legend|li|link|main|menu|menuitem|nav|noframes|ol|optgroup|option|p|"
    "param|search|section|summary|table|tbody|td|tfoot|th|thead|title|tr|track|ul"
)
_HTML = re.compile(rf" {{0,3}}</?(?:{_BLOCK_TAGS})(?=[\s/>]|$)", re.I)
_LONE_TAG = re.compile(r" {0,3}</?[A-Za-z][A-Za-z0-9-]*(?:\s[^<>]*)?>[ \t]*$")
_HARD_BREAK = re.compile(r"(?:(?<! ) {2,}+|\\)$")
MAX_MARKS = 100
"""List items that begin on one line; further marks are text."""
MAX_COLUMN = 200
"""The column at which the content of a list item begins, at most."""


def parse_markdown(source: str) -> TextDocument:
    """The prose of a Markdown document.

    >>> parse_markdown("# A *cat*\\n\\nIt\\nsleeps.\\n\\n    code\\n").texts
    ['A cat', 'It sleeps.']
    """
    front = _front_matter(source)
    body = source[sum(map(len, front[1])) :] if front else source
    lines = [line for line in _LINE.findall(body) if line]
    labels = {
        label_key(match[1]) for line in lines if (match := _DEFINITION.match(_unquoted(line)))
    }
    parser = _Parser(frozenset(labels))
    for line in lines:
        parser.line(line)
    parser.finish()
    return TextDocument((*(front[0] if front else ()), *parser.parts))


def _front_matter(source: str) -> tuple[tuple[Part, ...], list[str]] | None:
    """The parts of the YAML at the beginning, and its text."""
    begin = _FRONT_BEGIN.match(source)
    end = _FRONT_END.search(source, begin.end()) if begin else None
    if end is None:
        return None
    lines = _LINE.findall(source[: end.end()])
    lines = [line for line in lines if line]
    inside = "".join(lines[1:-1])
    try:
        parts = parse_yaml(inside, lambda key: key.lower() in PROSE_KEYS).parts
    except InputError:
        parts = (inside,)
    return (lines[0], *parts, lines[-1]), lines


def _unquoted(line: str) -> str:
    at = 0
    while match := _QUOTE.match(line, at):
        at = match.end()
    return line[at:]


@dataclass
class _Parser:
    """The lines read so far.

    paragraph  prefix, content and line end of the lines of the open paragraph
    items      columns at which the content of the open list items begins
    until      what ends the verbatim lines that are open, as a function of the line's content
    """

    labels: frozenset[str]
    parts: list[Part] = field(default_factory=list)
    paragraph: list[tuple[str, str, str]] = field(default_factory=list)
    items: list[int] = field(default_factory=list)
    quotes: int = 0
    fence: str = ""
    until: re.Pattern[str] | None = None
    html: list[str] | None = None
    table: bool = False
    after_blank: bool = True

    def line(self, raw: str) -> None:
        """Read a line."""
        content = raw.rstrip("\r\n")
        prefix, rest, depth = self._quotes(content)
        end = raw[len(content) :]
        if self.fence or self.until or self.html is not None:
            self._inside(raw, rest)
            return
        if not rest.strip():
            self._close()
            self.parts.append(raw)
            self.after_blank, self.table = True, False
            return
        if depth != self.quotes and (self.after_blank or depth > self.quotes):
            self._close()
            self.items, self.quotes = [], depth
        self._block(raw, prefix, rest, end)
        self.after_blank = False

    def finish(self) -> None:
        """The end of the document."""
        self._close()

    def _quotes(self, content: str) -> tuple[str, str, int]:
        """The marks of block quotes, the rest of the line, and their number."""
        at = depth = 0
        while match := _QUOTE.match(content, at):
            at, depth = match.end(), depth + 1
        return content[:at], content[at:], depth

    def _inside(self, raw: str, rest: str) -> None:
        """A line inside of code, or of HTML."""
        if self.html is not None:
            if rest.strip():
                self.html.append(raw)
                return
            self._close()
            self.parts.append(raw)
            self.after_blank = True
            return
        self.parts.append(raw)
        bare = rest.strip()
        if self.fence and bare.startswith(self.fence) and not bare.strip(self.fence[0]):
            self.fence = ""
        elif self.until and self.until.search(rest):
            self.until = None

    def _block(self, raw: str, prefix: str, rest: str, end: str) -> None:
        """A line that is not blank, outside of code."""
        indent = _width(rest)
        base = self._base(indent)
        if not self.paragraph and not self.table and indent - base >= 4:
            self.parts.append(raw)  # indented code
            return
        for _ in range(MAX_MARKS):
            item = self._item(rest, indent - base)
            if item is None:
                break
            self._close()
            prefix, rest = prefix + item[0], rest[item.end() :]
            start = min(_width(item[1]) + self._column(prefix, item), MAX_COLUMN)
            if start in self.items:  # which is as deep as a later one
                self.items.remove(start)
            self.items.append(start)
            indent = base = 0
            if not rest.strip():
                self.parts.append(raw)
                return
        if not self._leaf(raw, prefix, rest, end):
            self.paragraph.append((prefix, rest, end))

    def _column(self, prefix: str, item: re.Match[str]) -> int:
        previous = self.items[-1] if len(self.items) and not item[1] else 0
        spaces = item[3] if len(item[3]) <= 4 or "[" in item[3] else " "
        spaces = spaces.partition("[")[0] or " "
        return previous + len(item[2]) + len(spaces.expandtabs(4))

    def _item(self, rest: str, indent: int) -> re.Match[str] | None:
        """The mark of a list item, if the line begins with one."""
        if indent >= 4 or _BREAK.match(rest) or _UNDERLINE.match(rest):
            return None if not (rest.strip() in "-+*" and not self.paragraph) else _ITEM.match(rest)
        item = _ITEM.match(rest)
        if item and self.paragraph and not self.items:
            interrupts = rest[item.end() :].strip() and item[2] in ("-", "+", "*", "1.", "1)")
            return item if interrupts else None
        return item

    def _base(self, indent: int) -> int:
        """The column at which content begins; list items that are not indented enough end."""
        if self.paragraph and not self.after_blank:
            return max((start for start in self.items if start <= indent), default=0)
        while self.items and self.items[-1] > indent:
            self.items.pop()
        return self.items[-1] if self.items else 0

    def _leaf(self, raw: str, prefix: str, rest: str, end: str) -> bool:
        """A line that is not part of a paragraph, or ends one; returns whether it was read."""
        bare = rest.lstrip()
        if fence := _FENCE.match(rest):
            self._close()
            self.fence = fence[1] if fence[1][0] != ":" else ""
            self.parts.append(raw)
        elif self.paragraph and _UNDERLINE.match(bare):
            self._close(LINE)
            self.parts.append(raw)
        elif _BREAK.match(bare):
            self._close()
            self.parts.append(raw)
        elif heading := _HEADING.match(bare):
            self._close()
            begin = heading.end()
            stop = begin + _heading_end(bare[begin:])
            lead = prefix + rest[: len(rest) - len(bare)] + heading[0]
            self.parts += (lead, *self._inline(bare[begin:stop], LINE), bare[stop:] + end)
        elif self._html(raw, bare):
            pass
        elif not self.paragraph and _DEFINITION.match(bare):
            self.parts.append(raw)
        elif self.table or self._begins_table(bare):
            self._row(prefix, rest, end)
        elif footnote := _FOOTNOTE.match(bare):
            self._close()
            lead = rest[: len(rest) - len(bare)] + footnote[0]
            self.paragraph.append((prefix + lead, bare[footnote.end() :], end))
            self.items = [4]
        else:
            return False
        return True

    def _html(self, raw: str, bare: str) -> bool:
        for begin, until in _VERBATIM_HTML:
            if begin.match(bare):
                self._close()
                self.parts.append(raw)
                self.until = None if until.search(bare) else until
                return True
        if _HTML.match(bare) or (not self.paragraph and _LONE_TAG.match(bare)):
            self._close()
            self.html = [raw]
            return True
        return False

    def _begins_table(self, bare: str) -> bool:
        """Whether this is the rule under the head of a table, which was taken for a paragraph."""
        if len(self.paragraph) != 1 or "|" not in bare + self.paragraph[0][1]:
            return False
        if not _TABLE_RULE.match(bare) or "-" not in bare:
            return False
        head = self.paragraph.pop()
        self._row(*head)
        self.table = True
        return True

    def _row(self, prefix: str, rest: str, end: str) -> None:
        self.parts.append(prefix)
        if _TABLE_RULE.match(rest):
            self.parts.append(rest + end)
            return
        for cell in _cells(rest):
            self.parts += self._inline(cell, CELL) if cell != "|" else ("|",)
        self.parts.append(end)

    def _close(self, syntax: Syntax = PROSE) -> None:
        """End the paragraph or the HTML that is open."""
        if self.html is not None:
            self.parts += parse_html("".join(self.html)).parts
            self.html = None
        if self.paragraph:
            lines, self.paragraph = self.paragraph, []
            self.parts += self._paragraph(lines, syntax)

    def _paragraph(self, lines: list[tuple[str, str, str]], syntax: Syntax) -> Iterator[Part]:
        """The blocks of a paragraph: one, or several between hard line breaks."""
        begun: list[tuple[str, str, str]] = []
        for number, (prefix, content, end) in enumerate(lines):
            begun.append((prefix, content, end))
            hard = _HARD_BREAK.search(content)
            if hard and number + 1 < len(lines):
                begun[-1] = prefix, content[: hard.start()], hard[0] + end
            elif number + 1 < len(lines):
                continue
            yield begun[0][0]
            raw = "".join(
                (before if n else "") + text + (after if n + 1 < len(begun) else "")
                for n, (before, text, after) in enumerate(begun)
            )
            joined = "\n".join(text for _, text, _ in begun)
            yield from self._inline(joined, syntax, raw)
            yield begun[-1][2]
            begun = []

    def _inline(self, text: str, syntax: Syntax, raw: str | None = None) -> tuple[Part, ...]:
        builder = BlockBuilder(syntax)
        add_inline(builder, text, self.labels)
        return tuple(builder.finish(text if raw is None else raw))


def _heading_end(text: str) -> int:
    """Where a heading's text ends: before closing number signs and attributes.

    >>> _heading_end("One ## {#id} "), _heading_end("C#"), _heading_end("a {b} c")
    (3, 2, 7)
    """
    bare = text.rstrip(" \t")
    opening = bare.rfind("{")
    if bare.endswith("}") and opening > bare.rfind("}", 0, len(bare) - 1):
        bare = bare[:opening].rstrip(" \t")
    title = bare.rstrip("#")
    spaced = len(title) < len(bare) and title.endswith((" ", "\t"))
    return len(title.rstrip(" \t")) if spaced else len(bare)


def _cells(row: str) -> Iterator[str]:
    r"""The cells of a table's row, and the bars between them.

    A bar after a backslash, or inside of code, separates nothing. Code is between runs of
    backticks; one that is longer than all others after it begins code with fewer of them.

    >>> list(_cells("| a | `b | c` |"))
    ['|', ' a ', '|', ' `b | c` ', '|']
    """
    if "``" not in row:
        yield from (piece for cell in _CELL.findall(row) for piece in cell if piece)
        return
    runs = [match.span() for match in _TICKS.finditer(row)]
    longest = [0]  # of the runs after each one
    for start, end in reversed(runs):
        longest.append(max(longest[-1], end - start))
    longest.reverse()
    number = begin = at = 0
    while mark := _CELL_MARK.search(row, at):
        at = mark.end()
        if mark[0] == "\\":
            at += 1
        elif mark[0] == "|":
            yield from (piece for piece in (row[begin : mark.start()], "|") if piece)
            begin = at
        else:
            while runs[number][1] < at:
                number += 1
            run_end = runs[number][1]
            left = run_end - mark.start()
            size = max(left // 2, min(left, longest[number + 1]))
            if size and left >= 2 * size:
                at = mark.start() + 2 * size
            elif size:
                number += 1
                while runs[number][1] - runs[number][0] < size:
                    number += 1
                at = runs[number][0] + size
    if begin < len(row):
        yield row[begin:]


def _width(line: str) -> int:
    """The columns of white space at a line's beginning."""
    lead = line[: len(line) - len(line.lstrip(" \t"))]
    return len(lead.expandtabs(4))
