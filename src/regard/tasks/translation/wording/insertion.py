"""Words put into a translation, or taken out of it, where the word links say that they belong."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from regard.documents.projection import word_spans
from regard.tasks.translation.translation import Link, Sentence
from regard.text import is_spaceless
from regard.text.masking import is_letter, name_spans


def insert_name(sentence: Sentence, name: str, language: str) -> Sentence:
    """The translation with a word of its source that it has not, and a link between the two.

    It comes after the target words that the source word is linked to; else after the translation of
    the word before it, or before that of the word after it.
    """
    number = sentence.source_words.index(name) if name in sentence.source_words else -1
    lengths = len(sentence.source_words), len(sentence.words)
    index = target_index(number, *lengths, sentence.alignment)
    done = insert_phrase(sentence, name, index, language)
    links = [*done.alignment, (number, index)] if number >= 0 else done.alignment
    return replace(done, alignment=tuple(sorted(links)))


def insert_phrase(sentence: Sentence, phrase: str, index: int, language: str) -> Sentence:
    """The translation with a phrase as its word number `index`."""
    spans = word_spans(sentence.text, sentence.words)
    text, spaced = sentence.text, not is_spaceless(language)
    position = spans[index - 1][1] if index else 0
    last, following = text[max(0, position - 1) : position], text[position : position + 1]
    before = bool(index) and (spaced or is_letter(last))  # else both would be one word
    opens = following.isalnum() or following in tuple("([{«“")
    after = is_letter(following) or (spaced and (opens if index else bool(text)))
    text = text[:position] + " " * before + phrase + " " * after + text[position:]
    confidence = sentence.confidence
    if confidence or not sentence.words:
        confidence = (*confidence[:index], 0.0, *confidence[index:])
    return replace(
        sentence,
        text=text,
        words=(*sentence.words[:index], phrase, *sentence.words[index:]),
        alignment=tuple((s, t + (t >= index)) for s, t in sentence.alignment),
        confidence=confidence,
    )


def remove_repeated(sentence: Sentence, name: str) -> Sentence:
    """The translation with a word just once, the first time; its words and links follow."""
    while len(found := name_spans(name, sentence.text)) > 1:
        start, end = found[-1]
        text = sentence.text
        start -= start > 0 and text[start - 1] == " "
        sentence = replace(sentence, text=text[:start] + text[end:])
        again = [number for number, word in enumerate(sentence.words) if word == name]
        if len(again) > 1:
            sentence = _without_word(sentence, again[-1])
    return sentence


def replace_words(sentence: Sentence, numbers: Sequence[int], phrase: str) -> Sentence:
    """The translation with a phrase in place of consecutive target words."""
    spans = word_spans(sentence.text, sentence.words)
    first, last = min(numbers), max(numbers)
    start, end = spans[first][0], spans[last][1]
    shift = last - first
    links = {
        (s, t if t < first else first if t <= last else t - shift) for s, t in sentence.alignment
    }
    confidence = sentence.confidence
    if confidence:
        confidence = (*confidence[:first], 0.0, *confidence[last + 1 :])
    return replace(
        sentence,
        text=sentence.text[:start] + phrase + sentence.text[end:],
        words=(*sentence.words[:first], phrase, *sentence.words[last + 1 :]),
        alignment=tuple(sorted(links)),
        confidence=confidence,
    )


def _without_word(sentence: Sentence, number: int) -> Sentence:
    links = ((s, t - (t > number)) for s, t in sentence.alignment if t != number)
    return replace(
        sentence,
        words=(*sentence.words[:number], *sentence.words[number + 1 :]),
        alignment=tuple(links),
        confidence=(*sentence.confidence[:number], *sentence.confidence[number + 1 :]),
    )


def target_index(number: int, num_source: int, num_target: int, links: Sequence[Link]) -> int:
    """The number of target words before the place of a source word's translation.

    >>> target_index(1, 3, 2, [(0, 0), (2, 1)]), target_index(0, 2, 2, [(1, 0)])
    (1, 0)
    """
    targets: dict[int, list[int]] = {}
    for source, target in links:
        targets.setdefault(source, []).append(target)
    if number < 0:
        return num_target
    for before in range(number, -1, -1):
        if before in targets:
            return max(targets[before]) + 1
    for after in range(number + 1, num_source):
        if after in targets:
            return min(targets[after])
    return round(num_target * (number + 1) / (num_source + 1))
