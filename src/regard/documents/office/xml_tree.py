"""The tokens of an XML member with the ends of its elements, and paragraphs inside paragraphs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

from regard.documents.blocks import Part
from regard.documents.xml_tokens import XmlToken, xml_tokens
from regard.errors import InputError

MAX_NESTING = 20


@dataclass(frozen=True, eq=False)
class XmlMember:
    """The tokens of an XML document."""

    source: str
    tokens: Sequence[XmlToken]

    @classmethod
    def of(cls, source: str) -> XmlMember:
        """Tokenize a document."""
        return cls(source, list(xml_tokens(source)))

    @cached_property
    def ends(self) -> dict[int, int]:
        """The number of the last token of each element, by that of its first."""
        ends: dict[int, int] = {}
        opened: list[int] = []
        for number, token in enumerate(self.tokens):
            if token.kind == "start":
                opened.append(number)
            elif token.kind == "end":
                ends[opened.pop()] = number
            elif token.kind == "empty":
                ends[number] = number
        return ends

    def raw(self, first: int, last: int) -> str:
        """The text from one token to another, both included."""
        return self.source[self.tokens[first].start : self.tokens[last].end]

    def children(self, first: int) -> list[int]:
        """The numbers of the tokens that begin the children of an element, text included."""
        numbers, number, end = [], first + 1, self.ends[first]
        while number < end:
            numbers.append(number)
            number = self.ends.get(number, number) + 1
        return numbers

    def parts(
        self,
        first: int,
        last: int,
        reader: Callable[[int, int], Sequence[Part] | None],
        depth: int = 0,
    ) -> list[Part]:
        """The parts of some tokens.

        reader  gives the parts of an element (its first token, and the depth of paragraphs inside
                each other), or None for an element whose content is read in turn
        """
        if depth > MAX_NESTING:
            raise InputError(f"more than {MAX_NESTING} paragraphs are inside each other.")
        parts: list[Part] = []
        done = self.tokens[first].start if first < len(self.tokens) else len(self.source)
        number = first
        while number <= last:
            token = self.tokens[number]
            made = reader(number, depth) if token.kind in ("start", "empty") else None
            if made is None:
                number += 1
                continue
            parts += (self.source[done : token.start], *made)
            number = self.ends[number]
            done = self.tokens[number].end
            number += 1
        end = self.tokens[last].end if last >= first else done
        return [*parts, self.source[done:end]]


def full_name(token: XmlToken) -> str:
    """A tag's name with its prefix; empty for anything else."""
    if not token.name:
        return ""
    start = 2 if token.kind == "end" else 1
    return token.raw[start : token.raw.index(token.name, start) + len(token.name)]
