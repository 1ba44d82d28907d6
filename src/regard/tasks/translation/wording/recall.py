"""Translations that a memory has: used where they are exact, shown where they are similar."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from regard.corpus.memory import MemoryMatch, TranslationMemory
from regard.errors import InputError
from regard.tasks.translation.translation import Sentence
from regard.tasks.translation.wording.warning import TranslationWarning, placeholder_warnings
from regard.text import words
from regard.text.segments import Segment

if TYPE_CHECKING:
    from regard.tasks.translation.translation_model import TranslationModel


class Recall(NamedTuple):
    """How a memory is used.

    memory  the sentences and their translations
    least   the least score of a match that is used; 1 for exact ones only
    show    whether similar sentences are looked up although they are not used
    """

    memory: TranslationMemory
    least: float = 1.0
    show: bool = False

    def find(self, text: str) -> list[MemoryMatch]:
        """The matches of a text, best first."""
        exact = self.memory.exact(text)
        if exact is not None:
            return [exact]
        return self.memory.similar(text) if self.show or self.least < 1 else []

    def uses(self, match: MemoryMatch) -> bool:
        """Whether a match is used as the translation."""
        return match.usable and match.score >= self.least


def check_threshold(least: float) -> float:
    """The score from which matches are used; an error if it is not from 0.75 to 1."""
    from regard.corpus.memory.translation_memory import LEAST

    if not LEAST <= least <= 1:
        raise InputError(f"fuzzy_threshold must be from {LEAST} to 1, got {least}.")
    return least


def recalled(
    model: TranslationModel, segments: Sequence[Segment], recall: Recall, alignment: bool
) -> tuple[dict[int, Sentence], dict[int, tuple[MemoryMatch, ...]]]:
    """The translations of the segments that the memory has, and the other matches by segment."""
    done: dict[int, Sentence] = {}
    shown: dict[int, tuple[MemoryMatch, ...]] = {}
    for row, segment in enumerate(segments):
        if segment.copied:
            continue
        matches = recall.find(segment.source)
        used = next((match for match in matches if recall.uses(match)), None)
        if used is not None:
            done[row] = replace(
                known_sentence(model, segment.source, used, alignment), matches=tuple(matches)
            )
        elif matches:
            shown[row] = tuple(matches)
    return done, shown


def with_matches(
    sentences: Mapping[int, Sentence], shown: Mapping[int, tuple[MemoryMatch, ...]]
) -> dict[int, Sentence]:
    """The translations with the similar sentences of a memory."""
    return {
        row: sentence.annotated(matches=shown[row]) if row in shown else sentence
        for row, sentence in sentences.items()
    }


def known_sentence(
    model: TranslationModel, source: str, match: MemoryMatch, alignment: bool
) -> Sentence:
    """A sentence with its translation from a memory; its words are linked by the model."""
    info = model.info
    read, written = (
        tuple(word.text for word in words(text, language))
        for text, language in (
            (source, info.source_language),
            (match.translation, info.target_language),
        )
    )
    links: tuple[tuple[int, int], ...] = ()
    if alignment and len(model.encode_source(source)) < model.max_length:
        (linked,) = model.align([(source, match.translation)])
        if (linked.source_words, linked.words) == (read, written):
            links = linked.alignment
    warnings = list(placeholder_warnings(source, match.translation))
    if match.score < 1:
        warnings.insert(0, TranslationWarning("memory", (match.source,)))
    return Sentence(
        source,
        match.translation,
        0.0,
        read,
        written,
        read,
        written,
        links,
        confidence=(1.0,) * len(written),
        warnings=tuple(warnings),
    )
