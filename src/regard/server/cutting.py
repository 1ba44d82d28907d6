"""Text cut into sentences that fit a model, in time that grows with its length only.

Cutting what does not fit a model looks at all that is left of a paragraph again for every piece,
which a long paragraph without full stops can make very slow. So long paragraphs come here in
windows, which end where a sentence ends, else between words.
"""

from __future__ import annotations

from collections.abc import Iterator

from regard.errors import InputError
from regard.text import sentence_spans
from regard.translator import Translator
from regard.translator.segments import Segment, segments, whole


def window_of(translator: Translator) -> int:
    """Characters that are looked at together: more than the model can hold of any usual text."""
    return max(1000, 16 * translator.network.max_length)


def pieces(translator: Translator, text: str, *, split: bool, prefix: str = "") -> list[Segment]:
    """The pieces of a text that are translated one by one."""
    cut = segments if split and not prefix else whole
    room = translator.network.max_length - 1
    language, tokenizer = translator.run.source_language, translator.tokenizers.source
    found: list[Segment] = []
    for window in windows(text, language, window_of(translator)):
        own = cut(window, language, tokenizer, room)
        if found and own and not own[0].before:
            own[0] = own[0]._replace(before=" ")
        found += own
    if prefix and len(found) != 1:
        raise InputError("prefix is for one sentence that fits the model; give it by itself.")
    return found


def windows(text: str, language: str, size: int) -> Iterator[str]:
    """The text in parts of at most `size` characters; all of them together are the text.

    >>> list(windows("One two. Three four. Five six.", "en", 22))
    ['One two. Three four. ', 'Five six.']
    """
    start = 0
    while len(text) - start > size:
        part = text[start : start + size]
        spans = sentence_spans(part, language)
        end = spans[-1][0] if len(spans) > 1 else part.rfind(" ") + 1
        end = end if end > 0 else size
        yield text[start : start + end]
        start += end
    yield text[start:]
