"""Sentences searched by CTranslate2: from segments to translations with lazy words."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from regard.config import SearchOptions
from regard.decoding import Hypothesis
from regard.decoding.ctranslate2_engine import CTranslate2Engine
from regard.tasks.translation.lazy_sentence import LazyBatch
from regard.tasks.translation.translation import Sentence, TranslateOptions
from regard.tasks.translation.wording.protection import can_lose, keeps_all
from regard.text.segments import Segment

if TYPE_CHECKING:
    from regard.tasks.translation.translation_model import Explanation, TranslationModel
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
    linked = options.alignment and not options.attention
    found = _search(engine, segments, others, settings, attention=linked)
    kept = _search_keeping(translator, engine, segments, lossy, settings)

    def collect() -> dict[int, Sentence]:
        results = dict(one for part in (found, kept) for one in part)
        if options.attention:
            return mapped_sentences(translator, engine, segments, results, settings)
        if options.alignment:
            return linked_sentences(translator, engine, segments, results, settings)
        return _plain(translator, segments, results)

    return collect


def linked_sentences(
    model: TranslationModel,
    engine: CTranslate2Engine,
    segments: Sequence[Segment],
    found: Mapping[int, Sequence[Hypothesis]],
    settings: SearchOptions,
) -> dict[int, Sentence]:
    """Translations by their rows; links are by the attention that CTranslate2 returns, if read."""

    def compute_fields(rows: Sequence[int]) -> dict[int, dict[str, Any]]:
        ids = [segments[row].ids for row in rows]
        explained = engine.explain(ids, [found[row][0] for row in rows], settings)
        return {
            row: _word_fields(model, segments[row], best, model.engine_explanation(attention))
            for row, (best, attention) in zip(rows, explained, strict=True)
        }

    return LazyBatch(_plain(model, segments, found), compute_fields).sentences()


def mapped_sentences(
    translator: Translator,
    engine: CTranslate2Engine,
    segments: Sequence[Segment],
    found: Mapping[int, Sequence[Hypothesis]],
    settings: SearchOptions,
) -> dict[int, Sentence]:
    """Translations by their rows, with the maps of our own forward pass; words if they are read."""
    targets = [hypotheses[0].tokens for hypotheses in found.values()]
    maps = translator.torch_search.explanations([segments[row] for row in found], targets, settings)
    explained = dict(zip(found, maps, strict=True))

    def compute_fields(rows: Sequence[int]) -> dict[int, dict[str, Any]]:
        ids, best = [segments[row].ids for row in rows], [found[row][0] for row in rows]
        scored = engine.token_log_probabilities(ids, best, settings)
        return {
            row: _word_fields(translator, segments[row], hypothesis, explained[row])
            for row, hypothesis in zip(rows, scored, strict=True)
        }

    plain = {
        row: replace(sentence, attention=explained[row].maps)
        for row, sentence in _plain(translator, segments, found).items()
    }
    return LazyBatch(plain, compute_fields).sentences()


def _plain(
    model: TranslationModel,
    segments: Sequence[Segment],
    found: Mapping[int, Sequence[Hypothesis]],
) -> dict[int, Sentence]:
    return {row: model.sentence(segments[row], h[0].tokens, h) for row, h in found.items()}


def _word_fields(
    model: TranslationModel, segment: Segment, best: Hypothesis, explanation: Explanation
) -> dict[str, Any]:
    fields = model.word_fields(segment, best.tokens, [best], explanation)
    return {"hypothesis": best, **fields}


def _search(
    engine: CTranslate2Engine,
    segments: Sequence[Segment],
    rows: Sequence[int],
    settings: SearchOptions,
    *,
    attention: bool = False,
) -> Found:
    """The hypotheses of rows; the search begins at once."""
    ids = [segments[row].ids for row in rows]
    results = engine.results(ids, settings, attention=attention)
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
