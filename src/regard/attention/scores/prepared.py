"""Prepared scores: projections done, to be computed as a whole or by tiles.

Shapes: query (…, Q, D), key (…, K, D), tile of scores (…, r, c). A prepared score holds only the
tensors that the scores are differentiable in (`inputs`); `tile_backward` adds a tile's gradient to
theirs, so that an engine can keep one tile at a time.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol, Self

import torch
from torch import Tensor
from torch.func import functional_call, vjp

from regard.attention.engines.precision import accumulated, as_given
from regard.attention.engines.tile import Index

if TYPE_CHECKING:
    from regard.attention.scores.score import Score


Cell = tuple[slice, slice, slice]  # part of a tile whose leading dimensions are flattened to one


class GradOf(Protocol):
    """∂loss/∂scores of scores (…, r, c), or of those of one cell (n, q, k) of the tile."""

    def __call__(self, scores: Tensor, cell: Cell | None = None) -> Tensor: ...


class PreparedScore(ABC):
    """Scores of prepared queries and keys, whole or by tiles."""

    query: Tensor
    key: Tensor
    finite = True  # whether no score can be −inf

    @property
    def inputs(self) -> tuple[Tensor, ...]:
        """The tensors that gradients flow to, query and key first."""
        return self.query, self.key

    @abstractmethod
    def with_inputs(self, inputs: tuple[Tensor, ...]) -> Self:
        """The same score of other tensors."""

    @abstractmethod
    def tile(self, rows: Index, cols: Index) -> Tensor:
        """Scores (…, r, c) in accumulation precision."""

    @abstractmethod
    def tile_backward(
        self, rows: slice, cols: slice, grad_of: GradOf, into: tuple[Tensor | None, ...]
    ) -> None:
        """Compute one tile's scores again and add their gradient to `into` (one per input).

        `grad_of` returns the gradient of the scores it is given, once for every part of the tile,
        so that what scores and gradient share is computed once.
        """

    def scores(self) -> Tensor:
        """All scores (…, Q, K)."""
        return self.tile(slice(0, self.query.shape[-2]), slice(0, self.key.shape[-2]))

    def steps(self, rows: Index, cols: Index) -> Iterator[tuple[str, str, Tensor]]:
        """Name, equation and scores (…, r, c) of every step from query and key on, for `trace`."""
        yield "raw scores", "s_ij = score(q_i, k_j)", self.tile(rows, cols)

    def spread(self, num_heads: int) -> Self:
        """The same score with grouped keys repeated to `num_heads` heads."""
        return self.with_inputs((self.query, spread(self.key, num_heads), *self.inputs[2:]))


@dataclass(frozen=True)
class PreparedDot(PreparedScore):
    """scale · q·k, with an optional softcap: cap · tanh(s / cap).

    `shift` (…, Q) is a row constant that cancels in the softmax, left out of the tile's scores and
    added to their logsumexp (the −|q|²/2h² of the Gaussian).
    """

    query: Tensor
    key: Tensor
    scale: float = 1.0
    softcap: float | None = None
    shift: Tensor | None = None

    def with_inputs(self, inputs: tuple[Tensor, ...]) -> Self:
        return replace(self, query=inputs[0], key=inputs[1])

    def tile(self, rows: Index, cols: Index) -> Tensor:
        query = accumulated(take_rows(self.query, rows))
        key = accumulated(take_rows(self.key, cols))
        with as_given(query.device):
            dots = (query * self.scale) @ key.transpose(-2, -1)
        return dots if self.softcap is None else self.softcap * torch.tanh(dots / self.softcap)

    def steps(self, rows: Index, cols: Index) -> Iterator[tuple[str, str, Tensor]]:
        dots = replace(self, scale=1.0, softcap=None).tile(rows, cols)
        yield "raw scores", "s_ij = q_i · k_j", dots
        width = self.query.shape[-1]
        if self.scale != 1.0:
            usual = math.isclose(self.scale * math.sqrt(width), 1.0)
            equation = f"s_ij / √{width}" if usual else f"{self.scale:.4g} · s_ij"
            yield "scaled", equation, replace(self, softcap=None).tile(rows, cols)
        if self.softcap is not None:
            cap = f"{self.softcap:g}"
            yield "capped", f"{cap} · tanh(s_ij / {cap})", self.tile(rows, cols)

    def tile_backward(
        self, rows: slice, cols: slice, grad_of: GradOf, into: tuple[Tensor | None, ...]
    ) -> None:
        scores = self.tile(rows, cols)
        grad = grad_of(scores)
        if self.softcap is not None:
            grad = grad * (1 - (scores / self.softcap) ** 2)
        grad_query, grad_key = into
        if grad_query is not None:
            key = accumulated(take_rows(self.key, cols))
            take_rows(grad_query, rows).add_(grad @ key, alpha=self.scale)
        if grad_key is not None:
            query = accumulated(take_rows(self.query, rows))
            take_rows(grad_key, cols).add_(grad.transpose(-2, -1) @ query, alpha=self.scale)


@dataclass(frozen=True)
class PreparedPlain(PreparedScore):
    """Any score module at all, each key scored by itself, differentiated by autograd."""

    score: Score
    query: Tensor
    key: Tensor
    parameters: tuple[Tensor, ...] | None = None  # in place of the module's own
    autocast: torch.dtype | None = None  # what it was where the score was called

    @classmethod
    def of(cls, score: Score, query: Tensor, key: Tensor) -> Self:
        """A score that has no prepared form of its own."""
        device = query.device.type
        on = torch.is_autocast_enabled(device)
        return cls(score, query, key, autocast=torch.get_autocast_dtype(device) if on else None)

    @property  # a constant of the other classes
    def finite(self) -> bool:  # type: ignore[override]  # a property here
        return self.score.finite

    @property
    def inputs(self) -> tuple[Tensor, ...]:
        own = tuple(self.score.parameters()) if self.parameters is None else self.parameters
        return self.query, self.key, *own

    def with_inputs(self, inputs: tuple[Tensor, ...]) -> Self:
        return replace(self, query=inputs[0], key=inputs[1], parameters=inputs[2:])

    def scores(self) -> Tensor:
        return self._called(self.query, self.key, self.parameters)

    def tile(self, rows: Index, cols: Index) -> Tensor:
        return self._called(take_rows(self.query, rows), take_rows(self.key, cols), self.parameters)

    def tile_backward(
        self, rows: slice, cols: slice, grad_of: GradOf, into: tuple[Tensor | None, ...]
    ) -> None:
        query, key, *parameters = self.inputs
        parts = (take_rows(query, rows), take_rows(key, cols), *parameters)
        run = vjp(lambda q, k, *p: self._called(q, k, p), *parts)
        scores, pull_back = run[0], run[1]
        indices = (rows, cols, *[None] * len(parameters))
        for target, grad, index in zip(into, pull_back(grad_of(scores)), indices, strict=True):
            if target is not None:
                (target if index is None else take_rows(target, index)).add_(grad)

    def steps(self, rows: Index, cols: Index) -> Iterator[tuple[str, str, Tensor]]:
        query, key = take_rows(self.query, rows), take_rows(self.key, cols)
        yield from self.score.steps(query, key)

    def _called(self, query: Tensor, key: Tensor, parameters: tuple[Tensor, ...] | None) -> Tensor:
        if self.autocast is not None and not torch.is_autocast_enabled(query.device.type):
            with torch.autocast(query.device.type, self.autocast):  # as where it was called from
                return self._called(query, key, parameters)
        if parameters:
            names = [name for name, _ in self.score.named_parameters()]
            named = dict(zip(names, parameters, strict=True))
            scores: Tensor = functional_call(self.score, named, (query, key))
        else:
            scores = self.score(query, key)
        expected = (*query.shape[:-1], key.shape[-2])
        if tuple(scores.shape) != expected:
            raise ValueError(
                f"{type(self.score).__name__} must give scores of shape {expected}, "
                f"got {tuple(scores.shape)}."
            )
        return accumulated(scores)


def take_rows(x: Tensor, rows: Index) -> Tensor:
    """The given rows of (…, T, D); a view if they are a slice."""
    if isinstance(rows, Tensor):
        return x.index_select(-2, rows)
    return x.narrow(-2, rows.start, rows.stop - rows.start)


def spread(x: Tensor, num_heads: int) -> Tensor:
    """Grouped heads (…, G, T, D) repeated to (…, num_heads, T, D)."""
    if x.ndim < 3 or x.shape[-3] == num_heads:
        return x
    return x.repeat_interleave(num_heads // x.shape[-3], dim=-3)
