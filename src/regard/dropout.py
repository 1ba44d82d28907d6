"""Dropout from a random stream of each thread: reproducible, and cheap on CPUs.

Torch draws one random number per element from a generator that all threads share. Here 16-bit
numbers of a stream decide, four elements from each 64-bit draw, about five times faster.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

_STEPS = 1 << 16  # a probability is rounded to this fraction

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


def dropout(x: Tensor, p: float) -> Tensor:
    """x · m / (1 − p), m = 0 with probability `p` (Srivastava 2014); x of any shape."""
    if not p:
        return x
    stream = _stream.get()
    if stream is None or x.device.type != "cpu" or p == 1:
        return F.dropout(x, p)
    return x * dropout_factors(stream, x, p)


def add_dropout(x: Tensor, output: Tensor, p: float) -> Tensor:
    """x + dropout(output), in one pass if possible."""
    stream = _stream.get()
    if not p or stream is None or x.device.type != "cpu" or x.dtype != output.dtype:
        return x + dropout(output, p)
    return torch.addcmul(x, output, dropout_factors(stream, output, p))


class _ReluDropout(torch.autograd.Function):
    """dropout(relu(x)), whose backward pass needs only where the result is positive."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, p: float) -> Tensor:
        stream = _stream.get()
        assert stream is not None
        output = x.clamp_min(0).mul_(dropout_factors(stream, x, p))
        ctx.save_for_backward(output)
        ctx.factor = scale_of(p)
        return output

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None]:
        (output,) = ctx.saved_tensors
        passed = torch.ops.aten.threshold_backward(gradients[0], output, 0)
        return passed.mul_(ctx.factor), None


def relu_dropout(x: Tensor, p: float) -> Tensor:
    """dropout(relu(x)), in fewer passes if possible."""
    if _stream.get() is None or x.device.type != "cpu" or not 0 < p < 1:
        return dropout(F.relu(x), p)
    output: Tensor = _ReluDropout.apply(x, p)  # type: ignore[no-untyped-call]  # untyped in torch
    return output


def dropout_factors(stream: np.random.Generator, like: Tensor, p: float) -> Tensor:
    """Factors of the shape of `like`: 0 where dropped, 1 / (1 − p) elsewhere."""
    number = like.numel()
    bits = stream.integers(0, 1 << 64, size=-(-number // 4), dtype=np.uint64).view(np.int16)
    dropped = _dropped(p)
    drawn = torch.from_numpy(bits[:number]).view(like.shape)
    factors = torch.empty(like.shape, dtype=like.dtype)
    torch.ge(drawn, dropped - _STEPS // 2, out=factors)  # as numbers, in one pass
    return factors.mul_(scale_of(p))


def _dropped(p: float) -> int:
    """The number of 65,536 values that drop an element."""
    return min(_STEPS - 1, round(p * _STEPS))


def scale_of(p: float) -> float:
    """The factor of the elements that are not dropped."""
    return _STEPS / (_STEPS - _dropped(p))


class Dropout(nn.Module):
    """`dropout` in training mode."""

    def __init__(self, p: float) -> None:
        super().__init__()
        self.p = p

    def forward(self, x: Tensor) -> Tensor:
        return dropout(x, self.p) if self.training else x

    def extra_repr(self) -> str:
        return str(self.p)
