"""Maps small enough to travel in a page: whole, or the largest weights with a pooled rest.

A small map goes whole, in steps of m/65535. Of a large one, the k largest weights of each row go
exactly, the rest as the largest of each f × f square, rounded up in steps of m (byte/255)², so that
"at most" is true. Which it is, and k and f, follow from what was measured to fit; m is the largest
weight of a plane where it is above one, as it may be where rows do not sum to one, and else one.

Shapes: R rows, C columns, k largest, f the side of a square.
"""

from __future__ import annotations

import zlib
from base64 import b64encode
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from regard.errors import InputError
from regard.views.maps.sentence import HeadMaps

Floats = NDArray[np.float32]

WIDEST = 65_535  # columns that two bytes can count
SLICE = 256  # rows worked on at a time: no copy of a large map is made
LOOSE = 0.02  # that a row's sum may be off one by rounding


class Plan(NamedTuple):
    """How maps are packed.

    whole   the most cells of a map that goes whole
    largest of a larger one, the weights of each row that are kept exactly
    factor  the side of the squares that stand for the rest
    """

    whole: int
    largest: int
    factor: int


PLANS = (
    Plan(2**18, 32, 4), Plan(2**18, 16, 4), Plan(2**18, 16, 8), Plan(2**16, 16, 8),
    Plan(2**16, 8, 8), Plan(2**14, 8, 8), Plan(2**12, 8, 8), Plan(2**10, 4, 8), Plan(0, 4, 16),
    Plan(0, 2, 16), Plan(0, 1, 32), Plan(0, 1, 64),
)  # fmt: skip
"""From the most faithful to the smallest."""


@dataclass
class Summary:
    """What is kept of one layer's maps until they are packed; the mean of all heads stands last.

    whole    (R, C) in steps of most/65535, of a map small enough
    most     of each plane its largest weight, or 1 if none is above that
    seeing   of each plane how many rows see anything: entropies are means over these
    normal   whether every row sums to one, or to nothing
    columns, largest  (R, k) of each plane, by column
    pooled   (R/f, C/f) bytes of each plane, f of the first plan
    bits     (R,) the entropy of every row of each plane
    """

    kind: str
    layer: int
    heads: tuple[int, ...]
    shape: tuple[int, int]
    causal: bool
    whole: list[NDArray[np.uint16]] = field(default_factory=list)
    columns: list[NDArray[np.uint16]] = field(default_factory=list)
    largest: list[Floats] = field(default_factory=list)
    pooled: list[NDArray[np.uint8]] = field(default_factory=list)
    bits: list[Floats] = field(default_factory=list)
    most: list[float] = field(default_factory=list)
    seeing: list[int] = field(default_factory=list)
    normal: bool = True


def summary(maps: HeadMaps, plan: Plan, *, small: bool = False) -> Summary:
    """What packing by this plan, or by one after it, needs; each head is read once.

    `small` says that the map goes whole by whatever plan, so that nothing else is kept of it.
    """
    weights = maps.weights
    _, rows, columns = weights.shape
    if columns > WIDEST:
        raise InputError(
            f"The {maps.kind} map of layer {maps.layer} has {columns} columns, and a page holds "
            f"{WIDEST}; show a shorter text."
        )
    found = Summary(maps.kind, maps.layer, maps.heads, (rows, columns), maps.kind == "decoder")
    total_RC = np.zeros((rows, columns), np.float32) if len(maps.heads) > 1 else None
    for place in range(len(maps.heads)):
        plane_RC = np.fmax(np.asarray(weights[place], np.float32), 0)  # what is no number is 0
        plane_RC[np.isinf(plane_RC)] = 0
        _add(found, plane_RC, plan, small=small)
        if found.causal:
            found.causal = _nothing_right_of_diagonal(plane_RC)
        if total_RC is not None:
            total_RC += plane_RC
    if total_RC is not None:
        total_RC /= len(maps.heads)
        _add(found, total_RC, plan, small=small, mean=True)
    return found


def packed(found: Summary, plan: Plan) -> dict[str, Any]:
    """The map as the page's scripts read it; blobs are strings still in place."""
    rows, columns = found.shape
    most = float(np.log2(max(columns, 2)))
    bits = np.rint(np.stack(found.bits) / most * 65535) if found.bits else np.zeros((0, rows))
    entropy: dict[str, Any] = {"most": most, "rows": blob(np.clip(bits, 0, 65535).astype("<u2"))}
    if any(number < rows for number in found.seeing):
        entropy["seeing"] = found.seeing
    made: dict[str, Any] = {
        "kind": found.kind,
        "layer": found.layer,
        "heads": list(found.heads),
        "causal": found.causal,
        "entropy": entropy,
    }
    if any(most > 1 for most in found.most):
        made["most"] = found.most
    if not found.normal:
        made["normal"] = False
    if rows * columns <= plan.whole or not found.largest:
        return made | {"whole": [blob(plane.astype("<u2")) for plane in found.whole]}
    parts = [_fewer(*pair, plan.largest) for pair in zip(found.columns, found.largest, strict=True)]
    made["largest"] = {
        "count": min(plan.largest, columns),
        "columns": [blob(places.astype("<u2")) for places, _ in parts],
        "weights": [blob(weights.astype("<f4")) for _, weights in parts],
    }
    step = plan.factor // PLANS[0].factor
    made["pooled"] = {
        "factor": plan.factor,
        "cells": [blob(pooled(bytes_, step)) for bytes_ in found.pooled],
    }
    return made


def fitting(found: Sequence[Summary], budget: int, first: int = 0) -> tuple[Plan, list[Any]]:
    """The most faithful plan whose maps take no more than `budget` bytes, and the maps by it."""
    for plan in PLANS[first:]:
        if _estimate(found, plan) > budget:
            continue
        made = [packed(one, plan) for one in found]
        if sum(size(one) for one in made) <= budget:
            return plan, made
    heads = sum(len(one.heads) for one in found)
    raise InputError(
        f"The maps of {heads} heads do not fit into {budget / 1e6:.0f} MB even at their smallest; "
        "show fewer layers, heads or texts."
    )


def size(made: object) -> int:
    """The bytes of all blobs of packed maps."""
    if isinstance(made, dict):
        return sum(map(size, made.values()))
    if isinstance(made, list):
        return sum(map(size, made))
    return len(made) if isinstance(made, str) else 0


def blob(numbers: NDArray[Any]) -> str:
    """Numbers as a page holds them: little-endian, deflated, in base64."""
    return b64encode(zlib.compress(np.ascontiguousarray(numbers).tobytes(), 6)).decode()


def pooled(plane_RC: NDArray[Any], factor: int) -> NDArray[Any]:
    """The largest of each square of `factor` × `factor` cells; those at the edges may be smaller.

    >>> pooled(np.arange(9).reshape(3, 3), 2)
    array([[4, 5],
           [7, 8]])
    """
    if factor <= 1 or plane_RC.size == 0:
        return plane_RC
    tall = plane_RC[::factor].copy()
    for step in range(1, min(factor, plane_RC.shape[0])):
        rows = plane_RC[step::factor]
        np.maximum(tall[: len(rows)], rows, out=tall[: len(rows)])
    wide = tall[:, ::factor].copy()
    for step in range(1, min(factor, plane_RC.shape[1])):
        columns = tall[:, step::factor]
        np.maximum(wide[:, : columns.shape[1]], columns, out=wide[:, : columns.shape[1]])
    return wide


def row_bits(plane_RC: Floats) -> Floats:
    """−Σ p log₂ p of every row (R,), its weights divided by their sum; 0 where there are none."""
    found_R = np.zeros(len(plane_RC), np.float32)
    for part in _slices(len(plane_RC)):
        here = plane_RC[part, : _seen(plane_RC[part])]
        total = here.sum(-1, keepdims=True)
        shares = np.divide(here, total, out=np.zeros_like(here), where=total > 0)
        logs = np.log2(shares, out=np.zeros_like(shares), where=shares > 0)
        found_R[part] = np.abs((shares * logs).sum(-1))
    return found_R


def largest_of_rows(plane_RC: Floats, count: int) -> tuple[NDArray[np.uint16], Floats]:
    """Where the `count` largest weights of each row are, in the order of columns, and what."""
    rows, columns = plane_RC.shape
    count = min(count, columns)
    places_Rk = np.empty((rows, count), np.uint16)
    for part in _slices(rows):
        width = max(_seen(plane_RC[part]), count)
        found = np.argpartition(plane_RC[part, :width], width - count, axis=-1)[:, width - count :]
        places_Rk[part] = np.sort(found, axis=-1)
    return places_Rk, np.take_along_axis(plane_RC, places_Rk.astype(np.int64), axis=-1)


def _add(found: Summary, plane_RC: Floats, plan: Plan, *, small: bool, mean: bool = False) -> None:
    """One plane more. The mean of a whole map is left to the page."""
    found.bits.append(row_bits(plane_RC))
    total_R = plane_RC.sum(-1)
    found.seeing.append(int((total_R > 0).sum()))
    found.normal = found.normal and bool((np.abs(total_R[total_R > 0] - 1) < LOOSE).all())
    most = max(1.0, float(plane_RC.max(initial=0)))
    if most - 1 < 1e-3:  # rounding in the model
        most = 1.0
        np.minimum(plane_RC, 1, out=plane_RC)
    found.most.append(most)
    if (small or plane_RC.size <= plan.whole) and not mean:
        found.whole.append(np.rint(plane_RC * (65535 / most)).astype(np.uint16))
    if small:
        return
    places_Rk, weights_Rk = largest_of_rows(plane_RC, plan.largest)
    found.columns.append(places_Rk)
    found.largest.append(weights_Rk)
    rounded = np.ceil(np.sqrt(pooled(plane_RC, PLANS[0].factor) / most) * 255)
    found.pooled.append(np.minimum(rounded, 255).astype(np.uint8))


def _fewer(
    places_Rk: NDArray[np.uint16], weights_Rk: Floats, count: int
) -> tuple[NDArray[np.uint16], Floats]:
    """The `count` largest of those kept, still in the order of columns."""
    if count >= weights_Rk.shape[-1]:
        return places_Rk, weights_Rk
    kept, _ = largest_of_rows(weights_Rk, count)
    order = kept.astype(np.int64)
    return np.take_along_axis(places_Rk, order, -1), np.take_along_axis(weights_Rk, order, -1)


def _estimate(found: Sequence[Summary], plan: Plan) -> float:
    """About how many bytes the maps take: measured on one head of each, at most of eight maps."""
    some = found[:: max(len(found) // 8, 1)]
    measured = cells = 0
    for one in some:
        few = Summary(one.kind, one.layer, one.heads[:1], one.shape, one.causal, one.whole[:1],
                      one.columns[:1], one.largest[:1], one.pooled[:1], one.bits[:1],
                      one.most[:1])  # fmt: skip
        measured += size(packed(few, plan))
        cells += one.shape[0] * one.shape[1]
    every = sum(len(one.bits) * one.shape[0] * one.shape[1] for one in found)
    return 0.9 * measured * every / max(cells, 1)  # 0.9: what is near is packed and then measured


def _nothing_right_of_diagonal(plane_RC: Floats) -> bool:
    rows, columns = plane_RC.shape
    after = np.arange(columns)
    return rows == columns and not any(
        plane_RC[part][after > np.arange(rows)[part, None]].any() for part in _slices(rows)
    )


def _seen(plane_RC: Floats) -> int:
    """How many columns there are up to the last that any row looks at: few in a causal map."""
    return int(np.flatnonzero(plane_RC.any(axis=0))[-1:].sum()) + 1


def _slices(rows: int) -> Iterator[slice]:
    return (slice(start, start + SLICE) for start in range(0, rows, SLICE))
