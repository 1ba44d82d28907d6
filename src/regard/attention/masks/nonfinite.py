"""Non-finite numbers behind a mask stay behind it: forward, backward, and on every engine.

A weight of zero does not stop a NaN (0 · NaN is NaN), nor in the gradient. So non-finite entries
are removed before any arithmetic, and the rows of queries that attend to one become NaN
afterwards, as they would have. Without a mask there is nothing to protect.

Shapes: query (…, Q, D), key (…, K, D), value (…, K, Dv), tainted (…, Q, 1).
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

from regard.attention.engines.precision import HALF
from regard.attention.engines.tile import Tile
from regard.attention.masks.bias import Bias
from regard.attention.masks.mask import Mask
from regard.attention.scores.prepared import spread

ROWS_AT_ONCE = 1 << 24


def remove_nonfinite(
    query: Tensor, key: Tensor, value: Tensor, mask: Mask | None, bias: Bias | None
) -> tuple[Tensor, Tensor, Tensor, Tensor | None]:
    """Finite query, key and value, and the rows that attend to a non-finite one (None: no row)."""
    if not torch.compiler.is_compiling() and known_finite(query, key, value):
        return query, key, value, None
    bad_query, bad_key = _bad_rows(query), _bad_rows(key) | _bad_rows(value)
    if query.ndim > 2:
        bad_key = spread(bad_key, query.shape[-3])
    nonfinite_rows = _attending_rows(query, key, bad_query, bad_key, mask, bias)
    return _cleaned(query), _cleaned(key), _cleaned(value), nonfinite_rows


def known_finite(*tensors: Tensor) -> bool:
    """Whether the tensors are finite, by their sum, which is cheap; False if it overflows."""
    detached = [x.detach() if x.requires_grad else x for x in tensors]
    totals = [x.sum(dtype=torch.float32 if x.dtype in HALF else None) for x in detached]
    try:
        return math.isfinite(float(sum(totals[1:], totals[0])))
    except RuntimeError:  # no number can be read: under vmap, or on the meta device
        return False


def _bad_rows(x: Tensor) -> Tensor:
    """(…, T, 1): True where a row has a non-finite number."""
    return ~torch.isfinite(x).all(dim=-1, keepdim=True)


def _cleaned(x: Tensor) -> Tensor:
    return torch.where(torch.isfinite(x), x, torch.zeros((), dtype=x.dtype, device=x.device))


def _attending_rows(
    query: Tensor,
    key: Tensor,
    bad_query: Tensor,
    bad_key: Tensor,
    mask: Mask | None,
    bias: Bias | None,
) -> Tensor:
    """(…, Q, 1): rows with a non-finite query or that attend to a non-finite key or value."""
    batch = tuple(query.shape[:-2])
    num_queries, num_keys = query.shape[-2], key.shape[-2]

    def seeing_bad(rows: slice) -> Tensor:
        tile = Tile(rows, slice(0, num_keys), num_queries, num_keys, batch, query.device)
        bad = bad_query[..., rows, :] | bad_key.transpose(-2, -1)
        if mask is not None:
            bad = bad & mask.tile(tile)
        if bias is not None:
            bad = bad & (bias.tile(tile).detach() != -math.inf)
        return bad.any(dim=-1, keepdim=True)

    if torch.compiler.is_compiling():  # a loop over blocks would fix the length
        return seeing_bad(slice(0, num_queries))
    step = max(1, ROWS_AT_ONCE // max(1, math.prod(batch) * num_keys))
    starts = range(0, max(num_queries, 1), step)
    return torch.cat([seeing_bad(slice(i, min(i + step, num_queries))) for i in starts], dim=-2)
