"""How to read alignment from cross-attention: which layer, which head, which row.

The decoder's inputs are [BOS, y1 … yn] and its outputs [y1 … yn, EOS], so a map has n + 1 rows,
counted from 0: row t predicts token y(t+1), and in row t + 1 that token is the input. Reading the
second often aligns better: Chen, Liu, Chen, Jiang and Liu (2020), "Accurate word alignment
induction from neural machine translation".

Shapes: B sentences, H heads, T target tokens, S source tokens (both with EOS).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from regard.alignment.pieces import Array

if TYPE_CHECKING:
    from regard.attention import AttentionMap

FAINT = 0.01  # less than this is nothing


class Reading(NamedTuple):
    """Where to read alignment.

    layer  number of the cross-attention, from 0
    head   number of the head, or None for the mean of the layer's heads
    shift  False: the row that predicts a target token; True: the row where it is the input
    """

    layer: int
    head: int | None
    shift: bool

    def __str__(self) -> str:
        """`layer 3, head 5, input row`, for tables."""
        head = "mean of heads" if self.head is None else f"head {self.head}"
        return f"layer {self.layer}, {head}, {'input' if self.shift else 'predicting'} row"


class LayerMaps(NamedTuple):
    """All rows of one layer: weights (B, H, rows, columns), and which heads these are."""

    weights: Array
    heads: tuple[int, ...]


def read(
    maps: Iterable[AttentionMap],
    reading: Reading,
    row: int,
    *,
    target_length: int,
    source_length: int,
) -> Array:
    """(T, S): the weights of sentence `row` of a batch; lengths count EOS, what follows is padding.

    With `shift`, the last row is zero: EOS is never an input.
    """
    cross = [one for one in maps if one.kind == "cross"]
    here = layer_maps([one for one in cross if one.layer == reading.layer], "cross")
    if not here:
        layers = sorted({one.layer for one in cross})
        raise ValueError(
            f"layer is {reading.layer}, but the maps are of cross-attention layers {layers}."
        )
    weights, heads = here[reading.layer]
    if reading.head is not None and reading.head not in heads:
        raise ValueError(f"head is {reading.head}, but the maps are of heads {list(heads)}.")
    one = weights[row, :, :target_length, :source_length]
    chosen = one.mean(axis=0) if reading.head is None else one[heads.index(reading.head)]
    return shifted(chosen) if reading.shift else chosen


def shifted(weights_TS: Array) -> Array:
    """The rows in which target tokens are inputs: each row is the one after it, the last is zero.

    >>> shifted(np.array([[1.0, 0.0], [0.0, 1.0]])).tolist()
    [[0.0, 1.0], [0.0, 0.0]]
    """
    moved = np.zeros_like(weights_TS)
    moved[..., :-1, :] = weights_TS[..., 1:, :]
    return moved


def layer_maps(maps: Iterable[AttentionMap], kind: str) -> dict[int, LayerMaps]:
    """Each layer's maps of one kind as arrays, in single precision.

    A layer may come in several maps, as when decoding recorded one step at a time; they are put
    together by their rows. Rows and columns that no map has are zero. Maps whose columns are not
    words (Linformer's) are left out.
    """
    found: dict[int, list[AttentionMap]] = {}
    for one in maps:
        if one.kind == kind and one.over == "keys":
            found.setdefault(one.layer, []).append(one)
    return {layer: _together(found[layer]) for layer in sorted(found)}


def as_shares(weights: Array) -> Array:
    """Rows that need not sum to one (a window's, a sigmoid's) as shares of their sum.

    A row that looks at next to nothing stays as it is.

    >>> as_shares(np.array([[0.2, 0.2], [0.001, 0.0], [0.7, 0.3]], np.float32)).round(3).tolist()
    [[0.5, 0.5], [0.0010000000474974513, 0.0], [0.699999988079071, 0.30000001192092896]]
    """
    total = weights.sum(axis=-1, keepdims=True)
    other = (np.abs(total - 1) > FAINT) & (total > FAINT)
    return np.asarray(weights / np.where(other, total, 1.0), weights.dtype)


def _together(maps: list[AttentionMap]) -> LayerMaps:
    first = maps[0]
    batch, num_heads = first.weights.shape[:2]
    taken = [position for one in maps for position in one.rows]
    if any(one.weights.shape[0] != batch or one.heads != first.heads for one in maps):
        raise ValueError(
            f"the maps of layer {first.layer} are of batches or heads that differ, "
            "but maps of one batch are read together."
        )
    if len(set(taken)) != len(taken):
        raise ValueError(
            f"the maps of layer {first.layer} have a row twice, "
            "but each pass of the model is recorded by itself."
        )
    arrays = [as_shares(one.weights.detach().float().cpu().numpy()) for one in maps]
    if len(maps) == 1 and first.rows == tuple(range(len(first.rows))):
        return LayerMaps(arrays[0], first.heads)
    columns = max(array.shape[-1] for array in arrays)
    whole = np.zeros((batch, num_heads, max(taken, default=-1) + 1, columns), np.float32)
    for one, array in zip(maps, arrays, strict=True):
        whole[:, :, list(one.rows), : array.shape[-1]] = array
    return LayerMaps(whole, first.heads)
