"""Maps of any origin as one array per layer: the input of summaries and figures.

Shapes: L layers, H heads, R rows (queries), C columns (keys).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from regard.views.maps.arrays import (
    KIND_NAMES,
    Bools,
    Floats,
    Ints,
    as_floats,
    as_mask,
    check_row,
    join_rows,
)
from regard.views.maps.sentence import AXES, HeadMaps, SentenceView

if TYPE_CHECKING:
    from regard.attention import AttentionMap

    Maps = SentenceView | HeadMaps | AttentionMap | Iterable[Any]
    """A `SentenceView`; one or several `HeadMaps` or `AttentionMap`s; or plain numbers (a tensor,
    an array or lists) of shape (L, H, R, C), (H, R, C) of one layer, or (L, B, H, R, C) of a batch,
    like the `attentions` of transformers."""

ROUNDING = 1e-5  # of a weight of one, in single precision


class LayerHeads(NamedTuple):
    """All heads of one layer.

    weights    (H, R, C)
    visible    (R, C)  what a row may attend to; in a decoder, itself and the positions before
    positions  (R,)    the rows' positions in the text
    """

    kind: str
    layer: int
    heads: tuple[int, ...]
    weights: Floats
    visible: Bools
    positions: Ints

    def matrix(self, head: int | None) -> Floats:
        """The weights (R, C) of one head, or the mean of all heads."""
        if head is None:
            return np.asarray(self.weights.mean(0))
        if head not in self.heads:
            raise ValueError(f"head must be one of {self.heads} in layer {self.layer}, got {head}.")
        return np.asarray(self.weights[self.heads.index(head)])


def layers_of(
    maps: Maps,
    kind: str | None = None,
    *,
    row: int = 0,
    mask: Any = None,
    among: Iterable[str] = (),
) -> list[LayerHeads]:
    """Return the layers of one kind ("cross", "encoder", "decoder"; the first present), in order.

    `row` selects the sentence of a recorded batch. `mask` (C,) or (R, C), True where a row may
    attend, hides more columns, such as padding. `among` restricts the kinds to choose from. Plain
    numbers are of the kind they are said to be, or of none ("").
    """
    if is_plain(maps):
        return _plain_layers(maps, kind, row, mask, tuple(among))
    by_layer: dict[tuple[str, int], list[Any]] = {}
    for part in list_maps(maps):
        by_layer.setdefault((KIND_NAMES.get(part.kind, part.kind), part.layer), []).append(part)
    selected = _select_kind(kind, {name for name, _ in by_layer}, tuple(among))
    return [_layer(key, by_layer[key], row, mask) for key in sorted(by_layer) if key[0] == selected]


def layer_at(layers: list[LayerHeads], index: int) -> LayerHeads:
    """The layer at an index, which may count from the end."""
    if not -len(layers) <= index < len(layers):
        raise ValueError(f"layer must be below {len(layers)}, got {index}.")
    return layers[index]


def is_plain(maps: Any) -> bool:
    """Whether these are plain numbers, an array or lists of them, rather than recorded maps."""
    while isinstance(maps, list | tuple) and maps:
        maps = maps[0]
    return hasattr(maps, "shape") or isinstance(maps, int | float)


def list_maps(maps: Any) -> list[Any]:
    """List the maps of a `SentenceView`, a single map or an iterable of maps."""
    if isinstance(maps, SentenceView):
        return list(maps.maps)
    if hasattr(maps, "weights"):
        return [maps]
    parts = list(maps) if hasattr(maps, "__iter__") and not hasattr(maps, "shape") else [maps]
    for part in parts:
        if not (hasattr(part, "kind") and hasattr(part, "weights")):
            raise TypeError(
                "maps must be recorded by regard.attention.record or belong to a SentenceView, got "
                f"{type(part).__name__}; regard.views.show(...).entries[0] is the SentenceView of "
                "a transformers output."
            )
    return parts


def unit_of(*matrices: Floats) -> str:
    """The name of plain numbers beside a color bar: "weight" if all are between 0 and 1."""
    inside = all(bool((np.abs(matrix - 0.5) <= 0.5 + ROUNDING).all()) for matrix in matrices)
    return "weight" if inside else "value"


def _plain_layers(
    values: Any, kind: str | None, row: int, mask: Any, among: tuple[str, ...]
) -> list[LayerHeads]:
    weights_LHRC = as_floats(values)
    if weights_LHRC.ndim == 5:
        check_row(row, weights_LHRC.shape[1])
        weights_LHRC = weights_LHRC[:, row]
    if weights_LHRC.ndim == 3:
        weights_LHRC = weights_LHRC[None]
    if weights_LHRC.ndim != 4 or not weights_LHRC.size:
        raise ValueError(
            "plain maps must have shape (layers, heads, R, C), (heads, R, C) of one layer or "
            f"(layers, B, heads, R, C), got {weights_LHRC.shape}; heatmap draws a single matrix."
        )
    _, num_heads, num_rows, num_columns = weights_LHRC.shape
    name = "" if kind is None else KIND_NAMES.get(kind, kind)
    if among and name not in among and (name or num_rows != num_columns):
        raise ValueError(
            f"maps must be within one text ({' or '.join(among)}), as many rows as columns, "
            f"got {name or 'maps'} of shape {(num_rows, num_columns)}."
        )
    positions = np.arange(num_rows)
    visible = _allowed(name, positions, num_columns, mask)
    if not np.isfinite(weights_LHRC[:, :, visible]).all():
        raise ValueError("weights must be finite wherever they are not masked.")
    weights_LHRC = np.where(visible, weights_LHRC, 0.0)
    return [
        LayerHeads(name, layer, tuple(range(num_heads)), weights, visible, positions)
        for layer, weights in enumerate(weights_LHRC)
    ]


def _select_kind(kind: str | None, kinds: set[str], among: tuple[str, ...]) -> str:
    if not kinds:
        raise ValueError("maps must hold at least one attention map, got none.")
    present = ", ".join(sorted(kinds))
    if kind is not None:
        name = KIND_NAMES.get(kind, kind)
        if among and name not in among:
            raise ValueError(f"kind must be {' or '.join(among)} here, got {kind!r}.")
        if name not in kinds:
            raise ValueError(f"there are no {name} maps; the kinds present are: {present}.")
        return name
    for name in among or [*AXES, *sorted(kinds - set(AXES))]:
        if name in kinds:
            return name
    raise ValueError(f"maps of kind {' or '.join(among)} are needed, got: {present}.")


def _layer(key: tuple[str, int], parts: list[Any], row: int, mask: Any) -> LayerHeads:
    kind, layer = key
    if isinstance(parts[0], HeadMaps):
        if len(parts) > 1:
            raise ValueError(f"the {kind} maps of layer {layer} were given twice.")
        weights, positions = as_floats(parts[0].weights), np.arange(len(parts[0].rows))
    else:
        weights, positions = join_rows(parts, row)
    attended = (weights != 0).any(0)
    visible = _allowed(kind, positions, weights.shape[-1], None) | attended
    if mask is not None:
        visible = visible & as_mask(mask, (visible.shape[0], visible.shape[1]))
    visible = visible & attended.any(1, keepdims=True)  # a row without weights attends to nothing
    return LayerHeads(kind, layer, parts[0].heads, weights, np.asarray(visible), positions)


def _allowed(kind: str, positions: Ints, num_columns: int, mask: Any) -> Bools:
    """Where a row may attend (R, C): everywhere, or in a decoder up to its own position."""
    columns = np.arange(num_columns)
    allowed = columns <= (positions[:, None] if kind == "decoder" else num_columns)
    allowed = np.broadcast_to(allowed, (len(positions), num_columns))
    return allowed if mask is None else allowed & as_mask(mask, (len(positions), num_columns))
