"""What a translation lost, required of a second search.

CTranslate2 continues the translation from where a lost number belongs, by the word links:

    "In 1998 it rained."  ▶  "Im Jahr 1999 regnete es."  1998 is linked to 1999
    "Im Jahr 1998"  ──continued──▶  "Im Jahr 1998 regnete es."

A model that did not copy a stand-in would continue it as a word ("Z" as "Zeichen"), so those are
left to insertion. Our own engine, where it searches, requires all of them of a constrained search.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from regard.config import SearchOptions
from regard.tasks.translation.engine_search import linked_sentences
from regard.tasks.translation.lazy_sentence import compute_together
from regard.tasks.translation.translation import Sentence, TranslateOptions
from regard.tasks.translation.wording.insertion import target_index
from regard.tasks.translation.wording.protection import Required, keeps_all, protect
from regard.tasks.translation.wording.terms import put_terms
from regard.text import is_spaceless
from regard.text.masking import name_spans
from regard.text.normalization import SPACE_MARK
from regard.text.segments import Segment

if TYPE_CHECKING:
    from regard.decoding import Hypothesis
    from regard.decoding.ctranslate2_engine import CTranslate2Engine
    from regard.tasks.translation.translator import Translator

BEAM = 2  # of a second search


def protected(
    translator: Translator,
    segments: Sequence[Segment],
    done: dict[int, Sentence],
    options: TranslateOptions,
) -> dict[int, Sentence]:
    """The translations with the placeholders of their segments, or with warnings."""
    settings = replace(options.settings, beam=BEAM, n_best=1, beam_groups=1)
    engine = None if options.glossary else translator.engine.engine

    def search_again(rows: list[int], required: dict[int, Required]) -> Mapping[int, Sentence]:
        if engine is not None and engine.can_search(settings):
            search = ContinuedSearch(translator, engine, segments, settings)
            return search({row: done[row] for row in rows}, required)
        aligned = replace(options, alignment=True, settings=settings)
        return put_terms(
            translator, translator.torch_search.translate(segments, rows, aligned, None, required)
        )

    compute_together(done[row] for row in done if segments[row].stand_ins)
    again = None if options.settings.sample else search_again
    return protect(segments, done, again, translator.info.target_language)


class ContinuedSearch:
    """A search by CTranslate2 for translations that have what others lost."""

    def __init__(
        self,
        translator: Translator,
        engine: CTranslate2Engine,
        segments: Sequence[Segment],
        settings: SearchOptions,
    ) -> None:
        self._translator, self._engine = translator, engine
        self._segments, self._settings = segments, settings

    def __call__(
        self, done: Mapping[int, Sentence], required: Mapping[int, Required]
    ) -> dict[int, Sentence]:
        """The translations with the numbers they lost; where that fails, the given, with links."""
        hypotheses = {row: s.hypothesis for row, s in done.items() if s.hypothesis is not None}
        linked = self._linked({row: [found] for row, found in hypotheses.items()})
        compute_together(linked.values())
        rows = [row for row in linked if self._lost_numbers(linked[row], required[row])]
        ids = [self._segments[row].ids for row in rows]
        beginnings = [self._beginning(row, linked[row], required[row]) for row in rows]
        continued = self._engine.continued(ids, beginnings, self._settings)
        decode = self._translator.tokenizers.target.decode
        kept = {
            row: [hypothesis]
            for row, hypothesis in zip(rows, continued, strict=True)
            if keeps_all(self._segments[row], decode(hypothesis.tokens))
        }
        return linked | self._linked(kept)

    def _linked(self, found: Mapping[int, Sequence[Hypothesis]]) -> dict[int, Sentence]:
        return linked_sentences(
            self._translator, self._engine, self._segments, found, self._settings
        )

    @staticmethod
    def _lost_numbers(sentence: Sentence, required: Required) -> list[str]:
        lost = (name for name, _ in required if not name_spans(name, sentence.text))
        return [name for name in lost if any(map(str.isdigit, name)) and not name[:1].isalpha()]

    def _beginning(self, row: int, sentence: Sentence, required: Required) -> list[int]:
        """The tokens before the place of the first number that is lost, and its own."""
        lengths = len(sentence.source_words), len(sentence.words)
        places = []  # of each lost number among the words of the translation
        for name in self._lost_numbers(sentence, required):
            numbers = [n for n, word in enumerate(sentence.source_words) if name in word]
            number = numbers[0] if numbers else -1
            own = [target for source, target in sentence.alignment if source == number]
            index = min(own) if own else target_index(number, *lengths, sentence.alignment)
            places.append((index, name))
        index, name = min(places)
        assert sentence.hypothesis is not None
        tokens = sentence.hypothesis.tokens
        _, target = self._translator.segment_words(self._segments[row], tokens)
        firsts = [own[0] for own in target.tokens[index:] if own]
        return [*tokens[: firsts[0] if firsts else len(tokens)], *self._spelled(name)]

    def _spelled(self, name: str) -> list[int]:
        """The tokens of a word inside a translation."""
        tokenizer = self._translator.tokenizers.target
        ids = tokenizer.encode(name)
        spaced = not is_spaceless(self._translator.info.target_language)
        return ids if spaced or tokenizer.pieces(ids[:1]) != [SPACE_MARK] else ids[1:]
