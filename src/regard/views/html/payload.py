"""The JSON that the browser view shows: words, tokens, links and packed maps of texts."""

from __future__ import annotations

import math
from collections.abc import MutableMapping, Sequence
from typing import Any

from regard.views.html.packing import PLANS, LayerSummary, PackingPlan, pack_within, summarize
from regard.views.maps.sentence import SentenceView

MAPS_BUDGET = 16_000_000
"""Bytes that the maps of a page may take."""

SMALL = 1_000_000  # bytes of maps, before compression, that are always sent whole
SUMMARY_MEMORY = 300_000_000  # bytes that summaries may take while a plan is chosen
INLINE = 4096  # characters up to which a blob stays inside the JSON


def sentence_payload(view: SentenceView) -> dict[str, Any]:
    """The data of `regard.view(container, data)` for one text."""
    return pack_views(summarize_views([view]), [view], None, budget=MAPS_BUDGET)[0]


def summarize_views(views: Sequence[SentenceView]) -> list[list[LayerSummary]]:
    """Summarize the maps of each text for packing."""
    first = PLANS[_first_plan(views)]
    shapes = [maps.weights.shape for view in views for maps in view.maps]
    small = sum(2 * heads * rows * columns for heads, rows, columns in shapes) <= SMALL
    return [[summarize(maps, first, small=small) for maps in view.maps] for view in views]


def pack_views(
    summaries: Sequence[Sequence[LayerSummary]],
    views: Sequence[SentenceView],
    blobs: MutableMapping[str, str] | None,
    *,
    budget: int,
) -> list[dict[str, Any]]:
    """The payloads of several texts, with their maps packed alike to fit into the budget.

    With `blobs`, long base64 strings are stored there by name and replaced by {"blob": name}.
    """
    flat = [summary for maps in summaries for summary in maps]
    packed = iter(pack_within(flat, budget, _first_plan(views))[1] if flat else [])
    return [
        _payload(view, [next(packed) for _ in maps], blobs)
        for view, maps in zip(views, summaries, strict=True)
    ]


def _first_plan(views: Sequence[SentenceView]) -> int:
    """The first plan whose summaries fit into memory."""

    def memory(plan: PackingPlan) -> int:
        total = 0
        for heads, rows, columns in (m.weights.shape for view in views for m in view.maps):
            whole = 2 * columns if rows * columns <= plan.max_whole else 0
            total += (heads + 1) * rows * (6 * plan.num_largest + columns // 16 + whole)
        return total

    fits = (number for number, plan in enumerate(PLANS) if memory(plan) <= SUMMARY_MEMORY)
    return next(fits, len(PLANS) - 1)


def _payload(
    view: SentenceView, maps: list[dict[str, Any]], blobs: MutableMapping[str, str] | None
) -> dict[str, Any]:
    sides = {"source": {"words": view.source_words, "language": view.source_language}}
    axes = {"source": view.axis("source")}
    if view.has_target:
        sides["target"] = {"words": view.target_words, "language": view.target_language}
        axes |= {"target": view.axis("target"), "inputs": view.axis("inputs")}
    for layer in maps:
        layer["rows"], layer["columns"] = view.axes_of(layer["kind"])
    return {
        "title": view.title,
        "model": view.model,
        "translation": view.translation,
        "targetKind": view.target_kind,
        "reference": view.reference,
        "sides": sides,
        "axes": {
            name: {
                "tokens": axis.tokens,
                "groups": axis.groups,
                "side": "source" if name == "source" else "target",
            }
            for name, axis in axes.items()
        },
        "links": view.links,
        "alignmentHead": view.alignment_head,
        "confidence": view.confidence
        and [None if math.isnan(share) else round(float(share), 4) for share in view.confidence],
        "maps": maps if blobs is None else _move_blobs(maps, blobs),
    }


def _move_blobs(value: Any, blobs: MutableMapping[str, str]) -> Any:
    """Move long strings into `blobs`, and leave a reference in their place."""
    if isinstance(value, dict):
        return {key: _move_blobs(part, blobs) for key, part in value.items()}
    if isinstance(value, list):
        return [_move_blobs(part, blobs) for part in value]
    if isinstance(value, str) and len(value) > INLINE:
        name = f"blob-{len(blobs)}"
        blobs[name] = value
        return {"blob": name}
    return value
