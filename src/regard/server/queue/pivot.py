"""Translate texts along their routes: by one model, or through a third language by two in turn."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial

from fastapi import Request

from regard.documents.projection import word_spans
from regard.server.http.errors import ApiError
from regard.server.queue.catalogue import ServedModel
from regard.server.queue.routing import Routes
from regard.server.queue.service import Service
from regard.tasks.translation.translation import Sentence, Translation

ALIGNED_TOGETHER = 64  # sentences


async def translate_routes(
    service: Service,
    request: Request,
    texts: Sequence[Sequence[str]],
    routes: Routes,
    *,
    num_alternatives: int = 0,
    alignment: bool = False,
    glossary: Mapping[str, str] | None = None,
) -> list[list[Translation]]:
    """The translations of the parts of each text; `alignment` aligns the alternatives too.

    A text in the target language stays as it is. A glossary is from source to target, so that a
    route through a third language cannot have one.
    """
    if glossary and any(len(models) > 1 for models in routes.models.values()):
        raise ApiError(400, "a glossary needs a model from the source to the target language.")
    flat = [
        (source, part)
        for source, parts in zip(routes.sources, texts, strict=True)
        for part in parts
    ]
    rows = {
        code: [row for row, (source, _) in enumerate(flat) if source == code]
        for code in routes.models
    }
    translations = [Translation(part, part, ()) for _, part in flat]
    for step in (0, 1):  # the second for texts that go through a third language
        going = {code: models[step] for code, models in routes.models.items() if step < len(models)}
        if not going:
            break
        groups = []
        for code, model in going.items():
            last = step == len(routes.models[code]) - 1
            options = model.translator.options(
                n_best=1 + num_alternatives * last,
                sample=False,
                alignment=alignment,
                protect=True,
                memory=service.memory_of(model),
                glossary=glossary,
            )
            groups.append((model, [translations[row].text for row in rows[code]], options))
        results = await service.translate(request, groups)
        for (code, model), done in zip(going.items(), results, strict=True):
            if alignment:
                done = await _align_alternatives(service, request, model, done)
            if step:
                first = [translations[row] for row in rows[code]]
                done = await service.run_in_background(
                    request, partial(list, map(compose, first, done))
                )
            for row, translation in zip(rows[code], done, strict=True):
                translations[row] = translation
    rest = iter(translations)
    return [[next(rest) for _ in parts] for parts in texts]


async def _align_alternatives(
    service: Service, request: Request, model: ServedModel, translations: Sequence[Translation]
) -> list[Translation]:
    """The translations with word links of their alternatives, found for a few at a time."""
    bare = [
        sentence
        for translation in translations
        for other in translation.alternatives
        for sentence in other.sentences
        if not sentence.words
    ]
    aligned: dict[int, Sentence] = {}
    for start in range(0, len(bare), ALIGNED_TOGETHER):
        some = bare[start : start + ALIGNED_TOGETHER]
        pairs = [(sentence.source, sentence.text) for sentence in some]
        done = await service.call(request, partial(model.translator.align, pairs))
        for before, after in zip(some, done, strict=True):
            aligned[id(before)] = replace(after, score=before.score)

    def exchanged(other: Translation) -> Translation:
        sentences = tuple(aligned.get(id(sentence), sentence) for sentence in other.sentences)
        return replace(other, sentences=sentences)

    return [
        replace(translation, alternatives=tuple(map(exchanged, translation.alternatives)))
        for translation in translations
    ]


def compose(first: Translation, second: Translation) -> Translation:
    """The translation of `first.source` into `second`'s language, with words linked through both.

    `second` is a translation of `first.text`.
    """
    sentence = Sentence(
        source=first.source,
        text=second.text,
        score=first.score + second.score,
        source_tokens=(),
        tokens=second.tokens,
        source_words=first.source_words,
        words=second.words,
        alignment=_compose_links(first, second),
    )
    alternatives = tuple(compose(first, other) for other in second.alternatives)
    return Translation(second.text, first.source, (sentence,), alternatives=alternatives)


def _compose_links(first: Translation, second: Translation) -> tuple[tuple[int, int], ...]:
    """Links of words whose links meet in the text between.

    The two models may cut that text into different words, so words meet where their spans overlap.
    """
    middle = word_spans(first.text, second.source_words)  # in order, so that a search is enough
    starts, ends = [start for start, _ in middle], [end for _, end in middle]
    overlapping = [
        range(bisect_right(ends, start), bisect_left(starts, end))
        for start, end in word_spans(first.text, first.words)
    ]
    onward: dict[int, list[int]] = {}
    for source, target in second.alignment:
        onward.setdefault(source, []).append(target)
    return tuple(
        sorted(
            {
                (source, target)
                for source, between in first.alignment
                for word in overlapping[between]
                for target in onward.get(word, ())
            }
        )
    )
