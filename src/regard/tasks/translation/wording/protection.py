"""Placeholders through a model: checked, searched for under constraint, put in, and flagged.

A model reads stand-ins (`regard.text.masking`). Where its output does not have each just once,

1. the best hypothesis of the beam that has all is taken; else it is searched for again, with
   stand-ins and longer numbers required (`second_search`);
2. what is still not there is inserted where the word links say, and the sentence has a warning.

At the end the translation's placeholders are compared with the source's: no loss is silent.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from regard.tasks.translation.translation import Sentence
from regard.tasks.translation.wording.insertion import insert_name, remove_repeated
from regard.tasks.translation.wording.warning import TranslationWarning, placeholder_warnings
from regard.text.masking import StandIn, name_spans, restore
from regard.text.placeholders import lost_placeholders
from regard.text.segments import Segment

MIN_DIGITS = 3  # of a number that is required; a smaller one may well be written in words
Required = tuple[tuple[str, str], ...]
"""Words of a source and what its translation must have for each."""
SearchAgain = Callable[[list[int], dict[int, Required]], Mapping[int, Sentence]]
"""From rows and what is required of each to their translations, with word links."""


def protect(
    segments: Sequence[Segment],
    sentences: Mapping[int, Sentence],
    search_again: SearchAgain | None,
    language: str,
) -> dict[int, Sentence]:
    """The translations with their placeholders, or with warnings; `language` is the target's.

    search_again  None if the search can require nothing, as in sampling
    """
    done = dict(sentences)
    again = {row: required for row in done if (required := _required(segments[row], done[row]))}
    if again and search_again is not None:
        for row, sentence in search_again(list(again), again).items():
            if _num_lost(segments[row], sentence) <= _num_lost(segments[row], done[row]):
                done[row] = sentence
    return {row: _finished(segments[row], sentence, language) for row, sentence in done.items()}


def is_kept(text: str, stand_ins: Sequence[StandIn]) -> bool:
    """Whether a text has every stand-in just once."""
    return all(len(name_spans(own.name, text)) == 1 for own in stand_ins)


def can_lose(segment: Segment) -> bool:
    """Whether a segment has what a translation must keep: stand-ins or longer numbers."""
    return bool(segment.stand_ins) or sum(map(str.isdigit, segment.text)) >= MIN_DIGITS


def keeps_all(segment: Segment, text: str) -> bool:
    """Whether a translation has every stand-in just once, and all longer numbers."""
    return is_kept(text, segment.stand_ins) and not _lost_numbers(segment, text)


def _lost_numbers(segment: Segment, text: str) -> list[str]:
    """The longer numbers of a segment that a translation has not."""
    lost = lost_placeholders(segment.text, text).numbers
    return [number for number in lost if sum(map(str.isdigit, number)) >= MIN_DIGITS]


def _required(segment: Segment, sentence: Sentence) -> Required:
    """What is required of another translation; nothing if this one has all."""
    numbers = _lost_numbers(segment, sentence.text)
    if is_kept(sentence.text, segment.stand_ins) and not numbers:
        return ()
    names = [own.name for own in segment.stand_ins]
    return tuple((part, part) for part in dict.fromkeys((*names, *numbers)))


def _num_lost(segment: Segment, sentence: Sentence) -> int:
    """How much a translation lacks, or has too often; placeholders before numbers."""
    wrong = sum(len(name_spans(own.name, sentence.text)) != 1 for own in segment.stand_ins)
    return 1000 * wrong + len(lost_placeholders(segment.text, sentence.text).numbers)


def _finished(segment: Segment, sentence: Sentence, language: str) -> Sentence:
    """The translation with all placeholders in place of their stand-ins."""
    inserted = []
    for own in segment.stand_ins:
        found = name_spans(own.name, sentence.text)
        if not found:
            sentence = insert_name(sentence, own.name, language)
        elif len(found) > 1:
            sentence = remove_repeated(sentence, own.name)
        if len(found) != 1:
            inserted.append(own.value)
    restored = restore_sentence(sentence, segment.stand_ins)
    warnings = list(placeholder_warnings(restored.source, restored.text))
    if inserted:
        warnings.insert(0, TranslationWarning("inserted", tuple(inserted)))
    return restored.annotated(warnings=(*sentence.warnings, *warnings)) if warnings else restored


def restore_sentence(sentence: Sentence, stand_ins: Sequence[StandIn]) -> Sentence:
    """A sentence with placeholders in place of stand-ins; alternatives without them are left out.

    Words and links stay; the words of a placeholder are one.
    """
    if not stand_ins:
        return sentence
    values = {own.name: own.value for own in stand_ins}

    def restored(words: Sequence[str]) -> tuple[str, ...]:
        return tuple(values.get(word) or restore(word, stand_ins) for word in words)

    alternatives = [
        (restore(text, stand_ins), score)
        for text, score in sentence.alternatives
        if is_kept(text, stand_ins)
    ]
    return replace(
        sentence,
        source=restore(sentence.source, stand_ins),
        text=restore(sentence.text, stand_ins),
        source_words=restored(sentence.source_words),
        words=restored(sentence.words),
        alternatives=tuple(alternatives),
    )
