"""A block's translation with its inline elements around the words that theirs are linked to."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence

from regard.documents.blocks import Block, Element, Part, Space, Value, Verbatim, blocks
from regard.documents.projection import LinkedTranslation, Span, SpanProjection

Translations = Mapping[Block, LinkedTranslation]
FEW = 64  # parts of a text that are not translated, and are each looked for in the translation
SMALL = frozenset({"sup", "sub"})
_DAMAGED = re.compile(r"`[^`]+`|(?<![\w.+-])[\w.+-]{1,64}(?:://|@)[^\s`<>()]*[^\s`<>().,;:!?]")


def render_parts(parts: Sequence[Part], translations: Translations) -> str:
    """All parts with their translations; a block or value whose texts did not change, verbatim."""
    return "".join(_render_part(part, translations) for part in parts)


def _render_part(part: Part, translations: Translations) -> str:
    if isinstance(part, str):
        return part
    if isinstance(part, Space):
        return part.text
    inside = part.parts if isinstance(part, Value) else (part,)
    if part.raw is not None and _is_unchanged(inside, translations):
        return part.raw
    if isinstance(part, Value):
        return part.write(render_parts(part.parts, translations))
    return _render_block(part, translations)


def _is_unchanged(parts: Sequence[Part], translations: Translations) -> bool:
    return all(translations[block].text == block.text for block in blocks(parts))


def _render_block(block: Block, translations: Translations) -> str:
    translation = translations[block]
    present, lost = find_verbatim(block, translation.text)
    output = _Output(block, translations, translation.text, present)
    projection = SpanProjection(block.text, translation)
    source, target = (0, len(block.text)), (0, len(translation.text))
    output.write(block.before)
    output.after_space = True
    points = [_as_point(part, block.text) for part in lost]
    _render(output, (*block.inner, *points), source, target, projection)
    output.write(block.after)
    return block.syntax.finish("".join(output.pieces))


def find_verbatim(block: Block, text: str) -> tuple[list[Verbatim], list[Verbatim]]:
    """Where a translation has what is not translated, in order; and what it does not have."""
    present: list[Verbatim] = []
    lost: list[Verbatim] = []
    if not block.verbatim:
        return present, lost
    taken = bytearray(len(text))
    after: dict[str, int] = {}  # where to search on
    places: dict[str, Iterator[int]] = {}
    if len(block.verbatim) > FEW:
        places = _places(text, {block.text[part.start : part.end] for part in block.verbatim})
    for part in sorted(block.verbatim, key=lambda part: part.start - part.end):  # the longest first
        shown = block.text[part.start : part.end]
        if places:
            at = next((at for at in places[shown] if not taken[at]), -1)
        else:
            at = text.find(shown, after.get(shown, 0))
            while at >= 0 and taken[at]:  # part of something longer
                at = text.find(shown, at + 1)
        end = at + len(shown)
        after[shown] = end if at >= 0 else len(text)
        if at < 0:
            lost.append(part)
        else:
            taken[at:end] = b"x" * len(shown)
            present.append(Verbatim(at, end, part.raw))
    if not lost:
        return sorted(present), lost
    lost.sort()
    damaged: dict[str, list[Span]] = {}  # what the model changed, by its kind
    for match in _DAMAGED.finditer(text):
        if not any(taken[slice(*match.span())]):
            damaged.setdefault(_kind(match[0]), []).append(match.span())
    unplaced = []
    spans = {kind: iter(match_spans) for kind, match_spans in damaged.items()}
    for part in lost:
        span = next(spans.get(_kind(block.text[part.start : part.end]), iter(())), None)
        if span is None:
            unplaced.append(part)
        else:
            present.append(Verbatim(*span, part.raw))
    return sorted(present), unplaced


def _places(text: str, wanted: set[str]) -> dict[str, Iterator[int]]:
    """Where a text has each of some strings, in order; all are found in one pass for a length."""
    places: dict[str, list[int]] = {shown: [] for shown in wanted}
    first = re.compile(f"[{re.escape(''.join({shown[0] for shown in wanted}))}]")
    starts = [match.start() for match in first.finditer(text)]
    for length in {len(shown) for shown in wanted}:
        for start in starts:
            if (piece := text[start : start + length]) in places:
                places[piece].append(start)
    return {shown: iter(positions) for shown, positions in places.items()}


def _kind(shown: str) -> str:
    """Code, an address of the web or one of mail."""
    return "`" if shown[0] == "`" else "://" if "://" in shown else "@"


def _as_point(part: Verbatim, text: str) -> Element:
    """An element for what a translation does not have; it stands by itself."""
    point = Element((part.raw,), part.start, part.start)
    point.after_space = text[part.start - 1 : part.start] == " "
    point.glued = text[part.end : part.end + 1].strip()
    return point


class _Output:
    """The text that is rendered so far.

    after_space  whether the next piece follows a space, or nothing
    glued        what followed the last element in the source without a space, where one may follow
    """

    def __init__(
        self, block: Block, translations: Translations, target: str, verbatim: Sequence[Verbatim]
    ) -> None:
        self.target, self.verbatim = target, verbatim
        self.starts = [part.start for part in verbatim]
        self.pieces: list[str] = []
        self.translations = translations
        self.escape = block.syntax.escape
        self.wraps = [block.syntax.wrap]
        self.after_space = True
        self.glued = ""

    def write(self, text: str) -> None:
        """Add text as the format has it."""
        if text:
            before, after = self.wraps[-1]
            self.pieces += (before, self.escape(text), after)

    def span(self, start: int, end: int) -> None:
        """Add a span of the translation."""
        first, last = bisect_left(self.starts, start), bisect_left(self.starts, end)
        for part in self.verbatim[first:last]:
            self.text(self.target[start : part.start])
            self.pieces.append(part.raw)
            self.after_space, self.glued = False, ""
            start = part.end
        self.text(self.target[start:end])

    def around(self, start: int, end: int) -> Span:
        """The span, with the whole of what is not translated at its ends."""
        for position in {start, end}:
            number = bisect_left(self.starts, position) - 1
            if number >= 0 and position < self.verbatim[number].end:
                start = min(start, self.verbatim[number].start)
                end = max(end, self.verbatim[number].end)
        return start, end

    def text(self, text: str) -> None:
        if not text:
            return
        if self.glued and text[0] == " " and self.glued.isalnum() == text[1:2].isalnum():
            text = text[1:]
        self.write(text)
        self.after_space, self.glued = text.endswith(" "), ""

    def open(self, element: Element, in_word: bool) -> None:
        if element.is_empty and element.after_space and not self.after_space:
            self.write(" ")
            self.after_space = True
        if in_word and element.in_word:
            self.pieces.append(element.in_word[0])
        else:
            self.markup(element.opening)
        self.wraps.append(element.wrap or self.wraps[-1])

    def close(self, element: Element, in_word: bool) -> None:
        self.wraps.pop()
        if in_word and element.in_word:
            self.pieces.append(element.in_word[1])
        else:
            self.markup(element.closing)
        if element.is_empty:
            self.after_space, self.glued = False, element.glued or self.glued

    def markup(self, parts: Sequence[Part]) -> None:
        for part in parts:
            if isinstance(part, Space):
                self.write(part.text)
            else:
                self.pieces.append(_render_part(part, self.translations))


def _render(
    output: _Output,
    elements: Sequence[Element],
    source: Span,
    target: Span,
    projection: SpanProjection,
) -> None:
    """Write a span of the translation, with the elements of its source span."""
    position, end = target
    text = projection.text
    projected = [(_target(element, source, target, projection), element) for element in elements]
    for (first, last), element in sorted(projected, key=lambda pair: pair[0][0]):
        first = min(max(first, position), end)
        last = min(max(last, first), end)
        first, last = output.around(first, last) if first < last else (first, last)
        if first == last:
            first = last = output.around(first, last)[1]
        if element.tight and not element.is_empty:
            first, last = _tight(text, first, last)
        output.span(position, first)
        inner = (element.start, element.end), (first, last)
        if element.tight and first == last and not element.is_empty:
            _render(output, element.inner, *inner, projection)
        else:
            in_word = text[first - 1 : first].isalnum() or text[last : last + 1].isalnum()
            output.open(element, in_word)
            _render(output, element.inner, *inner, projection)
            output.close(element, in_word)
        position = last
    output.span(position, end)


def _tight(text: str, first: int, last: int) -> Span:
    """The span without the white space at both ends."""
    while first < last and text[first].isspace():
        first += 1
    while first < last and text[last - 1].isspace():
        last -= 1
    return first, last


def _target(element: Element, source: Span, target: Span, projection: SpanProjection) -> Span:
    """An element's target span; an empty one at the start or end of the source stays there."""
    if element.is_empty and element.start in source:
        return (target[source.index(element.start)],) * 2
    return projection.target(element.start, element.end, element.name in SMALL)
