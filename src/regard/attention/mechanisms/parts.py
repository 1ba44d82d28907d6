"""Attention computed in parts: over columns of a sequence, and merged over sets of keys.

Column r holds the tokens r, r + l, r + 2l, …: tokens a whole number of strides apart are next to
each other in it, so that a strided pattern becomes a dense one.

Shapes: (B, H, n, D) as (B · l, H, N, D), N = ⌈n / l⌉, zero-padded; column r of sentence b is row
b · l + r.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import torch
from torch import Tensor
from torch.nn import functional as F

from regard.attention.attend import Attended, attend_part
from regard.attention.masks.mask import Mask
from regard.attention.mechanisms.mechanism import AttentionInput


def tiled(
    call: AttentionInput, query: Tensor, key: Tensor, value: Tensor, mask: Mask | None
) -> Attended:
    """A part of a call, by tiles."""
    return attend_part(query, key, value, mask=mask, dropout=call.dropout, engine="blockwise")


def merge(parts: Sequence[Attended]) -> Tensor:
    """The context (…, Q, Dv) over the keys of all parts, which must not overlap.

    With l_r the logsumexp of part r's scores and o_r its context, it is Σ_r softmax_r(l_r) o_r.
    """
    total_RQ = torch.stack([part.logsumexp for part in parts])
    top = total_RQ.detach().amax(0)
    share_RQ = (total_RQ - top.masked_fill(top == -math.inf, 0.0)).exp()
    mass = share_RQ.sum(0)
    share_RQ = share_RQ / mass.masked_fill(mass == 0, 1.0)
    context = parts[0].context * share_RQ[0][..., None].to(parts[0].context.dtype)
    for part, share in zip(parts[1:], share_RQ[1:], strict=True):
        context = context + part.context * share[..., None].to(context.dtype)
    return context


def in_blocks(x: Tensor, stride: int) -> Tensor:
    """(B, H, n, D) as blocks (B, H, N, l, D), zero-padded."""
    blocks = -(-x.shape[-2] // stride)
    padded = F.pad(x, (0, 0, 0, blocks * stride - x.shape[-2]))
    return padded.view(*x.shape[:2], blocks, stride, x.shape[-1])


def in_columns(x: Tensor, stride: int) -> Tensor:
    """(B, H, n, D) as columns (B · l, H, N, D)."""
    return in_blocks(x, stride).permute(0, 3, 1, 2, 4).flatten(0, 1)


def from_columns(part: Attended, stride: int, length: int) -> Attended:
    """The result of attention within columns, its `length` tokens in their order."""

    def back(x: Tensor) -> Tensor:  # (B · l, H, N, ·) to (B, H, n, ·)
        tokens = x.view(-1, stride, *x.shape[1:]).permute(0, 2, 3, 1, 4).flatten(2, 3)
        return tokens[..., :length, :]

    return reordered(part, back)


def reordered(part: Attended, back: Callable[[Tensor], Tensor]) -> Attended:
    """A part's context and logsumexp after `back` has put their tokens in order."""
    total = back(part.logsumexp[..., None])[..., 0]
    return Attended(back(part.context), _logsumexp=total)


def column_counts(lengths: Tensor, stride: int) -> Tensor:
    """(B · l,): the number of a sentence's first `lengths` (B,) tokens in each column."""
    remainder = torch.arange(stride, device=lengths.device)
    left = (lengths[:, None] - remainder).clamp(min=0)
    return ((left + stride - 1) // stride).flatten()


def sentence_lengths(call: AttentionInput) -> Tensor:
    """(B,): the number of keys of each sentence, all of them where no lengths were given."""
    key = call.key
    if call.lengths is None:
        return torch.full((key.shape[0],), key.shape[-2], device=key.device)
    return call.lengths.to(key.device).clamp(max=key.shape[-2]).expand(key.shape[0])
