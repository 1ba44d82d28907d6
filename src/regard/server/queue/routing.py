"""Texts of several languages into one, by the models that lead there: one, or two in turn."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

from fastapi import Request

from regard.server.queue.batching import Answer, Manner
from regard.server.queue.catalogue import Model
from regard.server.queue.linking import TOGETHER, linked
from regard.server.queue.pivot import composed
from regard.server.queue.service import Service
from regard.tasks.translation.translator import Wish
from regard.translator import Sentence, Translation


class Wanted(NamedTuple):
    """Into which language, how many other translations as well, and what else of them."""

    target: str
    alternatives: int
    wish: Wish


async def by_language(
    service: Service,
    request: Request,
    pieces: Sequence[Sequence[str]],
    sources: Sequence[str],
    wanted: Wanted,
) -> list[list[Answer]]:
    """The pieces of each text, which is in the language that `sources` says.

    What is in the target's language already stays as it is.
    """
    flat = [(source, text) for source, own in zip(sources, pieces, strict=True) for text in own]
    places: dict[str, list[int]] = {}
    for place, (source, _) in enumerate(flat):
        if source != wanted.target:
            places.setdefault(source, []).append(place)
    ways = {source: _way(service, source, wanted.target) for source in places}
    answers = [Answer(Translation(text, text, ())) for _, text in flat]
    for step in (0, 1):  # the second for texts that go through a third language
        going = {source: way[step] for source, way in ways.items() if step < len(way)}
        groups = []
        for source, model in going.items():
            last = step == len(ways[source]) - 1
            manner = Manner(service.search(model, wanted.alternatives if last else 0), wanted.wish)
            texts = [answers[place].translation.text for place in places[source]]
            groups.append((model, texts, manner))
        done = await service.translate(request, groups)
        for (source, model), own in zip(going.items(), done, strict=True):
            if wanted.wish.alignment:
                own = await _linked(service, request, model, own)
            before = [answers[place].translation for place in places[source]]
            if step:
                own = await service.beside(
                    request, partial(_composed, before, own)
                )  # fmt: skip
            for place, answer in zip(places[source], own, strict=True):
                answers[place] = answer
    rest = iter(answers)
    return [[next(rest) for _ in own] for own in pieces]


def _composed(before: Sequence[Translation], then: Sequence[Answer]) -> list[Answer]:
    return [composed(first, second) for first, second in zip(before, then, strict=True)]


def _way(service: Service, source: str, target: str) -> tuple[Model, ...]:
    """One model, or two; an error if there is no way."""
    known = service.catalogue
    return known.way(source, target) or (known.model(source, target),)


async def _linked(
    service: Service, request: Request, model: Model, answers: Sequence[Answer]
) -> list[Answer]:
    """The answers with word links of the next best too; a few at a time, as others wait as well."""
    bare = [
        sentence
        for answer in answers
        for other in answer.others
        for sentence in other.sentences
        if not sentence.words
    ]
    done: dict[int, Sentence] = {}
    for start in range(0, len(bare), TOGETHER):
        some = bare[start : start + TOGETHER]
        found = await service.call(request, partial(linked, model.translator, some))
        done |= {id(before): after for before, after in zip(some, found, strict=True)}
    return [
        answer._replace(others=tuple(_exchanged(one, done) for one in answer.others))
        for answer in answers
    ]


def _exchanged(translation: Translation, done: dict[int, Sentence]) -> Translation:
    own = tuple(done.get(id(one), one) for one in translation.sentences)
    return Translation(translation.text, translation.source, own)
