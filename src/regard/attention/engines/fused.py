"""Torch's own kernel (`scaled_dot_product_attention`), kept on its fast path.

On a CPU torch silently falls back to a slow path when the input has three dimensions, when values
are not as wide as keys, or when a mask requires a gradient; and a fully masked row is undefined.
Here shapes are brought to four dimensions and one width, and fully masked rows to zero.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor
from torch.nn import functional as F

from regard.attention.engines.call import AttentionCall
from regard.attention.engines.precision import as_given
from regard.attention.engines.tile import as_BHQ
from regard.attention.masks.mask import is_triangle
from regard.attention.scores.prepared import PreparedDot


def fused(call: AttentionCall) -> Tensor:
    """Context (…, Q, Dv)."""
    prepared = call.score
    assert isinstance(prepared, PreparedDot) and prepared.softcap is None
    query, key, value = prepared.query, prepared.key, call.value
    width, dtype = value.shape[-1], query.dtype
    if dtype != value.dtype:  # a score may work in a wider dtype than its inputs
        dtype = torch.promote_types(dtype, value.dtype)
        query, key, value = query.to(dtype), key.to(dtype), value.to(dtype)
    if key.shape[-1] != width:
        query, key, value = _one_width(query, key, value)
    triangle = call.bias is None and is_triangle(call.mask, call.num_queries, call.num_keys)
    addend, alive = (None, None) if triangle else _addend(call, dtype)
    with as_given(query.device):
        context = F.scaled_dot_product_attention(
            as_BHQ(query),
            as_BHQ(key),
            as_BHQ(value),
            None if addend is None else _four_mask(addend, call.batch),
            dropout_p=call.dropout,
            is_causal=triangle,
            scale=prepared.scale,
            enable_gqa=bool(call.batch) and key.shape[-3] != query.shape[-3],
        )
    if len(call.batch) != 2:
        context = context.reshape(*call.batch, call.num_queries, context.shape[-1])
    if context.shape[-1] != width:
        context = context[..., :width]
    if alive is not None:
        context = torch.where(alive, context, torch.zeros((), dtype=dtype, device=context.device))
    return context if dtype == call.value.dtype else context.to(call.value.dtype)


def _addend(call: AttentionCall, dtype: torch.dtype) -> tuple[Tensor | None, Tensor | None]:
    """Torch's mask (boolean or additive) with empty rows unmasked, and which rows are not empty."""
    if call.mask is None and call.bias is None:
        return None, None
    tile = call.whole()
    keep = None if call.mask is None else call.mask.tile(tile)
    if call.bias is None:
        assert keep is not None and call.mask is not None
        if call.mask.shows_first(call.num_queries, call.num_keys):
            return keep, None
        alive = keep.any(dim=-1, keepdim=True)
        return keep | ~alive, alive
    bias = call.bias.tile(tile).to(dtype)
    if keep is not None:
        bias = torch.where(keep, bias, torch.full((), -math.inf, dtype=dtype, device=bias.device))
    alive = (bias > -math.inf).any(dim=-1, keepdim=True)
    return bias.masked_fill(~alive, 0.0), alive


def _one_width(query: Tensor, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Zeros appended to the narrower of keys and values: neither dot products nor sums change."""
    short = value.shape[-1] - key.shape[-1]
    if short > 0:
        return F.pad(query, (0, short)), F.pad(key, (0, short)), value
    return query, key, F.pad(value, (0, -short))


def _four_mask(mask: Tensor, batch: tuple[int, ...]) -> Tensor:
    """A mask over (*batch, Q, K) as one over (B, H, Q, K)."""
    size = mask.shape[-2:]
    if len(batch) == 0:
        return mask.reshape(1, 1, *size)
    if len(batch) == 1:
        return mask.reshape(math.prod(mask.shape[:-2]), 1, *size)
    if len(batch) == 2:
        return mask.reshape(*[1] * (4 - mask.ndim), *mask.shape)
    return mask.expand(*batch, *size).reshape(math.prod(batch[:-1]), batch[-1], *size)
