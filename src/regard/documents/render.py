"""A block's translation with its inline elements around the words that theirs are linked to."""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence

from regard.documents.blocks import Attribute, Block, Element, Part
from regard.documents.projection import LinkedTranslation, Span, SpanProjection

Translations = Mapping[Block | Attribute, LinkedTranslation]
SMALL = frozenset({"sup", "sub"})


def render_part(block: Part, translations: Translations) -> str:
    """A block with its translation; markup with its attributes translated."""
    if not isinstance(block, Block):
        return _render_markup((block,), translations)
    translation = translations[block]
    output = _Output(translations)
    projection = SpanProjection(block.text, translation)
    source, target = (0, len(block.text)), (0, len(translation.text))
    _render(output, block.inner, source, target, projection)
    return _escape(block.before) + "".join(output.pieces) + _escape(block.after)


def _render_markup(markup: Sequence[str | Attribute], translations: Translations) -> str:
    pieces = []
    for part in markup:
        if isinstance(part, Attribute):
            escaped = _escape(translations[part].text)
            escaped = escaped.replace(part.quote, "&quot;" if part.quote == '"' else "&#x27;")
            pieces += [part.quote, escaped, part.quote]
        else:
            pieces.append(part)
    return "".join(pieces)


class _Output:
    """The text that is rendered so far.

    after_space  whether the next piece follows a space, or nothing
    glued        what followed the last element in the source without a space, where one may follow
    """

    def __init__(self, translations: Translations) -> None:
        self.pieces: list[str] = []
        self.translations = translations
        self.after_space = True
        self.glued = ""

    def text(self, text: str) -> None:
        if not text:
            return
        if self.glued and text[0] == " " and self.glued.isalnum() == text[1:2].isalnum():
            text = text[1:]
        self.pieces.append(_escape(text))
        self.after_space, self.glued = text.endswith(" "), ""

    def open(self, element: Element) -> None:
        if element.is_empty and element.after_space and not self.after_space:
            self.pieces.append(" ")
            self.after_space = True
        self.pieces.append(_render_markup(element.opening, self.translations))

    def close(self, element: Element) -> None:
        self.pieces.append(element.closing)
        if element.is_empty:
            self.after_space, self.glued = False, element.glued or self.glued


def _render(
    output: _Output,
    elements: Sequence[Element],
    source: Span,
    target: Span,
    projection: SpanProjection,
) -> None:
    """Write a span of the translation, with the elements of its source span."""
    position, end = target
    projected = [(_target(element, source, target, projection), element) for element in elements]
    for (first, last), element in sorted(projected, key=lambda pair: pair[0][0]):
        first = min(max(first, position), end)
        last = min(max(last, first), end)
        output.text(projection.text[position:first])
        output.open(element)
        _render(output, element.inner, (element.start, element.end), (first, last), projection)
        output.close(element)
        position = last
    output.text(projection.text[position:end])


def _target(element: Element, source: Span, target: Span, projection: SpanProjection) -> Span:
    """An element's target span; an empty one at the start or end of the source stays there."""
    if element.is_empty and element.start in source:
        return (target[source.index(element.start)],) * 2
    return projection.target(element.start, element.end, element.name in SMALL)


def _escape(text: str) -> str:
    return html.escape(text, quote=False)
