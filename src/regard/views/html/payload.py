"""What the view's scripts are given of one text: words, tokens, links and packed maps, as JSON."""

from __future__ import annotations

import math
from collections.abc import MutableMapping, Sequence
from typing import Any

from regard.views.html.packing import PLANS, Plan, Summary, fitting, summary
from regard.views.maps.sentence import Viewed

BUDGET = 16_000_000
"""Bytes that the maps of a page may take."""

SMALL = 1_000_000  # bytes of maps, before they are deflated, that always go whole
KEPT = 300_000_000  # bytes that summaries may take while a plan is looked for
INLINE = 4096  # characters up to which a blob stays among the words


def shown(
    viewed: Viewed, blobs: MutableMapping[str, str] | None = None, *, budget: int = BUDGET
) -> dict[str, Any]:
    """What `regard.view(container, shown)` shows.

    `blobs` takes the longer strings of numbers by their names, and {"blob": name} stands in their
    place; without it they stay where they are.
    """
    return shown_together([viewed], blobs, budget=budget)[0]


def shown_together(
    texts: Sequence[Viewed],
    blobs: MutableMapping[str, str] | None = None,
    *,
    budget: int = BUDGET,
) -> list[dict[str, Any]]:
    """The same for several texts, whose maps share the budget and are packed alike."""
    return place(summaries(texts), texts, blobs, budget=budget)


def summaries(texts: Sequence[Viewed]) -> list[list[Summary]]:
    """What packing needs of each text's maps."""
    first = PLANS[_first(texts)]
    shapes = [maps.weights.shape for one in texts for maps in one.maps]
    small = sum(2 * heads * rows * columns for heads, rows, columns in shapes) <= SMALL
    return [[summary(maps, first, small=small) for maps in one.maps] for one in texts]


def place(
    found: Sequence[Sequence[Summary]],
    texts: Sequence[Viewed],
    blobs: MutableMapping[str, str] | None,
    *,
    budget: int,
) -> list[dict[str, Any]]:
    """The texts with their maps packed so that all fit into the budget."""
    flat = [one for maps in found for one in maps]
    _, made = fitting(flat, budget, _first(texts)) if flat else (None, [])
    remaining = iter(made)
    return [_shown(one, [next(remaining) for _ in maps], blobs)
            for one, maps in zip(texts, found, strict=True)]  # fmt: skip


def _first(texts: Sequence[Viewed]) -> int:
    """The first plan whose summaries are of a bearable size."""

    def kept(plan: Plan) -> int:
        found = 0
        for one in texts:
            for maps in one.maps:
                heads, rows, columns = maps.weights.shape
                whole = 2 * columns if rows * columns <= plan.whole else 0
                found += (heads + 1) * rows * (6 * plan.largest + columns // 16 + whole)
        return found

    fits = (number for number, plan in enumerate(PLANS) if kept(plan) <= KEPT)
    return next(fits, len(PLANS) - 1)


def _shown(
    viewed: Viewed, maps: list[dict[str, Any]], blobs: MutableMapping[str, str] | None
) -> dict[str, Any]:
    names = ("source",) if viewed.is_alone else ("source", "target", "inputs")
    axes = {name: viewed.axis(name) for name in names}
    strips = {"source": {"words": viewed.source_words, "language": viewed.source_language}}
    if not viewed.is_alone:
        strips["target"] = {"words": viewed.target_words, "language": viewed.target_language}
    for one in maps:
        one["rows"], one["columns"] = viewed.axes_of(one["kind"])
    confidence = viewed.confidence
    return {
        "title": viewed.title,
        "model": viewed.model,
        "translation": viewed.translation,
        "wrote": viewed.wrote,
        "reference": viewed.reference,
        "strips": strips,
        "axes": {
            name: {
                "tokens": axis.tokens,
                "groups": axis.groups,
                "strip": "source" if name == "source" else "target",
            }
            for name, axis in axes.items()
        },
        "links": viewed.links,
        "alignedBy": viewed.aligned_by,
        "confidence": None if confidence is None else [_share(c) for c in confidence],
        "maps": [one if blobs is None else _moved(one, blobs) for one in maps],
    }


def _moved(made: dict[str, Any], blobs: MutableMapping[str, str]) -> dict[str, Any]:
    """The map with its longer blobs put among `blobs`."""

    def moved(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: moved(part) for key, part in value.items()}
        if isinstance(value, list):
            return [moved(part) for part in value]
        if isinstance(value, str) and len(value) > INLINE:
            name = f"blob-{len(blobs)}"
            blobs[name] = value
            return {"blob": name}
        return value

    return {key: moved(value) for key, value in made.items()}


def _share(confidence: float) -> float | None:
    """A confidence, or None of a word that the model did not write."""
    return None if math.isnan(confidence) else round(float(confidence), 4)
