"""Pack maps for a page: whole, or the largest weights of each row with a pooled rest.

A small map is sent whole, in steps of s/65535, where s is the largest weight if that is above one
(rows need not sum to one), else one. Of a large map, the k largest weights of each row are sent
exactly, the rest as the maximum of each f × f square, rounded up in steps of s (byte/255)², so that
it is an upper bound. k and f depend on what fits.

Shapes: R rows, C columns, k largest weights, f the side of a square.
"""

from __future__ import annotations

import zlib
from base64 import b64encode
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from regard.errors import InputError
from regard.views.maps.arrays import row_bits
from regard.views.maps.sentence import HeadMaps

Singles = NDArray[np.float32]

MAX_COLUMNS = 65_535  # what two bytes can count
SLICE = 256  # rows processed at a time, so that no copy of a large map is made
TOLERANCE = 0.02  # by which rounding may change the sum of a row


class PackingPlan(NamedTuple):
    """How maps are packed.

    max_whole    the most cells of a map that is sent whole
    num_largest  k, the weights of each row of a larger map that are sent exactly
    factor       f, the side of the squares
    """

    max_whole: int
    num_largest: int
    factor: int


PLANS = tuple(
    PackingPlan(*plan)
    for plan in (
        (2**18, 32, 4),
        (2**18, 16, 4),
        (2**18, 16, 8),
        (2**16, 16, 8),
        (2**16, 8, 8),
        (2**14, 8, 8),
        (2**12, 8, 8),
        (2**10, 4, 8),
        (0, 4, 16),
        (0, 2, 16),
        (0, 1, 32),
        (0, 1, 64),
    )
)
"""From the most exact to the smallest."""


class HeadSummary(NamedTuple):
    """What is kept of one head's map, or of the mean of all heads, until it is packed.

    scale       the largest weight, or 1 if none is above that
    num_filled  how many rows attend to anything: mean entropies are over these
    normalized  whether every row sums to one, or to zero
    entropies   (R,) in bits
    whole       (R, C) in steps of scale/65535, of a map small enough; the page computes the mean
    columns, largest  (R, k) of each row's largest weights, by column
    pooled      (R/f, C/f) bytes, f of the first plan
    """

    scale: float
    num_filled: int
    normalized: bool
    entropies: Singles
    whole: NDArray[np.uint16] | None = None
    columns: NDArray[np.uint16] | None = None
    largest: Singles | None = None
    pooled: NDArray[np.uint8] | None = None


class LayerSummary(NamedTuple):
    """The summaries of one layer's heads and, if there are several, of their mean as the last."""

    kind: str
    layer: int
    heads: tuple[int, ...]
    shape: tuple[int, int]
    causal: bool
    parts: list[HeadSummary]


def summarize(maps: HeadMaps, plan: PackingPlan, *, small: bool = False) -> LayerSummary:
    """Collect what packing by this plan, or by a later one, needs; each head is read once.

    `small`: the map is sent whole by any plan, so that nothing else is kept.
    """
    weights = maps.weights
    _, rows, columns = weights.shape
    if columns > MAX_COLUMNS:
        raise InputError(
            f"The {maps.kind} map of layer {maps.layer} has {columns} columns, and a page holds "
            f"{MAX_COLUMNS}; show a shorter text."
        )
    causal = maps.kind == "decoder" and rows == columns
    parts = []
    total_RC = np.zeros((rows, columns), np.float32)
    for number in range(len(maps.heads)):
        matrix_RC = np.fmax(np.asarray(weights[number], np.float32), 0)  # NaN becomes 0
        matrix_RC[np.isinf(matrix_RC)] = 0
        parts.append(_summarize_head(matrix_RC, plan, small=small))
        causal = causal and _is_causal(matrix_RC)
        total_RC += matrix_RC
    if len(maps.heads) > 1:
        total_RC /= len(maps.heads)
        parts.append(_summarize_head(total_RC, plan, small=small)._replace(whole=None))
    return LayerSummary(maps.kind, maps.layer, maps.heads, (rows, columns), causal, parts)


def _summarize_head(matrix_RC: Singles, plan: PackingPlan, *, small: bool) -> HeadSummary:
    entropies = row_entropies(matrix_RC)
    total_R = matrix_RC.sum(-1)
    total_R = total_R[total_R > 0]
    normalized = bool((np.abs(total_R - 1) < TOLERANCE).all())
    scale = max(1.0, float(matrix_RC.max(initial=0)))
    if scale - 1 < 1e-3:  # rounding in the model
        scale = 1.0
        np.minimum(matrix_RC, 1, out=matrix_RC)
    summary = HeadSummary(scale, len(total_R), normalized, entropies)
    if small or matrix_RC.size <= plan.max_whole:
        steps = np.rint(matrix_RC * (65535 / scale)).astype(np.uint16)
        summary = summary._replace(whole=steps)
    if small:
        return summary
    columns_Rk, largest_Rk = largest_of_rows(matrix_RC, plan.num_largest)
    squares = np.ceil(np.sqrt(max_pool(matrix_RC, PLANS[0].factor) / scale) * 255)
    pooled = np.minimum(squares, 255).astype(np.uint8)
    return summary._replace(columns=columns_Rk, largest=largest_Rk, pooled=pooled)


def pack(summary: LayerSummary, plan: PackingPlan) -> dict[str, Any]:
    """The map as the page's scripts read it, with all blobs inside."""
    (rows, columns), parts = summary.shape, summary.parts
    max_bits = float(np.log2(max(columns, 2)))
    bits = np.array([part.entropies for part in parts], np.float32)
    steps = np.clip(np.rint(bits / max_bits * 65535), 0, 65535)
    entropy: dict[str, Any] = {"max": max_bits, "rows": to_blob(steps.astype("<u2"))}
    if any(part.num_filled < rows for part in parts):
        entropy["numFilled"] = [part.num_filled for part in parts]
    packed: dict[str, Any] = {
        "kind": summary.kind,
        "layer": summary.layer,
        "heads": list(summary.heads),
        "causal": summary.causal,
        "entropy": entropy,
    }
    if any(part.scale > 1 for part in parts):
        packed["scales"] = [part.scale for part in parts]
    if not all(part.normalized for part in parts):
        packed["normalized"] = False
    if rows * columns <= plan.max_whole or not any(part.largest is not None for part in parts):
        whole = [part.whole for part in parts if part.whole is not None]
        return packed | {"whole": [to_blob(matrix.astype("<u2")) for matrix in whole]}
    largest = [_keep_largest(part.columns, part.largest, plan.num_largest) for part in parts]
    step = plan.factor // PLANS[0].factor
    return packed | {
        "largest": {
            "count": min(plan.num_largest, columns),
            "columns": [to_blob(columns.astype("<u2")) for columns, _ in largest],
            "weights": [to_blob(weights.astype("<f4")) for _, weights in largest],
        },
        "pooled": {
            "factor": plan.factor,
            "cells": [to_blob(max_pool(part.pooled, step)) for part in parts],
        },
    }


def pack_within(
    summaries: Sequence[LayerSummary], budget: int, first: int = 0
) -> tuple[PackingPlan, list[Any]]:
    """The most exact plan whose maps take at most `budget` bytes, and the maps packed by it."""
    for plan in PLANS[first:]:
        if _estimate(summaries, plan) > budget:
            continue
        packed = [pack(summary, plan) for summary in summaries]
        if blob_size(packed) <= budget:
            return plan, packed
    heads = sum(len(summary.heads) for summary in summaries)
    raise InputError(
        f"The maps of {heads} heads do not fit into {budget / 1e6:.0f} MB even at their smallest; "
        "show fewer layers, heads or texts."
    )


def _estimate(summaries: Sequence[LayerSummary], plan: PackingPlan) -> float:
    """Estimate the bytes of the maps from one head of each of about eight of them."""
    measured = cells = 0
    for summary in summaries[:: max(len(summaries) // 8, 1)]:
        first_head = summary._replace(heads=summary.heads[:1], parts=summary.parts[:1])
        measured += blob_size(pack(first_head, plan))
        cells += summary.shape[0] * summary.shape[1]
    total = sum(len(s.parts) * s.shape[0] * s.shape[1] for s in summaries)
    return 0.9 * measured * total / max(cells, 1)  # 0.9: close estimates are packed and measured


def blob_size(packed: object) -> int:
    """The total length of all strings in packed maps."""
    if isinstance(packed, dict):
        return sum(map(blob_size, packed.values()))
    if isinstance(packed, list):
        return sum(map(blob_size, packed))
    return len(packed) if isinstance(packed, str) else 0


def to_blob(values: NDArray[Any]) -> str:
    """Numbers as base64 of their deflated little-endian bytes."""
    return b64encode(zlib.compress(np.ascontiguousarray(values).tobytes(), 6)).decode()


def max_pool(matrix_RC: Any, factor: int) -> NDArray[Any]:
    """The maximum of each square of `factor` × `factor` cells; those at the edges may be smaller.

    >>> max_pool(np.arange(9).reshape(3, 3), 2)
    array([[4, 5],
           [7, 8]])
    """
    if factor <= 1 or matrix_RC.size == 0:
        return np.asarray(matrix_RC)
    for _ in range(2):  # rows, then columns; np.maximum.reduceat is much slower
        pooled = matrix_RC[::factor].copy(order="K")
        for step in range(1, min(factor, len(matrix_RC))):
            rows = matrix_RC[step::factor]
            np.maximum(pooled[: len(rows)], rows, out=pooled[: len(rows)])
        matrix_RC = pooled.T
    return np.asarray(matrix_RC)


def row_entropies(matrix_RC: Singles) -> Singles:
    """The entropy of every row (R,) in bits; 0 without weights."""
    bits_R = np.zeros(len(matrix_RC), np.float32)
    for part in _slices(len(matrix_RC)):
        bits_R[part] = row_bits(matrix_RC[part, : _filled_width(matrix_RC[part])])
    return bits_R


def largest_of_rows(matrix_RC: Singles, count: int) -> tuple[NDArray[np.uint16], Singles]:
    """The columns (in order) and the values of the `count` largest weights of each row."""
    rows, columns = matrix_RC.shape
    count = min(count, columns)
    columns_Rk = np.empty((rows, count), np.uint16)
    for part in _slices(rows):
        width = max(_filled_width(matrix_RC[part]), count)
        order = np.argpartition(matrix_RC[part, :width], width - count, axis=-1)
        columns_Rk[part] = np.sort(order[:, width - count :], axis=-1)
    return columns_Rk, np.take_along_axis(matrix_RC, columns_Rk.astype(np.int64), axis=-1)


def _keep_largest(columns_Rk: Any, weights_Rk: Any, count: int) -> tuple[Any, Any]:
    """The `count` largest of the k largest weights, still in the order of columns."""
    if count >= weights_Rk.shape[-1]:
        return columns_Rk, weights_Rk
    order = largest_of_rows(weights_Rk, count)[0].astype(np.int64)
    return np.take_along_axis(columns_Rk, order, -1), np.take_along_axis(weights_Rk, order, -1)


def _is_causal(matrix_RC: Singles) -> bool:
    """Whether there are no weights right of the diagonal."""
    rows, columns = np.arange(len(matrix_RC))[:, None], np.arange(matrix_RC.shape[1])
    return not any(matrix_RC[part][columns > rows[part]].any() for part in _slices(len(rows)))


def _filled_width(matrix_RC: Singles) -> int:
    """The number of columns up to the last with any weight: few in a causal map."""
    return int(np.flatnonzero(matrix_RC.any(axis=0))[-1:].sum()) + 1


def _slices(rows: int) -> Iterator[slice]:
    return (slice(start, start + SLICE) for start in range(0, rows, SLICE))
