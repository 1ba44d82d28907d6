"""Maps of whatever origin, layer by layer, as plain numbers: what summaries and figures begin with.

Shapes: H heads, R rows (who looks), C columns (what is looked at), L layers.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from regard.views.maps.sentence import AXES, HeadMaps, Viewed

if TYPE_CHECKING:
    from regard.attention import AttentionMap

Floats = NDArray[np.float64]
Truths = NDArray[np.bool_]

KIND_NAMES = {"self": "encoder", "causal": "decoder"}
"""What the page calls the kinds that `record` sees; the others keep their names."""

ROUNDING = 1e-5  # of a weight of one, in single precision


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
"""A `Viewed`, or `HeadMaps` or `AttentionMap`s, one or several; or plain numbers, a tensor, an
array or lists of shape (layers, heads, R, C), (heads, R, C) of one layer, or (layers, B, heads, R,
C) of a batch, as the `attentions` of transformers are."""


def numbers(given: Any) -> Floats:
    """A tensor (also one with a gradient), an array or lists of either, as float64."""
    if hasattr(given, "detach"):
        given = given.detach().double().cpu().numpy()
    if isinstance(given, list | tuple) and given and hasattr(given[0], "shape"):
        given = [numbers(one) for one in given]
    try:
        return np.asarray(given, np.float64)
    except (TypeError, ValueError):
        raise TypeError(
            f"numbers of one shape are needed, but a {type(given).__name__} of something else came."
        ) from None


def unit_of(*planes: Floats) -> str:
    """What plain numbers are called beside their colours: weights lie between 0 and 1."""
    inside = all(bool((np.abs(plane - 0.5) <= 0.5 + ROUNDING).all()) for plane in planes)
    return "weight" if inside else "value"


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
    look, says what else is hidden, such as padding. `among` limits the kinds to choose from; plain
    numbers are of the kind they are said to be, or of none ("").
    """
    if is_plain(maps):
        return _plain_layers(maps, kind, row, mask, tuple(among))
    pieces: dict[tuple[str, int], list[Any]] = {}
    for one in listed(maps):
        pieces.setdefault((KIND_NAMES.get(one.kind, one.kind), one.layer), []).append(one)
    kinds = {name for name, _ in pieces}
    wanted = _chosen_kind(kind, kinds, tuple(among))
    keys = sorted(key for key in pieces if key[0] == wanted)
    return [_layer(key, pieces[key], row, mask) for key in keys]


def is_plain(maps: Any) -> bool:
    """Whether these are numbers and no recorded maps: an array, or lists of them."""
    while isinstance(maps, list | tuple) and maps:
        maps = maps[0]
    return hasattr(maps, "shape") or isinstance(maps, int | float)


def _plain_layers(
    given: Any, kind: str | None, row: int, mask: Any, among: tuple[str, ...]
) -> list[LayerHeads]:
    """Plain numbers layer by layer; what is not masked can be seen, of a decoder what is before."""
    weights_LHRC = numbers(given)
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
    num_layers, num_heads, num_rows, num_columns = weights_LHRC.shape
    name = "" if kind is None else KIND_NAMES.get(kind, kind)
    if among and name not in among and (name or num_rows != num_columns):
        raise ValueError(
            f"maps within one text are needed ({' or '.join(among)}), as many rows as columns, "
            f"got {name or 'maps'} of shape {(num_rows, num_columns)}."
        )
    places = np.arange(num_rows)
    visible = np.ones((num_rows, num_columns), np.bool_)
    if name == "decoder":
        visible = np.arange(num_columns) <= places[:, None]
    visible = visible if mask is None else visible & truths(mask, visible.shape)
    if not np.isfinite(weights_LHRC[:, :, visible]).all():
        raise ValueError("weights must be finite numbers wherever they are not masked.")
    weights_LHRC = np.where(visible, weights_LHRC, 0.0)
    heads = tuple(range(num_heads))
    return [
        LayerHeads(name, layer, heads, weights_LHRC[layer], visible, places)
        for layer in range(num_layers)
    ]


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
    check_row(row, len(one.weights))
    return numbers(one.weights[row]), np.asarray(one.rows, np.int64)


def check_row(row: int, number: int) -> None:
    """Check which sentence of a batch is meant."""
    if not 0 <= row < number:
        raise ValueError(f"row must be below {number}, the sentences, but {row} came.")


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
