"""Figures of texts that a model read: those of its maps, and those that need the model again."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import torch
from torch import nn

from regard.attention import Learned, Position
from regard.errors import InputError
from regard.views import (
    Figure,
    SentenceView,
    gradient_times_attention,
    head_effects,
    heatmap,
    positions_figure,
    switch_off_effects,
)
from regard.views.figures.figure_set import MAX_TOKENS, figure_set
from regard.views.maps.arrays import KIND_NAMES
from regard.views.maps.layers import layers_of

if TYPE_CHECKING:
    from regard.translator.inspected import Inspected, Loaded

PLACES = 64
"""Places of which the encoding is drawn, unless a text has more."""


def draw(
    model: Loaded,
    found: Sequence[Inspected],
    folder: Path,
    *,
    kind: str = "png",
    effects: bool = False,
    before: str = "",
) -> list[Path]:
    """Draw every figure of the texts into a folder; `before` begins the files' names."""
    written = []
    for number, one in enumerate(found, start=1):
        text = f"{number:0{len(str(len(found)))}d}-" if len(found) > 1 else ""
        for name, figure in _figures(model.network, one, effects=effects):
            written.append(figure.save(folder / f"{before}{text}{name}.{kind}"))
    longest = max((len(one.viewed.source_tokens) for one in found), default=0)
    for name, figure in own_positions(model.network, max(PLACES, longest)):
        written.append(figure.save(folder / f"{before}{name}.{kind}"))
    return written


def check_length(shown: Iterable[SentenceView]) -> None:
    """An error if a text is too long to be drawn."""
    longest = max((max(len(v.source_tokens), len(v.target_tokens)) for v in shown), default=0)
    if longest > MAX_TOKENS:
        raise InputError(
            f"figures hold at most {MAX_TOKENS:,} tokens, but a text has {longest:,}; leave "
            "--figures out (the page shows any length), or give a shorter text."
        )


def _figures(network: nn.Module, one: Inspected, *, effects: bool) -> Iterator[tuple[str, Figure]]:
    yield from figure_set(one.viewed)
    if one.viewed.maps and one.score is not None:
        yield from _gradients(network, one)
        if effects:
            yield from _effects(network, one)


def _gradients(network: nn.Module, one: Inspected) -> Iterator[tuple[str, Figure]]:
    """Which weights of the last layers speak for what the model wrote or decided."""
    assert one.score is not None
    kinds = {maps.kind for maps in one.viewed.maps}
    found = gradient_times_attention(network, one.batch, one.score)
    for kind in dict.fromkeys(each.kind for each in found if each.over == "keys"):
        name = KIND_NAMES.get(kind, kind)
        if name not in kinds:
            continue
        rows, columns = (one.viewed.axis(axis).tokens for axis in one.viewed.axes_of(name))
        last = layers_of([each for each in found if each.kind == kind])[-1]
        visible = layers_of(one.viewed, name)[-1].visible  # a gradient of zero hides nothing
        plane = last.weights.sum(0)[: len(rows), : len(columns)]
        title = f"{name} attention, layer {last.layer}, sum of heads"
        yield (
            f"{name}-gradient",
            heatmap(plane, rows, columns, visible, unit="gradient × attention", title=title),
        )


def _effects(network: nn.Module, one: Inspected) -> Iterator[tuple[str, Figure]]:
    """How much less probable the model's answer is when a head is switched off."""
    score: Callable[..., torch.Tensor] | None = one.score
    assert score is not None
    tables = switch_off_effects(network, lambda: float(score(network(one.batch)).sum()))
    for table in tables:
        yield f"{table.kind}-effects", head_effects(table, unit="change of log-probability")


def own_positions(network: nn.Module, length: int) -> Iterator[tuple[str, Figure]]:
    """What the model is told of places: one figure for each encoding that differs."""
    found = [  # a plain Position is none
        one for one in network.modules() if isinstance(one, Position) and type(one) is not Position
    ]
    several = len({type(one) for one in found}) > 1 or _differ(found)
    for number, one in enumerate(found if several else found[:1]):
        room = one.max_length if isinstance(one, Learned) else length
        name = f"positions-{number}" if several else "positions"
        yield name, positions_figure(one, min(length, room))


def _differ(found: Sequence[Position]) -> bool:
    """Whether encodings of one sort are learned, and so not the same ones."""
    return len(found) > 1 and any(list(one.parameters()) for one in found)
