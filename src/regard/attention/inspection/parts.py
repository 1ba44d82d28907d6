"""How layers tell `trace` what they compute; nothing happens unless somebody is tracing.

A layer says where it is (`enter`) and then what it has computed (`tell`), tensor by tensor. What
happens inside an attention call is not told: `trace` observes the call.

Shapes: tensors told are (B, T, …), B sentences of T positions.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from contextvars import ContextVar
from typing import Protocol

import torch
from torch import Tensor

from regard.attention.inspection.observe import added

Make = Callable[[Tensor], Tensor]
"""From indices (r,) of positions to their part (B, r, …)."""


class Listener(Protocol):
    """Receives what layers tell."""

    def enter(self, side: str, part: str, layer: object, offset: int) -> None:
        """The parts that follow are of this place of the model."""
        ...

    def tell(self, name: str, equation: str, x: Tensor, axis: str, make: Make | None) -> None:
        """Receive a part."""
        ...


_LISTENERS: ContextVar[tuple[Listener, ...]] = ContextVar("regard_listeners", default=())


def listeners() -> tuple[Listener, ...]:
    """Return those who listen to this thread's layers."""
    return () if torch.compiler.is_compiling() else _LISTENERS.get()


def listening(listener: Listener) -> AbstractContextManager[None]:
    """Pass all that layers tell inside to `listener`."""
    return added(_LISTENERS, listener)


def enter(side: str, part: str, layer: object = None, offset: int = 0) -> None:
    """Say where the parts that follow belong.

    side    "encoder", "decoder", "pooling" or "regression"
    part    "embedding", "self-attention", "cross-attention", "feed-forward", "recurrence", "output"
    layer   the module that is the layer, if it is in one
    offset  the position of the first row
    """
    for listener in listeners():
        listener.enter(side, part, layer, offset)


def tell(
    name: str, equation: str, x: Tensor, axis: str = "feature", make: Make | None = None
) -> None:
    """Tell a part x (B, T, …), whose last dimension is `axis`.

    With `make`, the part is not x but made for the positions among T that somebody has chosen.
    """
    for listener in listeners():
        listener.tell(name, equation, x, axis, make)
