"""XLIFF 1.2 and 2: missing targets are filled in, and their state says that they need review.

A target is missing if it is empty, or a copy of the source in the state of something new. Units
with translate="no" and alternative translations are kept. The state is `needs-review-translation`
in 1.2 and `initial` in 2, or, for finished translations, `translated` in both.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from regard.documents.blocks import Value, blocks, unescaped
from regard.documents.catalogs.coded_segments import (
    Edits,
    line_lead,
    prefix,
    raw_text,
    segment_parts,
    set_attribute,
)
from regard.documents.catalogs.target_language import check_target_language
from regard.documents.document import DocumentOptions, TextDocument
from regard.documents.xml_tokens import XmlToken, xml_tokens
from regard.errors import InputError

_UNITS = frozenset({"trans-unit", "segment"})
_CHILDREN = frozenset({"source", "seg-source", "target"})
_NEW = frozenset({"new", "initial", "needs-translation", "needs-l10n"})


@dataclass
class _Open:
    """An open element: its first token, what it inherits, and the spans of its children."""

    first: int
    name: str
    translate: bool
    preserve: bool
    children: dict[str, tuple[int, int]] = field(default_factory=dict)


def parse_xliff(source: str, options: DocumentOptions) -> TextDocument:
    """The sources of the units without a target."""
    tokens = list(xml_tokens(source))
    root = next((token for token in tokens if token.kind in ("start", "empty")), None)
    if root is None or root.name != "xliff":
        raise InputError("this is XML but not an XLIFF document; export it again as XLIFF.")
    second = root.get("version").startswith("2")
    reader = _UnitReader(source, tokens, options, second, Edits(source))
    for declared in reader.declared_languages(root):
        check_target_language(declared, options)
    stack: list[_Open] = []
    num_units = 0  # that are open; a unit inside of another's source is part of its text
    for number, token in enumerate(tokens):
        if token.kind == "start":
            parent = stack[-1] if stack else _Open(0, "", True, False)
            translate = {"yes": True, "no": False}.get(token.get("translate"), parent.translate)
            space = {"preserve": True, "default": False}.get(token.get("xml:space"))
            preserve = parent.preserve if space is None else space
            stack.append(_Open(number, token.name, translate, preserve))
            num_units += token.name in _UNITS
        elif token.kind in ("end", "empty"):
            closed = stack.pop() if token.kind == "end" else _Open(number, token.name, True, False)
            num_units -= token.kind == "end" and closed.name in _UNITS
            parent_name = stack[-1].name if stack else ""
            if parent_name in _UNITS and token.name in _CHILDREN:
                stack[-1].children[token.name] = closed.first, number
            elif closed.name in _UNITS and not num_units and closed.translate:
                reader.unit(closed)
    reader.declare_language(root)
    return reader.edits.document()


@dataclass
class _UnitReader:
    source: str
    tokens: Sequence[XmlToken]
    options: DocumentOptions
    second: bool
    edits: Edits
    filled: int = 0

    def unit(self, unit: _Open) -> None:
        """Fill the target of a unit (1.2) or segment (2), if it has a source."""
        if "source" not in unit.children:
            return
        first, last = unit.children["source"]
        inside = self.tokens[first + 1 : last]
        if not self._is_due(unit, raw_text(inside)):
            return
        parts = segment_parts(inside, unit.preserve)
        if not any(True for _ in blocks(parts)):
            return
        value = Value(parts, None, unescaped)
        finished = "translated"
        state = finished if not self.options.fuzzy else "needs-review-translation"
        if self.second:
            state = finished if not self.options.fuzzy else "initial"
            tag = self.tokens[unit.first]
            self.edits.replace(tag.start, tag.end, set_attribute(tag, "state", state))
        self._write(unit, value, "" if self.second else state)
        self.filled += 1

    def _is_due(self, unit: _Open, content: str) -> bool:
        if "target" not in unit.children or self.options.replace:
            return True
        first, last = unit.children["target"]
        target = raw_text(self.tokens[first + 1 : last])
        state = self.tokens[first].get("state") or self.tokens[unit.first].get("state")
        return not target.strip() or (state in _NEW and target == content)

    def _write(self, unit: _Open, value: Value, state: str) -> None:
        """Put the value into the target, or into a new one after the source."""
        first = self.tokens[unit.children["source"][0]]
        name = f"{prefix(first)}target"
        if "target" not in unit.children:
            child = "seg-source" if "seg-source" in unit.children else "source"
            after = self.tokens[unit.children[child][1]]
            lead = line_lead(self.source, first.start)
            opening = f'<{name} state="{state}">' if state else f"<{name}>"
            self.edits.replace(after.end, after.end, lead, opening, value, f"</{name}>")
            return
        start, end = (self.tokens[number] for number in unit.children["target"])
        opening = set_attribute(start, "state", state) if state else start.raw
        if start.kind == "empty":
            opening = opening[:-2].rstrip() + ">"
            self.edits.replace(start.start, start.end, opening, value, f"</{name}>")
        else:
            self.edits.replace(start.start, end.start, opening, value)

    def declared_languages(self, root: XmlToken) -> list[str]:
        """The target language of each part of the document, empty where it declares none."""
        name, tags = self._declarations(root)
        return [tag.get(name) for tag in tags]

    def declare_language(self, root: XmlToken) -> None:
        """State the target language where the document does not yet."""
        if not self.filled or not self.options.target:
            return
        name, tags = self._declarations(root)
        for tag in tags:
            if not tag.get(name):
                made = set_attribute(tag, name, self.options.target)
                self.edits.replace(tag.start, tag.end, made)

    def _declarations(self, root: XmlToken) -> tuple[str, list[XmlToken]]:
        """The attribute for the target language, and the tags that may have it."""
        if self.second:
            return "trgLang", [root]
        files = (token for token in self.tokens if token.kind == "start" and token.name == "file")
        return "target-language", list(files)
