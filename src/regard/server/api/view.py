"""Sentences in the format of the browser's view: words, links and as many maps as there is room."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from regard.server.api.v1_schema import Maps
from regard.server.queue.catalogue import ServedModel
from regard.tasks.translation.inspection import sentence_view
from regard.tasks.translation.translation import Sentence
from regard.views.html.payload import sentence_payload

MAX_WEIGHTS = 4_000_000  # in one response, where they are compressed


def payloads(
    sentences: Sequence[Sentence], model: ServedModel, prefix: str = ""
) -> tuple[Maps, list[dict[str, Any]]]:
    """The sentences in the view's format, with as many of their maps as there is room for.

    `begun` is the number of characters of the translation that the prefix makes.
    """
    maps: Maps = "all"
    if _num_weights(sentences) > MAX_WEIGHTS:
        maps, sentences = "cross", [_with_maps(sentence, "cross") for sentence in sentences]
    no_maps = not any(sentence.attention for sentence in sentences)
    if _num_weights(sentences) > MAX_WEIGHTS or no_maps:
        maps, sentences = "none", [_with_maps(sentence, "") for sentence in sentences]
    begun = len(model.translator.spell(prefix)) if prefix else 0
    return maps, [
        {
            **sentence_payload(sentence_view(sentence, model.translator.info, name=model.name)),
            "source": sentence.source,
            "finished": sentence.finished,
            "begun": begun,
        }
        for sentence in sentences
    ]


def _num_weights(sentences: Sequence[Sentence]) -> int:
    return sum(m.weights.numel() for sentence in sentences for m in sentence.attention)


def _with_maps(sentence: Sentence, kind: str) -> Sentence:
    """A sentence with its maps of one kind only."""
    maps = tuple(layer_map for layer_map in sentence.attention if layer_map.kind == kind)
    return replace(sentence, attention=maps)
