"""Dropout from a random stream of each thread: reproducible, and cheap on CPUs.

Torch draws a random number for each element of every tensor. Here the 0s and 1s of a long mask are
drawn once for each p, and the mask of a tensor is a piece of it, at a place that the stream draws.
So the elements of one tensor are independent of each other, and those of two tensors or two updates
because the place is drawn anew. Tensors of more than half its length have several pieces.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import lru_cache

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

_LENGTH = 1 << 22  # elements of a long mask
_SHORTEST = 1 << 18  # of its part that small pieces are of

_stream: ContextVar[np.random.Generator | None] = ContextVar("dropout_stream", default=None)


def current_stream() -> np.random.Generator | None:
    """The random stream of the enclosing `dropout_stream`, if there is one."""
    return _stream.get()


@contextmanager
def dropout_stream(*seed: int) -> Iterator[None]:
    """Make dropout inside, on this thread, depend on `seed` alone (on a CPU)."""
    token = _stream.set(np.random.Generator(np.random.SFC64(np.random.SeedSequence(seed))))
    try:
        yield
    finally:
        _stream.reset(token)


def dropout(x: Tensor, p: float, training: bool = True) -> Tensor:
    """x · m / (1 − p), m = 0 with probability `p` (Srivastava 2014); x of any shape."""
    if not p or not training:
        return x
    stream = _stream.get()
    if stream is None or x.device.type != "cpu" or p == 1:
        return F.dropout(x, p)
    return x * dropout_factors(stream, x, p)


def dropout_factors(stream: np.random.Generator, like: Tensor, p: float) -> Tensor:
    """Factors of the shape of `like`: 0 where dropped, 1 / (1 − p) elsewhere."""
    return dropout_mask(stream, like, p) * scale_of(p)


def dropout_mask(stream: np.random.Generator, like: Tensor, p: float) -> Tensor:
    """Numbers of the shape of `like`: 0 where dropped, 1 elsewhere. They must not be changed."""
    whole, number = _long_mask(p, like.dtype), like.numel()
    longest = len(whole) // 2
    if number <= longest:
        return _piece(stream, whole, number).view(like.shape)
    sizes = [min(longest, number - begin) for begin in range(0, number, longest)]
    return torch.cat([_piece(stream, whole, size) for size in sizes]).view(like.shape)


def _piece(stream: np.random.Generator, whole: Tensor, number: int) -> Tensor:
    """So many elements of a long mask, from a place that the stream draws.

    Small pieces are of its first part, which stays in the processor's caches.
    """
    length = max(_SHORTEST, 1 << number.bit_length() + 1)
    start = int(stream.integers(0, min(length, len(whole)) - number, endpoint=True))
    return whole[start : start + number]


@lru_cache(maxsize=8)
def _long_mask(p: float, dtype: torch.dtype) -> Tensor:
    """Numbers that are 0 with probability `p` and else 1."""
    drawn = np.random.Generator(np.random.SFC64(0)).random(_LENGTH, dtype=np.float32)
    return torch.from_numpy(drawn >= p).to(dtype)


def scale_of(p: float) -> float:
    """The factor of the elements that are not dropped."""
    return 1 / (1 - p) if p < 1 else 0.0


class Dropout(nn.Module):
    """`dropout` in training mode."""

    def __init__(self, p: float) -> None:
        super().__init__()
        self.p = p

    def forward(self, x: Tensor) -> Tensor:
        return dropout(x, self.p, self.training)

    def extra_repr(self) -> str:
        return str(self.p)
