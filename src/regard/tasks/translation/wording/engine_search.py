"""Sentences searched by CTranslate2, and again where a placeholder was lost."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from regard.config import SearchOptions
from regard.decoding import Hypothesis
from regard.decoding.ctranslate2_engine import CTranslate2Engine, EngineResult
from regard.tasks.translation.translation import Sentence, TranslateOptions
from regard.tasks.translation.wording.protection import Required, keeps_all, protect
from regard.tasks.translation.wording.terms import put_terms
from regard.text.segments import Segment

if TYPE_CHECKING:
    from regard.tasks.translation.translator import Translator

WIDE_BEAM = 10  # hypotheses among which one that keeps all placeholders is looked for


def begin_ctranslate2(
    translator: Translator,
    segments: Sequence[Segment],
    rows: Sequence[int],
    options: TranslateOptions,
) -> Callable[[], dict[int, Sentence]] | None:
    """Search the segments that CTranslate2 can, and return what collects the translations.

    They are by the segments' numbers; None if CTranslate2 cannot search with these options.
    """
    settings = options.settings
    own = options.prefix or options.forbid or options.glossary
    if not rows or own or not CTranslate2Engine.can_search(settings):
        return None
    engine = translator.engine.engine
    if engine is None:
        return None
    aligned, mapped = options.alignment and not options.attention, options.attention
    ids = [segments[row].ids for row in rows]
    results = engine.results(ids, settings, attention=aligned, log_probabilities=mapped)
    collect = _collect_mapped if mapped else _collect
    return partial(collect, translator, segments, rows, results, settings)


def _collect(
    translator: Translator,
    segments: Sequence[Segment],
    rows: Sequence[int],
    results: Iterable[tuple[int, EngineResult]],
    _: SearchOptions,
) -> dict[int, Sentence]:
    """The translations as CTranslate2 finds them, with the attention that it returns."""
    return {
        rows[number]: translator.sentence(
            segments[rows[number]],
            result.hypotheses[0].tokens,
            result.hypotheses,
            translator.engine_explanation(result),
        )
        for number, result in results
    }


def _collect_mapped(
    translator: Translator,
    segments: Sequence[Segment],
    rows: Sequence[int],
    results: Iterable[tuple[int, EngineResult]],
    settings: SearchOptions,
) -> dict[int, Sentence]:
    """The translations that CTranslate2 found, with the maps of our own forward pass."""
    sentences = {}
    found = dict(results)
    maps = translator.own.explanations(
        [segments[rows[number]] for number in found],
        [result.hypotheses[0].tokens for result in found.values()],
        settings,
    )
    for (number, result), explanation in zip(found.items(), maps, strict=True):
        row, tokens = rows[number], result.hypotheses[0].tokens
        sentences[row] = translator.sentence(segments[row], tokens, result.hypotheses, explanation)
    return sentences


def protected(
    translator: Translator,
    segments: Sequence[Segment],
    done: dict[int, Sentence],
    options: TranslateOptions,
) -> dict[int, Sentence]:
    """The translations with the placeholders of their segments, or with warnings."""
    narrow = replace(options.settings, beam=2, n_best=1, beam_groups=1)  # besides the required
    aligned = replace(options, alignment=True, settings=narrow)

    def search_again(rows: list[int], required: dict[int, Required]) -> dict[int, Sentence]:
        found = _best_that_keeps(translator, segments, rows, options)
        if rest := [row for row in rows if row not in found]:
            again = translator.own.translate(segments, rest, aligned, None, required)
            found |= put_terms(translator, again)
        return found

    again = None if options.settings.sample else search_again
    return protect(segments, done, again, translator.info.target_language)


def _best_that_keeps(
    translator: Translator,
    segments: Sequence[Segment],
    rows: Sequence[int],
    options: TranslateOptions,
) -> dict[int, Sentence]:
    """Where one of CTranslate2's best translations has all placeholders, the best that has."""
    wide = replace(options.settings, beam=WIDE_BEAM, n_best=WIDE_BEAM, beam_groups=1)
    engine = translator.engine.engine
    if engine is None or options.glossary or not CTranslate2Engine.can_search(wide):
        return {}
    decode = translator.tokenizers.target.decode
    chosen: dict[int, Hypothesis] = {}
    for number, result in engine.results([segments[row].ids for row in rows], wide):
        for hypothesis in result.hypotheses:
            if keeps_all(segments[rows[number]], decode(hypothesis.tokens)):
                chosen[rows[number]] = hypothesis
                break
    explained = engine.explain([segments[row].ids for row in chosen], list(chosen.values()))
    return {
        row: translator.sentence(
            segments[row],
            result.hypotheses[0].tokens,
            result.hypotheses,
            translator.engine_explanation(result),
        )
        for row, result in zip(chosen, explained, strict=True)
    }
