"""Every l-th word: a sequence cut into l columns, each a sequence of its own.

Column r holds the words r, r + l, r + 2l, …; words that are a whole number of strides apart stand
next to each other in it, so that a strided pattern becomes a dense one.

Shapes: (B, H, n, D) as (B · l, H, N, D), N = ⌈n / l⌉, zeros at the end; sentence b's column r is
row b · l + r.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn import functional as F

from regard.attention.attend import Attended
from regard.attention.mechanisms.mechanism import AttentionInput


def cut(x: Tensor, stride: int) -> Tensor:
    """(B, H, n, D) as (B, H, N, l, D), zeros at the end."""
    blocks = -(-x.shape[-2] // stride)
    padded = F.pad(x, (0, 0, 0, blocks * stride - x.shape[-2]))
    return padded.view(*x.shape[:2], blocks, stride, x.shape[-1])


def in_columns(x: Tensor, stride: int) -> Tensor:
    """(B, H, n, D) as columns (B · l, H, N, D)."""
    return cut(x, stride).permute(0, 3, 1, 2, 4).flatten(0, 1)


def from_columns(part: Attended, stride: int, length: int) -> Attended:
    """What was attended in columns with its `length` words in their old order."""

    def back(x: Tensor) -> Tensor:  # (B · l, H, N, ·) to (B, H, n, ·)
        words = x.view(-1, stride, *x.shape[1:]).permute(0, 2, 3, 1, 4).flatten(2, 3)
        return words[..., :length, :]

    return moved(part, back)


def column_counts(places: Tensor, stride: int) -> Tensor:
    """(B · l,): how many of the first `places` (B,) words of a sentence stand in each column."""
    rest = torch.arange(stride, device=places.device)
    left = (places[:, None] - rest).clamp(min=0)
    return ((left + stride - 1) // stride).flatten()


def sentence_lengths(call: AttentionInput) -> Tensor:
    """(B,): the keys of each sentence, all of them where no lengths were given."""
    key = call.key
    if call.lengths is None:
        return torch.full((key.shape[0],), key.shape[-2], device=key.device)
    return call.lengths.to(key.device).clamp(max=key.shape[-2]).expand(key.shape[0])


def moved(part: Attended, back: Callable[[Tensor], Tensor]) -> Attended:
    """A part's context and logsumexp with their words in the old order."""
    total = back(part.logsumexp[..., None])[..., 0]
    return Attended(back(part.context), _logsumexp=total)
