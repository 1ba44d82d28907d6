"""Observers of attention calls: how `record` and `intervene` see, and may change, each call.

All state is in context variables: nothing is left on modules, and another thread that runs the same
model is not observed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Protocol, TypeVar

import torch
from torch import Tensor

NamedStep = tuple[str, str, Tensor]
"""Name, equation and tensor of a step, for `trace`."""


class WeightSource(Protocol):
    """The weights of an attention call, computed on demand, and the values they apply to."""

    @property
    def value(self) -> Tensor:
        """(…, K, Dv)."""
        ...

    @property
    def batch(self) -> tuple[int, ...]:
        """The leading dimensions, usually (B, H)."""
        ...

    @property
    def num_queries(self) -> int:
        """Q."""
        ...

    @property
    def num_keys(self) -> int:
        """K."""
        ...

    def spread(self) -> WeightSource:
        """Return the same with grouped values repeated, one for each query head."""
        ...

    def weights(self, rows: Tensor | None = None, heads: Tensor | None = None) -> Tensor:
        """(…, r, K): the weights of the given rows and heads (all by default)."""
        ...

    def steps(self, rows: Tensor, heads: Tensor | None = None) -> Iterator[NamedStep]:
        """What the weights of the given rows and heads are computed from, in that order."""
        ...


@dataclass(frozen=True, eq=False)
class GivenWeights:
    """Weights (…, Q, K) that were computed anyway, over values (…, K, Dv) of the same heads.

    The values may be a function that makes them, which is called only by edits that need them. The
    energies (…, Q, K) are what the weights were made of, with their equation, if that is known.
    """

    given: Tensor
    values: Tensor | Callable[[], Tensor]
    energies: Tensor | None = None
    equation: str = ""

    @property
    def value(self) -> Tensor:
        return self.values if isinstance(self.values, Tensor) else self.values()

    @property
    def batch(self) -> tuple[int, ...]:
        return tuple(self.given.shape[:-2])

    @property
    def num_queries(self) -> int:
        return self.given.shape[-2]

    @property
    def num_keys(self) -> int:
        return self.given.shape[-1]

    def spread(self) -> GivenWeights:
        return self

    def weights(self, rows: Tensor | None = None, heads: Tensor | None = None) -> Tensor:
        return _chosen(self.given, rows, heads)

    def steps(self, rows: Tensor, heads: Tensor | None = None) -> Iterator[NamedStep]:
        yield "values", "v", _chosen(self.value, None, heads)
        if self.energies is not None:
            yield "energies", self.equation, _chosen(self.energies, rows, heads)


def _chosen(x: Tensor, rows: Tensor | None, heads: Tensor | None) -> Tensor:
    chosen = x if rows is None else x.index_select(-2, rows)
    return chosen if heads is None else chosen.index_select(-3, heads)


@dataclass(frozen=True, eq=False)
class NoWeights:
    """A call whose weights are not available; heads can still be switched off."""

    batch: tuple[int, ...]
    num_queries: int
    why: str
    over = "none"

    @property
    def value(self) -> Tensor:
        raise ValueError(f"weights cannot be changed in this call: {self.why}.")

    @property
    def num_keys(self) -> int:
        raise ValueError(f"weights cannot be changed in this call: {self.why}.")

    def spread(self) -> NoWeights:
        return self

    def weights(self, rows: Tensor | None = None, heads: Tensor | None = None) -> Tensor:
        raise ValueError(f"weights cannot be shown in this call: {self.why}.")

    def steps(self, rows: Tensor, heads: Tensor | None = None) -> Iterator[NamedStep]:
        yield from ()


@dataclass(frozen=True)
class CallInfo:
    """What is known of a call within its model.

    kind       "self", "causal" or "cross"; "channel" or "spatial" for a gate of a feature map
    offset     absolute position of the first query
    guessed    whether the kind was inferred from shapes, so that the enclosing module may know
               better
    equations  how the layer made query, keys and values
    """

    kind: str
    offset: int = 0
    guessed: bool = False
    equations: Mapping[str, str] = field(default_factory=dict)


class Overlay(Protocol):
    """Rewrites weights (…, r, K) of the given rows and heads (None: all)."""

    def __call__(self, weights: Tensor, rows: Tensor | None, heads: Tensor | None) -> Tensor: ...


@dataclass(frozen=True, eq=False)
class ObservedCall:
    """One attention call as observers see it.

    source     its weights, on demand
    context    (…, Q, Dv)
    read_only  whether a changed context would have no effect
    """

    source: WeightSource
    context: Tensor
    info: CallInfo
    overlay: tuple[Overlay, ...] = ()
    read_only: bool = False

    def weights(self, rows: Tensor | None = None, heads: Tensor | None = None) -> Tensor:
        """(…, r, K): the weights of the given rows and heads, as edited so far."""
        weights = self.source.weights(rows, heads)
        for rewrite in self.overlay:
            weights = rewrite(weights, rows, heads)
        return weights


Item = TypeVar("Item")


class Observer(Protocol):
    """Receives a call and returns it, possibly changed."""

    def __call__(self, call: ObservedCall) -> ObservedCall: ...


OBSERVERS: ContextVar[tuple[Observer, ...]] = ContextVar("regard_observers", default=())
_info: ContextVar[CallInfo | None] = ContextVar("regard_call_info", default=None)
_inside: ContextVar[bool] = ContextVar("regard_inside", default=False)


def observers() -> tuple[Observer, ...]:
    """Return the observers of this thread's calls, the outermost first."""
    return () if torch.compiler.is_compiling() else OBSERVERS.get()


def observing(observer: Observer) -> AbstractContextManager[None]:
    """Pass every attention call inside to `observer`."""
    return added(OBSERVERS, observer)


@contextmanager
def added(variable: ContextVar[tuple[Item, ...]], item: Item) -> Iterator[None]:
    """Add an item to a variable's tuple, and remove it at the end."""
    variable.set((*variable.get(), item))
    try:
        yield
    finally:  # not by a token: a generator may be closed in another context than it was started in
        variable.set(tuple(other for other in variable.get() if other is not item))


def observe_call(context: Tensor, source: WeightSource, kind: str) -> ObservedCall:
    """Return the call after all observers have received it; `kind` is used unless described."""
    return notify(observers(), ObservedCall(source, context, current_info() or CallInfo(kind)))


def notify(observers: tuple[Observer, ...], call: ObservedCall) -> ObservedCall:
    """Return the call after each of the observers has received it."""
    for observer in observers:
        call = observer(call)
    return call


@contextmanager
def describe_calls(info: CallInfo) -> Iterator[None]:
    """Describe the calls inside to the observers."""
    if torch.compiler.is_compiling():  # there are no observers, and the graph must not break
        yield
        return
    token = _info.set(info)
    try:
        yield
    finally:
        _info.reset(token)


def current_info() -> CallInfo | None:
    """Return the innermost description, if any."""
    return _info.get()


@contextmanager
def suppress_observers() -> Iterator[None]:
    """Hide the calls inside: they are parts of a larger one, which is observed as a whole."""
    before = observers()
    if not before:
        yield
        return
    OBSERVERS.set(())
    try:
        with inside_regard():
            yield
    finally:
        OBSERVERS.set(before)


@contextmanager
def inside_regard() -> Iterator[None]:
    """Mark calls of torch's attention inside as parts of ours, which are not observed again."""
    token = _inside.set(True)
    try:
        yield
    finally:
        _inside.reset(token)


def is_inside_regard() -> bool:
    """Whether regard itself is calling torch's attention."""
    return _inside.get()
