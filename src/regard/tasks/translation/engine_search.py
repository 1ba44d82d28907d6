"""Sentences searched by CTranslate2: from segments to translations with lazy words."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, NamedTuple

from regard.alignment.tokenized_words import Array
from regard.config import SearchOptions
from regard.decoding import Hypothesis
from regard.decoding.ctranslate2_engine import CTranslate2Engine
from regard.tasks.translation.lazy_sentence import LazyBatch
from regard.tasks.translation.translation import Sentence, TranslateOptions
from regard.tasks.translation.word_fields import COMPUTED_TOGETHER, TranslatedTokens
from regard.tasks.translation.wording.protection import can_lose, keeps_all
from regard.text.segments import Segment

if TYPE_CHECKING:
    from regard.tasks.translation.translation_model import TranslationModel
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
        results = _with_texts(translator, segments, chain(found, kept))
        if options.attention:
            return mapped_sentences(translator, engine, segments, results, settings)
        if options.alignment:
            return _linked_sentences(translator, engine, segments, results, settings)
        return results.plain

    return collect


class _Results(NamedTuple):
    """The best hypotheses of a search by their rows, and the sentences that have only texts."""

    best: dict[int, Hypothesis]
    plain: dict[int, Sentence]


def _with_texts(
    model: TranslationModel,
    segments: Sequence[Segment],
    found: Iterable[tuple[int, Sequence[Hypothesis]]],
) -> _Results:
    """The texts of results, each written while others are searched."""
    results = _Results({}, {})
    for row, hypotheses in found:
        results.best[row] = best = hypotheses[0]
        results.plain[row] = model.sentence(segments[row], best.tokens, hypotheses)
    return results


def linked_sentences(
    model: TranslationModel,
    engine: CTranslate2Engine,
    segments: Sequence[Segment],
    found: Mapping[int, Sequence[Hypothesis]],
    settings: SearchOptions,
) -> dict[int, Sentence]:
    """Translations by their rows; links are by the attention that CTranslate2 returns, if read."""
    results = _with_texts(model, segments, found.items())
    return _linked_sentences(model, engine, segments, results, settings)


def _linked_sentences(
    model: TranslationModel,
    engine: CTranslate2Engine,
    segments: Sequence[Segment],
    results: _Results,
    settings: SearchOptions,
) -> dict[int, Sentence]:
    shift = model.run.alignment is not None and model.run.alignment.shift

    def explained(rows: Sequence[int]) -> Iterator[tuple[int, TranslatedTokens]]:
        ids = [segments[row].ids for row in rows]
        best = [results.best[row] for row in rows]
        for number, (scored, attention) in engine.explain(
            ids, best, settings, first_rows=not shift
        ):
            row = rows[number]
            yield (
                row,
                TranslatedTokens(
                    segments[row], scored.tokens, results.plain[row].text, scored, attention
                ),
            )

    def compute_fields(rows: Sequence[int]) -> dict[int, dict[str, Any]]:
        return _word_fields(model, explained(rows), shift=shift)

    return LazyBatch(results.plain, compute_fields).sentences()


def mapped_sentences(
    translator: Translator,
    engine: CTranslate2Engine,
    segments: Sequence[Segment],
    results: _Results,
    settings: SearchOptions,
) -> dict[int, Sentence]:
    """Translations by their rows, with the maps of our own forward pass; words if they are read."""
    best, plain = results
    own = translator.torch_search.maps(
        [segments[row] for row in best], [each.tokens for each in best.values()], settings
    )
    maps = dict(zip(best, own, strict=True))

    def weights(row: int) -> Array | None:
        lengths = len(best[row].tokens) + 1, len(segments[row].ids) + 1
        return translator.token_weights(maps[row], 0, *lengths)

    def compute_fields(rows: Sequence[int]) -> dict[int, dict[str, Any]]:
        ids = [segments[row].ids for row in rows]
        scored = engine.token_log_probabilities(ids, [best[row] for row in rows], settings)
        given = (
            (row, TranslatedTokens(segments[row], each.tokens, plain[row].text, each, weights(row)))
            for row, each in zip(rows, scored, strict=True)
        )
        return _word_fields(translator, given)

    mapped = {row: replace(sentence, attention=maps[row]) for row, sentence in plain.items()}
    return LazyBatch(mapped, compute_fields).sentences()


def _word_fields(
    model: TranslationModel, given: Iterable[tuple[int, TranslatedTokens]], *, shift: bool = False
) -> dict[int, dict[str, Any]]:
    """The fields about the words of sentences, by their rows.

    Those of some are computed while others wait for the engine.
    """
    fields: dict[int, dict[str, Any]] = {}
    waiting = iter(given)
    while part := list(islice(waiting, COMPUTED_TOGETHER)):
        own = model.word_fields([translated for _, translated in part], shift=shift)
        for (row, translated), computed in zip(part, own, strict=True):
            fields[row] = {"hypothesis": translated.hypothesis, **computed}
    return fields


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
