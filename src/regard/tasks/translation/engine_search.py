"""Sentences searched by CTranslate2: from segments to translations, words left to be read."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from regard.config import SearchOptions
from regard.decoding import Hypothesis
from regard.decoding.ctranslate2_engine import CTranslate2Engine
from regard.tasks.translation.translation import Sentence, TranslateOptions
from regard.tasks.translation.unread import UnreadBatch
from regard.tasks.translation.wording.protection import can_lose, keeps_all
from regard.text.segments import Segment

if TYPE_CHECKING:
    from regard.tasks.translation.translator import Translator

Found = Iterator[tuple[int, list[Hypothesis]]]


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
    lossy = [row for row in rows if can_lose(segments[row])] if options.protect else []
    others = rows if not lossy else sorted(set(rows).difference(lossy))
    found = _search(engine, segments, others, settings)
    kept = _search_keeping(translator, engine, segments, lossy, settings)

    def collect() -> dict[int, Sentence]:
        results = (one for part in (found, kept) for one in part)
        if options.attention:
            return _mapped(translator, segments, dict(results), settings)
        if options.alignment:
            return UnreadBatch(translator, engine, segments, dict(results), settings).sentences()
        return {row: translator.sentence(segments[row], h[0].tokens, h) for row, h in results}

    return collect


def _search(
    engine: CTranslate2Engine,
    segments: Sequence[Segment],
    rows: Sequence[int],
    settings: SearchOptions,
) -> Found:
    """The hypotheses of rows; the search begins at once."""
    results = engine.results([segments[row].ids for row in rows], settings)
    return ((rows[number], hypotheses) for number, hypotheses in results)


def _search_keeping(
    translator: Translator,
    engine: CTranslate2Engine,
    segments: Sequence[Segment],
    rows: Sequence[int],
    settings: SearchOptions,
) -> Found:
    """Hypotheses of which the first has all placeholders, if any of the beam has."""
    whole_beam = replace(settings, n_best=settings.beam)
    decode = translator.tokenizers.target.decode
    results = _search(engine, segments, rows, whole_beam)

    def best(row: int, hypotheses: list[Hypothesis]) -> list[Hypothesis]:
        kept = (h for h in hypotheses if keeps_all(segments[row], decode(h.tokens)))
        first = next(kept, hypotheses[0])
        others = [hypothesis for hypothesis in hypotheses if hypothesis is not first]
        return [first, *others][: settings.n_best]

    return ((row, best(row, hypotheses)) for row, hypotheses in results)


def _mapped(
    translator: Translator,
    segments: Sequence[Segment],
    found: dict[int, list[Hypothesis]],
    settings: SearchOptions,
) -> dict[int, Sentence]:
    """The translations that CTranslate2 found, with the maps of our own forward pass."""
    engine = translator.engine.engine
    assert engine is not None
    own = [segments[row] for row in found]
    best = [hypotheses[0] for hypotheses in found.values()]
    scored = engine.token_log_probabilities([segment.ids for segment in own], best, settings)
    maps = translator.own.explanations(own, [one.tokens for one in best], settings)
    return {
        row: translator.sentence(segments[row], first.tokens, [first, *found[row][1:]], explanation)
        for row, first, explanation in zip(found, scored, maps, strict=True)
    }
