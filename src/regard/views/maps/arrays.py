"""Attention weights of any origin as numpy arrays.

Shapes: B sentences, H heads, R rows (queries), C columns (keys).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from regard.attention import AttentionMap

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Ints = NDArray[np.int64]

KIND_NAMES = {"self": "encoder", "causal": "decoder"}
"""How pages and figures name the kinds of `record`; other kinds keep their names."""


def as_floats(values: Any, *, single: bool = False) -> Floats:
    """Convert a tensor (also one that requires grad), an array, or lists of either.

    The result is float64, or float32 with `single`.
    """
    if hasattr(values, "detach"):
        values = values.detach()
        values = (values.float() if single else values.double()).cpu().numpy()
    if isinstance(values, list | tuple) and values and hasattr(values[0], "shape"):
        values = [as_floats(part, single=single) for part in values]
    try:
        return np.asarray(values, np.float32 if single else np.float64)
    except (TypeError, ValueError):
        raise TypeError(
            f"expected numbers of one shape, got a {type(values).__name__} of something else."
        ) from None


def as_mask(mask: Any, shape: tuple[int, int]) -> Bools:
    """Broadcast a boolean mask (C,) or (R, C), True where a row may attend, to `shape`."""
    values = mask.detach().cpu().numpy() if hasattr(mask, "detach") else np.asarray(mask)
    if values.dtype != np.bool_:
        raise TypeError(f"mask must be boolean, True where a row may attend, got {values.dtype}.")
    try:
        return np.broadcast_to(values, shape)
    except ValueError:
        raise ValueError(f"mask must have shape {shape}, got {values.shape}.") from None


def row_bits(weights: Any) -> Any:
    """−Σ p log₂ p of every row (…, C), its weights divided by their sum; 0 without weights."""
    total = weights.sum(-1, keepdims=True)
    shares = np.divide(weights, total, out=np.zeros_like(weights), where=total > 0)
    logs = np.log2(shares, out=np.zeros_like(shares), where=shares > 0)
    return np.abs((shares * logs).sum(-1))  # no −0


def check_links(links: Iterable[tuple[int, int]], num_src: int, num_tgt: int) -> None:
    """Raise an error unless links (source word, target word) are within the words."""
    for source, target in links:
        if not (0 <= source < num_src and 0 <= target < num_tgt):
            raise ValueError(
                f"links must be between {num_src} source and {num_tgt} target words, got "
                f"({source}, {target})."
            )


def check_row(row: int, num_sentences: int) -> None:
    """Raise an error unless `row` is one of the sentences of a batch."""
    if not 0 <= row < num_sentences:
        raise ValueError(f"row must be below {num_sentences}, the batch size, got {row}.")


def join_rows(
    maps: Sequence[AttentionMap], row: int, *, single: bool = False
) -> tuple[Floats, Ints]:
    """Join the maps of one layer and one sentence, recorded whole or step by step.

    Returns the weights (H, R, C) in the order of their rows, and the rows' positions (R,). The
    maps of decoding steps, which have fewer columns, are filled up with zeros.
    """
    name, heads = f"{KIND_NAMES.get(maps[0].kind, maps[0].kind)} maps", maps[0].heads
    if any(part.heads != heads for part in maps):
        raise ValueError(f"the {name} of layer {maps[0].layer} have different heads.")
    for part in maps:
        check_row(row, len(part.weights))
    parts = [as_floats(part.weights[row], single=single) for part in maps]
    width = max(part.shape[-1] for part in parts)
    padded = [np.pad(part, ((0, 0), (0, 0), (0, width - part.shape[-1]))) for part in parts]
    positions = np.concatenate([np.asarray(part.rows, np.int64) for part in maps])
    order = np.argsort(positions, kind="stable")
    positions = positions[order]
    repeated = positions[1:][np.diff(positions) == 0]
    if len(repeated):
        raise ValueError(
            f"row {repeated[0]} of the {name} of layer {maps[0].layer} was given twice; pass the "
            "maps of one forward pass or one decoding at a time."
        )
    return np.concatenate(padded, 1)[:, order], positions
