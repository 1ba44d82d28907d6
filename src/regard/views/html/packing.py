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
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from regard.errors import InputError
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
        (2**18, 32, 4), (2**18, 16, 4), (2**18, 16, 8), (2**16, 16, 8), (2**16, 8, 8),
        (2**14, 8, 8), (2**12, 8, 8), (2**10, 4, 8), (0, 4, 16), (0, 2, 16), (0, 1, 32), (0, 1, 64),
    )
)  # fmt: skip
"""From the most exact to the smallest."""


@dataclass
class LayerSummary:
    """What is kept of one layer's maps until they are packed.

    The lists have one item per head, and a last one for the mean of all heads if there are several
    (except `whole`, whose mean the page computes).

    whole       (R, C) in steps of scale/65535, of a map small enough
    scales      the largest weight, or 1 if none is above that
    num_filled  how many rows attend to anything: mean entropies are over these
    columns, largest  (R, k) of each row's largest weights, by column
    pooled      (R/f, C/f) bytes, f of the first plan
    entropies   (R,) in bits
    normalized  whether every row sums to one, or to zero
    """

    kind: str
    layer: int
    heads: tuple[int, ...]
    shape: tuple[int, int]
    causal: bool
    whole: list[NDArray[np.uint16]] = field(default_factory=list)
    columns: list[NDArray[np.uint16]] = field(default_factory=list)
    largest: list[Singles] = field(default_factory=list)
    pooled: list[NDArray[np.uint8]] = field(default_factory=list)
    entropies: list[Singles] = field(default_factory=list)
    scales: list[float] = field(default_factory=list)
    num_filled: list[int] = field(default_factory=list)
    normalized: bool = True


def summarize(maps: HeadMaps, plan: PackingPlan, *, small: bool = False) -> LayerSummary:
    """Collect what packing by this plan, or by a later one, needs; each head is read once.

    `small` says that the map is sent whole by any plan, so that nothing else is kept.
    """
    weights = maps.weights
    _, rows, columns = weights.shape
    if columns > MAX_COLUMNS:
        raise InputError(
            f"The {maps.kind} map of layer {maps.layer} has {columns} columns, and a page holds "
            f"{MAX_COLUMNS}; show a shorter text."
        )
    causal = maps.kind == "decoder" and rows == columns
    summary = LayerSummary(maps.kind, maps.layer, maps.heads, (rows, columns), causal)
    total_RC = np.zeros((rows, columns), np.float32) if len(maps.heads) > 1 else None
    for number in range(len(maps.heads)):
        matrix_RC = np.fmax(np.asarray(weights[number], np.float32), 0)  # NaN becomes 0
        matrix_RC[np.isinf(matrix_RC)] = 0
        _add_head(summary, matrix_RC, plan, small=small)
        summary.causal = summary.causal and _is_causal(matrix_RC)
        if total_RC is not None:
            total_RC += matrix_RC
    if total_RC is not None:
        total_RC /= len(maps.heads)
        _add_head(summary, total_RC, plan, small=small, is_mean=True)
    return summary


def _add_head(
    summary: LayerSummary,
    matrix_RC: Singles,
    plan: PackingPlan,
    *,
    small: bool,
    is_mean: bool = False,
) -> None:
    summary.entropies.append(row_entropies(matrix_RC))
    total_R = matrix_RC.sum(-1)
    filled = total_R > 0
    summary.num_filled.append(int(filled.sum()))
    summary.normalized &= bool((np.abs(total_R[filled] - 1) < TOLERANCE).all())
    scale = max(1.0, float(matrix_RC.max(initial=0)))
    if scale - 1 < 1e-3:  # rounding in the model
        scale = 1.0
        np.minimum(matrix_RC, 1, out=matrix_RC)
    summary.scales.append(scale)
    if (small or matrix_RC.size <= plan.max_whole) and not is_mean:
        summary.whole.append(np.rint(matrix_RC * (65535 / scale)).astype(np.uint16))
    if small:
        return
    columns_Rk, weights_Rk = largest_of_rows(matrix_RC, plan.num_largest)
    summary.columns.append(columns_Rk)
    summary.largest.append(weights_Rk)
    rounded = np.ceil(np.sqrt(max_pool(matrix_RC, PLANS[0].factor) / scale) * 255)
    summary.pooled.append(np.minimum(rounded, 255).astype(np.uint8))


def pack(summary: LayerSummary, plan: PackingPlan) -> dict[str, Any]:
    """The map as the page's scripts read it, with all blobs inside."""
    rows, columns = summary.shape
    max_bits = float(np.log2(max(columns, 2)))
    bits = np.stack(summary.entropies) if summary.entropies else np.zeros((0, rows))
    steps = np.clip(np.rint(bits / max_bits * 65535), 0, 65535)
    entropy: dict[str, Any] = {"max": max_bits, "rows": to_blob(steps.astype("<u2"))}
    if any(count < rows for count in summary.num_filled):
        entropy["numFilled"] = summary.num_filled
    packed: dict[str, Any] = {
        "kind": summary.kind,
        "layer": summary.layer,
        "heads": list(summary.heads),
        "causal": summary.causal,
        "entropy": entropy,
    }
    if any(scale > 1 for scale in summary.scales):
        packed["scales"] = summary.scales
    if not summary.normalized:
        packed["normalized"] = False
    if rows * columns <= plan.max_whole or not summary.largest:
        return packed | {"whole": [to_blob(matrix.astype("<u2")) for matrix in summary.whole]}
    largest = [
        _keep_largest(*pair, plan.num_largest)
        for pair in zip(summary.columns, summary.largest, strict=True)
    ]
    packed["largest"] = {
        "count": min(plan.num_largest, columns),
        "columns": [to_blob(places.astype("<u2")) for places, _ in largest],
        "weights": [to_blob(weights.astype("<f4")) for _, weights in largest],
    }
    step = plan.factor // PLANS[0].factor
    packed["pooled"] = {
        "factor": plan.factor,
        "cells": [to_blob(max_pool(squares, step)) for squares in summary.pooled],
    }
    return packed


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
        lists = ("whole", "columns", "largest", "pooled", "entropies", "scales", "num_filled")
        first_head = {name: getattr(summary, name)[:1] for name in ("heads", *lists)}
        measured += blob_size(pack(replace(summary, **first_head), plan))
        cells += summary.shape[0] * summary.shape[1]
    total = sum(len(s.entropies) * s.shape[0] * s.shape[1] for s in summaries)
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


def max_pool(matrix_RC: NDArray[Any], factor: int) -> NDArray[Any]:
    """The maximum of each square of `factor` × `factor` cells; those at the edges may be smaller.

    >>> max_pool(np.arange(9).reshape(3, 3), 2)
    array([[4, 5],
           [7, 8]])
    """
    if factor <= 1 or matrix_RC.size == 0:
        return matrix_RC
    for axis in (0, 1):
        starts = np.arange(0, matrix_RC.shape[axis], factor)
        matrix_RC = np.maximum.reduceat(matrix_RC, starts, axis)
    return matrix_RC


def row_entropies(matrix_RC: Singles) -> Singles:
    """−Σ p log₂ p of every row (R,), its weights divided by their sum; 0 without weights."""
    bits_R = np.zeros(len(matrix_RC), np.float32)
    for part in _slices(len(matrix_RC)):
        weights = matrix_RC[part, : _filled_width(matrix_RC[part])]
        total = weights.sum(-1, keepdims=True)
        shares = np.divide(weights, total, out=np.zeros_like(weights), where=total > 0)
        logs = np.log2(shares, out=np.zeros_like(shares), where=shares > 0)
        bits_R[part] = np.abs((shares * logs).sum(-1))
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


def _keep_largest(
    columns_Rk: NDArray[np.uint16], weights_Rk: Singles, count: int
) -> tuple[NDArray[np.uint16], Singles]:
    """The `count` largest of the k largest weights, still in the order of columns."""
    if count >= weights_Rk.shape[-1]:
        return columns_Rk, weights_Rk
    places = largest_of_rows(weights_Rk, count)[0].astype(np.int64)
    return np.take_along_axis(columns_Rk, places, -1), np.take_along_axis(weights_Rk, places, -1)


def _is_causal(matrix_RC: Singles) -> bool:
    """Whether there are no weights right of the diagonal."""
    rows, columns = np.arange(len(matrix_RC))[:, None], np.arange(matrix_RC.shape[1])
    return not any(matrix_RC[part][columns > rows[part]].any() for part in _slices(len(rows)))


def _filled_width(matrix_RC: Singles) -> int:
    """The number of columns up to the last with any weight: few in a causal map."""
    return int(np.flatnonzero(matrix_RC.any(axis=0))[-1:].sum()) + 1


def _slices(rows: int) -> Iterator[slice]:
    return (slice(start, start + SLICE) for start in range(0, rows, SLICE))
