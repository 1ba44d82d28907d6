"""A translation of a translation: from a language to another through a third."""

from __future__ import annotations

from bisect import bisect_left, bisect_right

from regard.documents.projection import word_spans
from regard.server.queue.batching import Answer
from regard.translator import Sentence, Translation


def composed(first: Translation, then: Answer) -> Answer:
    """What a text became by way of a third language, with the words linked through it.

    `then` is the answer to `first.text`.
    """
    return Answer(
        _composed(first, then.translation), tuple(_composed(first, one) for one in then.others)
    )


def _composed(first: Translation, second: Translation) -> Translation:
    sentence = Sentence(
        source=first.source,
        text=second.text,
        score=first.score + second.score,
        source_tokens=(),
        tokens=second.tokens,
        source_words=first.source_words,
        words=second.words,
        alignment=_through(first, second),
    )
    return Translation(second.text, first.source, (sentence,))


def _through(first: Translation, second: Translation) -> tuple[tuple[int, int], ...]:
    """Links of words whose links meet in the text between.

    The two models may cut that text into words of their own, so that places decide.
    """
    read = word_spans(first.text, second.source_words)  # in their order, which makes it quick
    starts, ends = [start for start, _ in read], [end for _, end in read]
    meets = [
        range(bisect_right(ends, start), bisect_left(starts, end))
        for start, end in word_spans(first.text, first.words)
    ]
    onward: dict[int, list[int]] = {}
    for one, other in second.alignment:
        onward.setdefault(one, []).append(other)
    return tuple(sorted({
        (source, target)
        for source, middle in first.alignment
        for same in meets[middle]
        for target in onward.get(same, ())
    }))  # fmt: skip
