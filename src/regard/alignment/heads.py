"""The attention that is used as word alignment: which layer, which head, which row.

The decoder's inputs are [BOS, y1 … yn] and its outputs [y1 … yn, EOS], so a map has n + 1 rows,
counted from 0: row t predicts token y(t+1), and in row t + 1 that token is the input. The second
often aligns better: Chen, Liu, Chen, Jiang and Liu (2020), "Accurate word alignment induction from
neural machine translation".

Shapes: B sentences, H heads, T target tokens, S source tokens (both with EOS).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from regard.alignment.tokenized_words import Array

if TYPE_CHECKING:
    from regard.attention import AttentionMap

NEGLIGIBLE = 0.01  # weights below this count as zero


class AlignmentHead(NamedTuple):
    """The rows of cross-attention that are used as alignment.

    layer  number of the cross-attention layer, from 0
    head   number of the head, or None for the mean of the layer's heads
    shift  False: the row that predicts a target token; True: the row where it is the input
    """

    layer: int
    head: int | None
    shift: bool


class LayerMaps(NamedTuple):
    """All rows of one layer: weights (B, H, rows, columns), and which heads these are."""

    weights: Array
    heads: tuple[int, ...]


def alignment_weights(
    maps: Iterable[AttentionMap],
    head: AlignmentHead,
    row: int,
    *,
    target_length: int,
    source_length: int,
) -> Array:
    """(T, S): the weights of sentence `row` of a batch, without padding; lengths count EOS.

    With `shift`, the last row is zero: EOS is never an input.
    """
    cross = [layer_map for layer_map in maps if layer_map.kind == "cross"]
    layers = layer_maps((m for m in cross if m.layer == head.layer), "cross")
    if not layers:
        known = sorted({layer_map.layer for layer_map in cross})
        raise ValueError(f"layer must be one of the recorded layers {known}, got {head.layer}.")
    weights, heads = layers[head.layer]
    if head.head is not None and head.head not in heads:
        raise ValueError(f"head must be one of the recorded heads {list(heads)}, got {head.head}.")
    sentence_HTS = weights[row, :, :target_length, :source_length]
    chosen = sentence_HTS.mean(0) if head.head is None else sentence_HTS[heads.index(head.head)]
    return shift_rows(chosen) if head.shift else chosen


def shift_rows(weights_TS: Array) -> Array:
    """The rows in which target tokens are inputs: each row is the one after it, the last is zero.

    >>> shift_rows(np.array([[1.0, 0.0], [0.0, 1.0]])).tolist()
    [[0.0, 1.0], [0.0, 0.0]]
    """
    shifted = np.zeros_like(weights_TS)
    shifted[..., :-1, :] = weights_TS[..., 1:, :]
    return shifted


def layer_maps(maps: Iterable[AttentionMap], kind: str) -> dict[int, LayerMaps]:
    """Each layer's maps of one kind as arrays, in single precision.

    A layer may come in several maps, as when decoding recorded one step at a time; they are merged
    by their rows. Rows and columns that no map has are zero. Maps whose columns are not tokens
    (Linformer's) are left out.
    """
    by_layer: dict[int, list[AttentionMap]] = {}
    for layer_map in maps:
        if layer_map.kind == kind and layer_map.over == "keys":
            by_layer.setdefault(layer_map.layer, []).append(layer_map)
    return {layer: _merge(by_layer[layer]) for layer in sorted(by_layer)}


def _normalize_rows(weights: Array) -> Array:
    """Scale rows that do not sum to one (a window's, a sigmoid's) so that they do.

    A row whose sum is negligible stays as it is.

    >>> rows = np.array([[0.2, 0.2], [0.001, 0.0], [0.7, 0.3]], np.float32)
    >>> _normalize_rows(rows).round(3).tolist()
    [[0.5, 0.5], [0.0010000000474974513, 0.0], [0.699999988079071, 0.30000001192092896]]
    """
    total = weights.sum(axis=-1, keepdims=True)
    scaled = (np.abs(total - 1) > NEGLIGIBLE) & (total > NEGLIGIBLE)
    return np.asarray(weights / np.where(scaled, total, 1.0), weights.dtype)


def _merge(maps: list[AttentionMap]) -> LayerMaps:
    first = maps[0]
    batch, num_heads = first.weights.shape[:2]
    rows = [row for layer_map in maps for row in layer_map.rows]
    if any(m.weights.shape[0] != batch or m.heads != first.heads for m in maps):
        raise ValueError(
            f"the maps of layer {first.layer} are of different batches or heads; "
            "give the maps of one batch."
        )
    if len(set(rows)) != len(rows):
        raise ValueError(
            f"the maps of layer {first.layer} have a row twice; "
            "record each pass of the model by itself."
        )
    arrays = [_normalize_rows(m.weights.detach().float().cpu().numpy()) for m in maps]
    if len(maps) == 1 and first.rows == tuple(range(len(first.rows))):
        return LayerMaps(arrays[0], first.heads)
    num_columns = max(array.shape[-1] for array in arrays)
    merged = np.zeros((batch, num_heads, max(rows, default=-1) + 1, num_columns), np.float32)
    for layer_map, array in zip(maps, arrays, strict=True):
        merged[:, :, list(layer_map.rows), : array.shape[-1]] = array
    return LayerMaps(merged, first.heads)
