"""Biases added to the scores before the mask: a tensor, or a function evaluated by tiles.

Shapes: bias tile broadcastable to (…, H, r, c).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import Self

import torch
from torch import Tensor, nn
from torch.func import functional_call, vjp

from regard.attention.engines.tile import Tile, take


class Bias(ABC):
    """An additive bias, whole or by tiles; one with `inputs` has a gradient."""

    @property
    def inputs(self) -> tuple[Tensor, ...]:
        """The tensors that gradients flow to."""
        return ()

    def with_inputs(self, inputs: tuple[Tensor, ...]) -> Self:
        """The same bias over other tensors."""
        return self

    @abstractmethod
    def tile(self, tile: Tile) -> Tensor:
        """The bias at the tile's rows and columns."""

    def tile_backward(self, tile: Tile, grad: Tensor, into: tuple[Tensor | None, ...]) -> None:
        """Add one tile's gradient (…, r, c) to `into` (one per input)."""
        raise NotImplementedError(f"{type(self).__name__} must define tile_backward.")

    @property
    def finite(self) -> bool:
        """Whether it has no −inf, which would mask a key."""
        return False

    @property
    def requires_grad(self) -> bool:
        """Whether it has a gradient."""
        return torch.is_grad_enabled() and any(x.requires_grad for x in self.inputs)


@dataclass(frozen=True, eq=False)
class TensorBias(Bias):
    """Any additive tensor that broadcasts to the scores; −inf masks."""

    tensor: Tensor

    @property
    def inputs(self) -> tuple[Tensor, ...]:
        return (self.tensor,)

    def with_inputs(self, inputs: tuple[Tensor, ...]) -> Self:
        return replace(self, tensor=inputs[0])

    def tile(self, tile: Tile) -> Tensor:
        tile.check_broadcast(self.tensor, "bias")
        return take(take(self.tensor, tile.rows, -2), tile.cols, -1)

    def tile_backward(self, tile: Tile, grad: Tensor, into: tuple[Tensor | None, ...]) -> None:
        if into[0] is not None:
            target = take(take(into[0], tile.rows, -2), tile.cols, -1)
            target += grad.sum_to_size(target.shape)


class DistanceBias(nn.Module):
    """Base of biases that depend only on the distance from query to key, and on the head."""

    num_heads: int
    finite = False  # whether it is never −inf

    def forward(self, distance: Tensor) -> Tensor:
        """Bias (H, r, c) of distances key − query (r, c)."""
        raise NotImplementedError(f"{type(self).__name__} must define forward(distance).")

    def at(self, offset: int) -> Bias:
        """The bias for queries that start at position `offset` of the keys."""
        return PlacedBias(self, offset, tuple(self.parameters()))


@dataclass(frozen=True, eq=False)
class PlacedBias(Bias):
    """A distance bias for queries that start at position `offset`."""

    rule: DistanceBias
    offset: int
    parameters: tuple[Tensor, ...]

    @property
    def finite(self) -> bool:
        return self.rule.finite

    @property
    def inputs(self) -> tuple[Tensor, ...]:
        return self.parameters

    def with_inputs(self, inputs: tuple[Tensor, ...]) -> Self:
        return replace(self, parameters=inputs)

    def tile(self, tile: Tile) -> Tensor:
        if not tile.batch or tile.batch[-1] != self.rule.num_heads:
            raise ValueError(
                f"bias {type(self.rule).__name__} is for {self.rule.num_heads} heads, "
                f"got scores of shape {(*tile.batch, tile.num_queries, tile.num_keys)}."
            )
        return self._called(tile, self.parameters)

    def tile_backward(self, tile: Tile, grad: Tensor, into: tuple[Tensor | None, ...]) -> None:
        if not self.parameters:
            return
        primal = vjp(lambda *p: self._called(tile, p), *self.parameters)
        grads = primal[1](grad.sum_to_size(primal[0].shape).to(primal[0].dtype))
        for target, g in zip(into, grads, strict=True):
            if target is not None:
                target += g

    def _called(self, tile: Tile, parameters: tuple[Tensor, ...]) -> Tensor:
        distance = tile.key_index - (tile.query_index + self.offset)
        names = [name for name, _ in self.rule.named_parameters()]
        if not names:
            bias: Tensor = self.rule(distance)
        else:
            named = dict(zip(names, parameters, strict=True))
            bias = functional_call(self.rule, named, (distance,))
        return bias


def as_bias(bias: Bias | DistanceBias | Tensor) -> Bias:
    """A bias from a bias, a distance bias (queries start at 0) or a tensor."""
    if isinstance(bias, Bias):
        return bias
    if isinstance(bias, DistanceBias):
        return bias.at(0)
    if not isinstance(bias, Tensor) or not bias.is_floating_point():
        given = bias.dtype if isinstance(bias, Tensor) else type(bias).__name__
        raise TypeError(
            f"bias must be a floating tensor or a position bias, got {given}; "
            "a boolean tensor is a mask."
        )
    if bias.ndim < 2:
        raise ValueError(f"bias must have shape (…, Q, K), got {tuple(bias.shape)}.")
    return TensorBias(bias)


@dataclass(frozen=True, eq=False)
class SumBias(Bias):
    """The sum of two biases."""

    a: Bias
    b: Bias

    @property
    def finite(self) -> bool:
        return self.a.finite and self.b.finite

    @property
    def inputs(self) -> tuple[Tensor, ...]:
        return *self.a.inputs, *self.b.inputs

    def with_inputs(self, inputs: tuple[Tensor, ...]) -> Self:
        num = len(self.a.inputs)
        return replace(self, a=self.a.with_inputs(inputs[:num]), b=self.b.with_inputs(inputs[num:]))

    def tile(self, tile: Tile) -> Tensor:
        return self.a.tile(tile) + self.b.tile(tile)

    def tile_backward(self, tile: Tile, grad: Tensor, into: tuple[Tensor | None, ...]) -> None:
        num = len(self.a.inputs)
        self.a.tile_backward(tile, grad, into[:num])
        self.b.tile_backward(tile, grad, into[num:])
