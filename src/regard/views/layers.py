"""Maps of whatever origin, layer by layer, as plain numbers: what summaries and figures begin with.

Shapes: H heads, R rows (who looks), C columns (what is looked at), L layers.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from regard.views.sentence import AXES, HeadMaps, Viewed

if TYPE_CHECKING:
    from regard.attention import AttentionMap

Floats = NDArray[np.float64]
Truths = NDArray[np.bool_]

KIND_NAMES = {"self": "encoder", "causal": "decoder"}
"""What the page calls the kinds that `record` sees; the others keep their names."""


class LayerHeads(NamedTuple):
    """All heads of one layer.

    weights  (H, R, C)
    visible  (R, C)  what a row may look at; a row of a decoder sees its own place and those before
    places   (R,)    the rows' places in the text
    """

    kind: str
    layer: int
    heads: tuple[int, ...]
    weights: Floats
    visible: Truths
    places: NDArray[np.int64]


Maps = Viewed | HeadMaps | Iterable[Any]
"""A `Viewed`, or `HeadMaps` or `AttentionMap`s, one or several."""


def numbers(given: Any) -> Floats:
    """A tensor (also one with a gradient), an array or lists, as float64."""
    if hasattr(given, "detach"):
        given = given.detach().double().cpu().numpy()
    return np.asarray(given, np.float64)


def layers_of(
    maps: Maps | AttentionMap,
    kind: str | None = None,
    *,
    row: int = 0,
    mask: Any = None,
    among: Iterable[str] = (),
) -> list[LayerHeads]:
    """The layers of one kind ("cross", "encoder", "decoder"; the first there is), in their order.

    `row` chooses the sentence of a recorded batch. `mask` (C,) or (R, C), True where a row may
    look, says what else is hidden, such as padding. `among` limits the kinds to choose from.
    """
    pieces: dict[tuple[str, int], list[Any]] = {}
    for one in listed(maps):
        pieces.setdefault((KIND_NAMES.get(one.kind, one.kind), one.layer), []).append(one)
    kinds = {name for name, _ in pieces}
    wanted = _chosen_kind(kind, kinds, tuple(among))
    keys = sorted(key for key in pieces if key[0] == wanted)
    return [_layer(key, pieces[key], row, mask) for key in keys]


def listed(maps: Any) -> list[Any]:
    """The maps one by one, whatever they came in."""
    if isinstance(maps, Viewed):
        return list(maps.maps)
    if hasattr(maps, "weights"):
        return [maps]
    found = list(maps) if hasattr(maps, "__iter__") and not hasattr(maps, "shape") else [maps]
    for one in found:
        if not (hasattr(one, "kind") and hasattr(one, "weights")):
            raise TypeError(
                f"maps must be what regard.attention.record saw, or a text of a page, but "
                f"{type(one).__name__} came; regard.views.show(...).boards[0] is the text of what "
                "a model of transformers answers."
            )
    return found


def _chosen_kind(kind: str | None, kinds: set[str], among: tuple[str, ...]) -> str:
    if not kinds:
        raise ValueError("maps must hold at least one attention map, but none came.")
    there = ", ".join(sorted(kinds))
    if kind is not None:
        wanted = KIND_NAMES.get(kind, kind)
        if among and wanted not in among:
            raise ValueError(f"kind must be {' or '.join(among)} here, but {kind!r} came.")
        if wanted not in kinds:
            raise ValueError(f"there are no {wanted} maps; the kinds there are: {there}.")
        return wanted
    order = [*AXES, *sorted(kinds - set(AXES))]
    for name in among or order:
        if name in kinds:
            return name
    raise ValueError(f"maps of kind {' or '.join(among)} are needed, but these came: {there}.")


def _layer(key: tuple[str, int], pieces: list[Any], row: int, mask: Any) -> LayerHeads:
    kind, layer = key
    heads = pieces[0].heads
    if any(piece.heads != heads for piece in pieces):
        raise ValueError(f"the {kind} maps of layer {layer} are of different heads.")
    parts = [_part(piece, row) for piece in pieces]
    width = max(part.shape[-1] for part, _ in parts)  # a decoder's step sees the words so far
    grown = [np.pad(part, ((0, 0), (0, 0), (0, width - part.shape[-1]))) for part, _ in parts]
    weights, places = np.concatenate(grown, 1), np.concatenate([where for _, where in parts])
    order = np.argsort(places, kind="stable")
    weights, places = weights[:, order], places[order]
    if len(set(places.tolist())) < len(places):
        raise ValueError(
            f"rows of the {kind} maps of layer {layer} came twice; take the maps of one pass."
        )
    return LayerHeads(kind, layer, heads, weights, _visible(kind, weights, places, mask), places)


def _part(one: Any, row: int) -> tuple[Floats, NDArray[np.int64]]:
    """The weights (H, r, K) of one map, and its rows' places."""
    if isinstance(one, HeadMaps):
        return numbers(one.weights), np.arange(len(one.rows))
    if not 0 <= row < len(one.weights):
        raise ValueError(f"row must be below {len(one.weights)}, the sentences, but {row} came.")
    return numbers(one.weights[row]), np.asarray(one.rows, np.int64)


def _visible(kind: str, weights: Floats, places: NDArray[np.int64], mask: Any) -> Truths:
    num_rows, num_columns = weights.shape[1:]
    visible = np.ones((num_rows, num_columns), np.bool_)
    if kind == "decoder":
        visible = np.arange(num_columns) <= places[:, None]
    looked_at = (weights != 0).any(0)
    visible = visible | looked_at
    if mask is not None:
        visible = visible & truths(mask, (num_rows, num_columns))
    return np.asarray(
        visible & looked_at.any(1, keepdims=True)
    )  # a row without weights sees nothing


def truths(mask: Any, shape: tuple[int, int]) -> Truths:
    """A mask (C,) or (R, C) of truths, True where a row may look."""
    found = mask.detach().cpu().numpy() if hasattr(mask, "detach") else np.asarray(mask)
    if found.dtype != np.bool_:
        raise TypeError("mask must be of truth values, True where a row may look.")
    try:
        return np.broadcast_to(found, shape)
    except ValueError:
        raise ValueError(f"mask must be of shape {shape}, but {found.shape} came.") from None
