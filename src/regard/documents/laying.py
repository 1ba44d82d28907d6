"""A block's translation with its inline elements around the words that theirs are linked to."""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence

from regard.documents.blocks import Attribute, Block, Element
from regard.documents.places import Linked, Places

Found = Mapping[Block | Attribute, Linked]
Span = tuple[int, int]
SMALL = frozenset({"sup", "sub"})


def rendered(block: Block, found: Found) -> str:
    """A block with its translation."""
    translation = found[block]
    text = translation.text
    line = _Line(found)
    _lay(line, block.inner, (0, len(block.text)), (0, len(text)), Places(block.text, translation))
    return _escaped(block.before) + "".join(line.made) + _escaped(block.after)


def written(markup: Sequence[str | Attribute], found: Found) -> str:
    """Markup with its attributes translated."""
    made = []
    for part in markup:
        if isinstance(part, Attribute):
            escaped = _escaped(found[part].text)
            escaped = escaped.replace(part.quote, "&quot;" if part.quote == '"' else "&#x27;")
            made += [part.quote, escaped, part.quote]
        else:
            made.append(part)
    return "".join(made)


class _Line:
    """What is written so far.

    apart  whether a space, or nothing, is before what comes next
    glued  what followed the last element in the source without a space, where one may follow now
    """

    def __init__(self, found: Found) -> None:
        self.made: list[str] = []
        self.found = found
        self.apart = True
        self.glued = ""

    def text(self, text: str) -> None:
        if not text:
            return
        if self.glued and text[0] == " " and self.glued.isalnum() == text[1:2].isalnum():
            text = text[1:]
        self.made.append(_escaped(text))
        self.apart, self.glued = text.endswith(" "), ""

    def opening(self, one: Element) -> None:
        if one.start == one.end and one.apart and not self.apart:
            self.made.append(" ")
            self.apart = True
        self.made.append(written(one.opening, self.found))

    def closing(self, one: Element) -> None:
        self.made.append(one.closing)
        if one.start == one.end:
            self.apart, self.glued = False, one.glued or self.glued


def _lay(
    line: _Line, elements: Sequence[Element], source: Span, target: Span, places: Places
) -> None:
    """Write the translation from one place to another, with the elements of its source."""
    at, end = target
    laid = [(_target(one, source, target, places), one) for one in elements]
    for (first, last), one in sorted(laid, key=lambda pair: pair[0][0]):
        first = min(max(first, at), end)
        last = min(max(last, first), end)
        line.text(places.text[at:first])
        line.opening(one)
        _lay(line, one.inner, (one.start, one.end), (first, last), places)
        line.closing(one)
        at = last
    line.text(places.text[at:end])


def _target(one: Element, source: Span, target: Span, places: Places) -> Span:
    """Where an element goes; what stands by itself keeps to the start or end that it was at."""
    if one.start == one.end and one.start in source:
        return (target[source.index(one.start)],) * 2
    return places.target(one.start, one.end, one.name in SMALL)


def _escaped(text: str) -> str:
    return html.escape(text, quote=False)
