"""DOCX: the paragraphs of the text, of headers, footers, notes and comments.

The text of a paragraph is in runs, each with its format. Runs with the paragraph's main format are
plain text; a run with another format is an element around its words, as links and fields are. New
text is written in runs with the format of the element it is in.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from regard.documents.blocks import BlockBuilder, Part, Syntax, Value, code_text, unescaped
from regard.documents.office.xml_tree import XmlMember, full_name
from regard.documents.xml_tokens import escape_xml, text_pieces, unescape_xml

MEMBERS = re.compile(r"word/(?:document|header|footer|footnotes|endnotes|comments)\d*+\.xml")
_ENCLOSING = frozenset(
    {
        "hyperlink",
        "ins",
        "moveTo",
        "smartTag",
        "sdt",
        "fldSimple",
        "dir",
        "bdo",
        "customXml",
    }
)
_PROPERTIES = frozenset(
    {
        "pPr",
        "rPr",
        "sdtPr",
        "sdtEndPr",
        "smartTagPr",
        "customXmlPr",
        "tblPr",
        "fldData",
    }
)
_BREAKS = frozenset({"br", "cr", "tab", "ptab"})
_RANGE = re.compile(r"(\w+?)(?:Range)?(Start|End)$")
_TAG = re.compile(r"<[^<>]*>")
_CODE_STYLE = re.compile(
    r"<w:[pr]Style w:val=\"(?:Source\s?Code|Code|CodeBlock|Verbatim|HTMLPreformatted"
    r"|HTMLCode|SourceText|PreformattedText|PlainCode)\w*+\""
)
Format = str
"""The properties of a run, as they stand in the document."""


def docx_member(source: str) -> list[Part]:
    """The parts of an XML member."""
    member = XmlMember.of(source)
    return member.parts(0, len(member.tokens) - 1, _DocxReader(member).element)


class _DocxReader:
    def __init__(self, member: XmlMember) -> None:
        self.member = member

    def element(self, first: int, depth: int) -> Sequence[Part] | None:
        """The parts of a paragraph; None for anything else."""
        token = self.member.tokens[first]
        if full_name(token) != "w:p" or token.kind == "empty":
            return None
        return _Paragraph(self, first, depth).read()


class _Paragraph:
    """A paragraph that is being read.

    formats  the format of plain text: of the paragraph, then of each open element
    run      the format of the open element for a run, if one is open
    """

    def __init__(self, reader: _DocxReader, first: int, depth: int) -> None:
        self.reader, self.member = reader, reader.member
        self.first, self.last, self.depth = first, self.member.ends[first], depth
        self.formats = [self._main_format()]
        self.run: Format | None = None
        self.parts: list[Part] = []
        self.builder = self._builder()

    def read(self) -> list[Part]:
        """The paragraph as one value: unless a text in it changes, it stays as it is."""
        member = self.member
        raw = member.raw(self.first, self.last)
        tag = member.tokens[self.first].raw
        children = member.children(self.first)
        if children and member.tokens[children[0]].name == "pPr":
            properties = member.raw(children[0], member.ends[children[0]])
            if _CODE_STYLE.search(properties):
                return [raw]
            tag += properties
            children = children[1:]
        self.parts.append(tag)
        for child in children:
            self._child(child)
        self._close()
        return [Value((*self.parts, member.tokens[self.last].raw), raw, unescaped)]

    def _main_format(self) -> Format:
        """The format of most of the text that is in no link or the like."""
        lengths: dict[Format, int] = {}
        for child in self.member.children(self.first):
            form = self._format(child)
            if form is not None:
                end = self.member.tokens[self.member.ends[child]].end
                size = end - self.member.tokens[child].start
                lengths[form] = lengths.get(form, 0) + size
        return max(lengths, key=lambda form: lengths[form], default="")

    def _format(self, first: int) -> Format | None:
        """The format of a run with text; None for anything else."""
        if self.member.tokens[first].name != "r" or self.member.tokens[first].kind != "start":
            return None
        form, has_text = "", False
        for child in self.member.children(first):
            name = self.member.tokens[child].name
            if name == "rPr":
                form = self.member.raw(child, self.member.ends[child])
            has_text |= name == "t"
        return form if has_text and not _CODE_STYLE.search(form) else None

    def _builder(self) -> BlockBuilder:
        return BlockBuilder(Syntax(escape_xml, wrap=_wrap(self.formats[0])))

    def _close(self) -> None:
        """End the block."""
        self._end_run()
        self.parts += self.builder.finish()
        self.builder = self._builder()

    def _child(self, first: int) -> None:
        """Add a child of the paragraph, or of an element in it."""
        member, token = self.member, self.member.tokens[first]
        if token.kind in ("text", "cdata", "other", "end"):
            if token.raw.strip():
                self.builder.point(token.raw)
            return
        last = member.ends[first]
        if token.name == "r" and token.kind == "start":
            self._read_run(first)
        elif token.name in _ENCLOSING and token.kind == "start":
            self._enclosing(first, last)
        elif match := _RANGE.match(token.name):
            self._end_run()
            key = f"{match[1]} {token.get('w:id')}"
            if match[2] == "Start":
                self.builder.begin(key, (member.raw(first, last),))
            else:
                self.builder.end(key, member.raw(first, last))
        else:
            self._end_run()
            self._point(first, last)

    def _enclosing(self, first: int, last: int) -> None:
        """A link, an insertion, a field or the like, with the runs in it."""
        self._end_run()
        member, children = self.member, self.member.children(first)
        opening, closing = member.tokens[first].raw, member.tokens[last].raw
        number = 0
        while number < len(children) and member.tokens[children[number]].name in _PROPERTIES:
            opening += member.raw(children[number], member.ends[children[number]])
            number += 1
        children = children[number:]
        content = children[0] if children else 0
        if member.tokens[first].name == "sdt" and member.tokens[content].name == "sdtContent":
            if member.tokens[content].kind == "empty":
                self._point(first, last)
                return
            opening += member.tokens[content].raw
            closing = member.tokens[member.ends[content]].raw + closing
            children = member.children(content)
        form = next(
            (format_ for child in children if (format_ := self._format(child)) is not None),
            self.formats[-1],
        )
        name = f"element {first}"
        self.builder.begin(name, (opening,), wrap=_wrap(form))
        self.formats.append(form)
        for child in children:
            self._child(child)
        self._end_run()
        self.formats.pop()
        self.builder.end(name, closing)

    def _read_run(self, first: int) -> None:
        """A run: its text, and whatever else is in it."""
        member, form = self.member, ""
        opening = member.tokens[first].raw
        for child in member.children(first):
            token = member.tokens[child]
            end = member.ends.get(child, child)
            if token.name == "rPr":
                form = member.raw(child, end)
                if _CODE_STYLE.search(form):
                    self._end_run()
                    raw = member.raw(first, member.ends[first])
                    text = unescape_xml(_TAG.sub("", raw))
                    self.builder.verbatim(code_text(text), raw)
                    return
            elif token.name == "t":
                self._text(child, form)
            elif token.name in _BREAKS:
                self._close()
                self.parts.append(opening + form + member.raw(child, end) + "</w:r>")
            elif token.name == "fldChar":
                self._field(token.get("w:fldCharType"), opening + form + token.raw + "</w:r>")
            elif token.name:
                self._end_run()
                self._point(child, end, opening + form, "</w:r>")

    def _text(self, first: int, form: Format) -> None:
        """The text of a `w:t`, in an element of its own if its format is not the main one."""
        if self.run != form:
            self._end_run()
        if self.run is None and form != self.formats[-1]:
            self.builder.begin("run", (), wrap=_wrap(form))
            self.run = form
        before, after = _wrap(form)
        for token in self.member.tokens[first + 1 : self.member.ends[first]]:
            cdata = token.kind == "cdata"
            pieces = [(token.raw[9:-3], token.raw)] if cdata else text_pieces(token.raw)
            for text, raw in pieces:
                if text:
                    self.builder.text(text, before + escape_xml(text) + after)
                else:
                    self.builder.point(before + raw + after)  # an entity, which is not expanded

    def _field(self, kind: str, raw: str) -> None:
        """The beginning, the separator or the end of a field."""
        self._end_run()
        if kind == "begin":
            self.builder.begin("field", (raw,))
        elif kind == "end":
            self.builder.end("field", raw)
        else:
            self.builder.point(raw)

    def _point(self, first: int, last: int, before: str = "", after: str = "") -> None:
        """Something that is not text; paragraphs inside of it are translated by themselves."""
        member, token = self.member, self.member.tokens[first]
        parts: list[Part] = [member.raw(first, last)]
        if token.kind == "start":
            parts = member.parts(first, last, self.reader.element, self.depth + 1)
        self.builder.point(*(part for part in (before, *parts, after) if part != ""))

    def _end_run(self) -> None:
        if self.run is not None:
            self.builder.end("run")
            self.run = None


def _wrap(form: Format) -> tuple[str, str]:
    """What stands around text of a format."""
    return f'<w:r>{form}<w:t xml:space="preserve">', "</w:t></w:r>"
