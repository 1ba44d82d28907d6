"""ODT: paragraphs and headings of content.xml, headers and footers of styles.xml."""

from __future__ import annotations

from collections.abc import Sequence

from regard.documents.blocks import BlockBuilder, Part, Syntax
from regard.documents.office.xml_tree import XmlMember, full_name
from regard.documents.xml_tokens import XmlToken, escape_xml, text_pieces

SYNTAX = Syntax(escape_xml)
_PARAGRAPHS = frozenset({"text:p", "text:h"})
_SKIPPED = frozenset({"text:tracked-changes", "office:meta", "office:scripts", "math:math"})
_ENCLOSING = frozenset({"text:span", "text:a", "text:meta"})
_BREAKS = frozenset({"text:tab", "text:line-break"})
_PAIRS = ("text:bookmark", "text:reference-mark", "text:change")
_CODE_STYLES = ("Preformatted", "Source_20_", "SourceCode", "Source_Text", "Verbatim")
_MAX_SPACES = 1000


def odt_member(source: str) -> list[Part]:
    """The parts of an XML member."""
    member = XmlMember.of(source)
    reader = _OdtReader(member)
    return member.parts(0, len(member.tokens) - 1, reader.element)


class _OdtReader:
    def __init__(self, member: XmlMember) -> None:
        self.member = member

    def element(self, first: int, depth: int) -> Sequence[Part] | None:
        """The parts of a paragraph; of what is skipped, its text; None for anything else."""
        token = self.member.tokens[first]
        name = full_name(token)
        if name in _SKIPPED:
            return [self.member.raw(first, self.member.ends[first])]
        if name not in _PARAGRAPHS or token.kind == "empty":
            return None
        if token.get("text:style-name").startswith(_CODE_STYLES):
            return [self.member.raw(first, self.member.ends[first])]
        return self._paragraph(first, depth)

    def _paragraph(self, first: int, depth: int) -> list[Part]:
        member, last = self.member, self.member.ends[first]
        parts: list[Part] = [member.tokens[first].raw]
        builder = BlockBuilder(SYNTAX)
        number = first + 1
        while number < last:
            token = member.tokens[number]
            name = full_name(token)
            if name in _BREAKS:
                end = member.ends.get(number, number)
                parts += (*builder.finish(), member.raw(number, end))
                builder = BlockBuilder(SYNTAX)
                number = end + 1
            else:
                number = self._inline(builder, number, name, depth)
        return [*parts, *builder.finish(), member.tokens[last].raw]

    def _inline(self, builder: BlockBuilder, number: int, name: str, depth: int) -> int:
        """Add what begins at a token to the block; returns the number of the next token."""
        member, token = self.member, self.member.tokens[number]
        if token.kind in ("text", "cdata"):
            _add_text(builder, token)
        elif name == "text:s":
            count = token.get("text:c")
            spaces = min(int(count[:9]), _MAX_SPACES) if count.isdecimal() else 1
            end = member.ends.get(number, number)
            builder.text(" " * spaces, member.raw(number, end))
            return end + 1
        elif name in _ENCLOSING and not token.get("text:style-name").startswith(_CODE_STYLES):
            if token.kind == "start":
                builder.begin(name, (token.raw,))
            elif token.kind == "end":
                builder.end(name, token.raw)
            else:
                builder.point(token.raw)
        elif pair := next((pair for pair in _PAIRS if name.startswith(f"{pair}-")), None):
            end = member.ends.get(number, number)
            key = f"{pair} {token.get('text:name') or token.get('text:change-id')}"
            if name == f"{pair}-start":
                builder.begin(key, (member.raw(number, end),))
            else:
                builder.end(key, member.raw(number, end))
            return end + 1
        elif token.kind == "start":
            end = member.ends[number]
            builder.point(*member.parts(number, end, self.element, depth + 1))
            return end + 1
        else:
            builder.point(token.raw)
        return number + 1


def _add_text(builder: BlockBuilder, token: XmlToken) -> None:
    if token.kind == "cdata":
        builder.text(token.raw[9:-3], token.raw)
        return
    for text, raw in text_pieces(token.raw):
        if text:
            builder.text(text, raw)
        else:
            builder.point(raw)
