"""Figures of inspected texts: those of the attention maps, and those that run the model again."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

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
    from regard.tasks.inspection import Inspection

MIN_POSITIONS = 64
"""Positions in the figure of an encoding, unless a text has more."""


def draw(
    model: Any,
    inspections: Sequence[Inspection],
    folder: Path,
    *,
    kind: str = "png",
    effects: bool = False,
    prefix: str = "",
) -> list[Path]:
    """Draw every figure of the texts into a folder; `prefix` begins the file names."""
    written = []
    several = len(inspections) > 1
    for number, inspection in enumerate(inspections, start=1):
        text = f"{number:0{len(str(len(inspections)))}d}-" if several else ""
        for name, figure in _figures(model.network, inspection, effects=effects):
            written.append(figure.save(folder / f"{prefix}{text}{name}.{kind}"))
    longest = max((len(each.view.source_tokens) for each in inspections), default=0)
    for name, figure in own_positions(model.network, max(MIN_POSITIONS, longest)):
        written.append(figure.save(folder / f"{prefix}{name}.{kind}"))
    return written


def check_length(shown: Iterable[SentenceView]) -> None:
    """Check that all texts are short enough to be drawn."""
    longest = max((max(len(v.source_tokens), len(v.target_tokens)) for v in shown), default=0)
    if longest > MAX_TOKENS:
        raise InputError(
            f"figures hold at most {MAX_TOKENS:,} tokens, but a text has {longest:,}; leave "
            "--figures out (the page shows any length), or give a shorter text."
        )


def _figures(
    network: nn.Module, inspection: Inspection, *, effects: bool
) -> Iterator[tuple[str, Figure]]:
    yield from figure_set(inspection.view)
    if inspection.view.maps and inspection.score is not None:
        yield from _gradients(network, inspection)
        if effects:
            yield from _effects(network, inspection)


def _gradients(network: nn.Module, inspection: Inspection) -> Iterator[tuple[str, Figure]]:
    """Gradient × attention of the last layers, for the model's output."""
    assert inspection.score is not None
    view = inspection.view
    kinds = {maps.kind for maps in view.maps}
    gradients = gradient_times_attention(network, inspection.batch, inspection.score)
    for kind in dict.fromkeys(each.kind for each in gradients if each.over == "keys"):
        name = KIND_NAMES.get(kind, kind)
        if name not in kinds:
            continue
        rows, columns = (view.axis(axis).tokens for axis in view.axes_of(name))
        last = layers_of([each for each in gradients if each.kind == kind])[-1]
        visible = layers_of(view, name)[-1].visible  # a gradient of zero hides nothing
        plane = last.weights.sum(0)[: len(rows), : len(columns)]
        title = f"{name} attention, layer {last.layer}, sum of heads"
        yield (
            f"{name}-gradient",
            heatmap(plane, rows, columns, visible, unit="gradient × attention", title=title),
        )


def _effects(network: nn.Module, inspection: Inspection) -> Iterator[tuple[str, Figure]]:
    """Decrease of the output's log-probability when a head is switched off."""
    score: Callable[..., torch.Tensor] | None = inspection.score
    assert score is not None
    tables = switch_off_effects(network, lambda: float(score(network(inspection.batch)).sum()))
    for table in tables:
        yield f"{table.kind}-effects", head_effects(table, unit="change of log-probability")


def own_positions(network: nn.Module, length: int) -> Iterator[tuple[str, Figure]]:
    """Figures of the position encodings, one for each that differs."""
    encodings = [  # a plain Position encodes nothing
        m for m in network.modules() if isinstance(m, Position) and type(m) is not Position
    ]
    several = len({type(encoding) for encoding in encodings}) > 1 or _differ(encodings)
    for number, encoding in enumerate(encodings if several else encodings[:1]):
        room = encoding.max_length if isinstance(encoding, Learned) else length
        name = f"positions-{number}" if several else "positions"
        yield name, positions_figure(encoding, min(length, room))


def _differ(encodings: Sequence[Position]) -> bool:
    """Whether encodings of one type are learned, and so differ."""
    return len(encodings) > 1 and any(list(encoding.parameters()) for encoding in encodings)
