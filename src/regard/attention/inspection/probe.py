"""The probe: how layers hand out what they compute; nothing happens unless somebody looks.

A layer says where it is (`scope`) and then what it has computed (`emit`), tensor by tensor. What
happens inside an attention call is not emitted: `record`, `trace` and `intervene` observe the call.
Only the weights are, with their gradients, to a probe that asks for them (`needs_weights`).

Shapes: tensors emitted are (B, T, …), B sentences of T positions; weights (B, H, Q, K).
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


class Probe(Protocol):
    """Receives what layers emit."""

    def scope(self, side: str, part: str, layer: object, offset: int) -> bool:
        """What follows is of this place of the model; whether the probe looks at it."""
        ...

    def needs_weights(self) -> bool:
        """Whether the weights of the attention at this place are to be emitted."""
        ...

    def emit(self, name: str, equation: str, x: Tensor, axis: str, make: Make | None) -> None:
        """Receive a tensor."""
        ...


_PROBES: ContextVar[tuple[Probe, ...]] = ContextVar("regard_probes", default=())


def probes() -> tuple[Probe, ...]:
    """Return the probes of this thread's layers."""
    return () if torch.compiler.is_compiling() else _PROBES.get()


def probing(probe: Probe) -> AbstractContextManager[None]:
    """Pass all that layers emit inside to `probe`."""
    return added(_PROBES, probe)


def scope(side: str, part: str, layer: object = None, offset: int = 0) -> bool:
    """Say where the tensors that follow belong; return whether somebody looks at them.

    side    "encoder", "decoder", "pooling" or "regression"
    part    "embedding", "self-attention", "cross-attention", "feed-forward", "recurrence", "output"
    layer   the module that is the layer, if it is in one
    offset  the position of the first row
    """
    looks = [probe.scope(side, part, layer, offset) for probe in probes()]
    return any(looks)


def needs_weights() -> bool:
    """Return whether somebody needs the weights of the next attention call, with gradients."""
    return any(probe.needs_weights() for probe in probes())


def emit(
    name: str, equation: str, x: Tensor, axis: str = "feature", make: Make | None = None
) -> None:
    """Hand out a tensor x (B, T, …), whose last dimension is `axis`.

    With `make`, it is not x but made for the positions among T that somebody has chosen.
    """
    for probe in probes():
        probe.emit(name, equation, x, axis, make)
