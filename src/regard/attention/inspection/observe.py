"""Who is looking: the observers of this thread and the place in the model they see.

`record` and `intervene` register themselves here. Everything lives in context variables: nothing is
left on modules, and another thread running the same model sees nothing of it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor


class Seen(Protocol):
    """What made a context, as far as observers look: weights on demand, over these values."""

    @property
    def value(self) -> Tensor:
        """(…, K, Dv): what the weights are given to."""
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

    def spread(self) -> Seen:
        """The same with grouped values repeated, one for each query head."""
        ...

    def weights(self, rows: Tensor | None = None, heads: Tensor | None = None) -> Tensor:
        """(…, r, K): the weights of the asked rows and heads (all by default)."""
        ...


@dataclass(frozen=True, eq=False)
class GivenWeights:
    """Weights (…, Q, K) that are there anyway, over values (…, K, Dv) of the same heads."""

    given: Tensor
    value: Tensor

    @property
    def batch(self) -> tuple[int, ...]:
        """The leading dimensions."""
        return tuple(self.given.shape[:-2])

    @property
    def num_queries(self) -> int:
        """Q."""
        return self.given.shape[-2]

    @property
    def num_keys(self) -> int:
        """K."""
        return self.given.shape[-1]

    def spread(self) -> GivenWeights:
        """Itself: it has no grouped heads."""
        return self

    def weights(self, rows: Tensor | None = None, heads: Tensor | None = None) -> Tensor:
        """(…, r, K): those of the asked rows and heads."""
        shown = self.given if rows is None else self.given.index_select(-2, rows)
        return shown if heads is None else shown.index_select(-3, heads)


@dataclass(frozen=True, eq=False)
class NoWeights:
    """A call whose weights cannot be had; heads can still be switched off."""

    batch: tuple[int, ...]
    num_queries: int
    why: str
    over = "none"

    @property
    def value(self) -> Tensor:
        """There is none to give other weights to."""
        raise ValueError(f"weights cannot be changed here: {self.why}.")

    @property
    def num_keys(self) -> int:
        """There are none to give other weights to."""
        raise ValueError(f"weights cannot be changed here: {self.why}.")

    def spread(self) -> NoWeights:
        """Itself."""
        return self

    def weights(self, rows: Tensor | None = None, heads: Tensor | None = None) -> Tensor:
        """There are none."""
        raise ValueError(f"weights cannot be shown here: {self.why}.")


@dataclass(frozen=True)
class Place:
    """Where in a model a call of attention happens.

    `kind` is "self", "causal" or "cross", or "channel" or "spatial" of a feature map's gate;
    `offset` is the absolute position of the first query.
    `guessed` says that the kind was read from shapes, so that the module around may know better.
    """

    kind: str
    offset: int = 0
    guessed: bool = False


class Overlay(Protocol):
    """Rewrites weights (…, r, K) of chosen rows and heads (None: all)."""

    def __call__(self, weights: Tensor, rows: Tensor | None, heads: Tensor | None) -> Tensor: ...


@dataclass(frozen=True, eq=False)
class Sight:
    """What an observer sees of one call: its context, its weights on demand, and its place."""

    call: Seen
    context: Tensor  # (…, Q, Dv)
    place: Place
    overlay: tuple[Overlay, ...] = ()
    fixed: bool = False  # the context cannot be changed from here

    def weights(self, rows: Tensor | None = None, heads: Tensor | None = None) -> Tensor:
        """The weights (…, r, K) that made the context, of the asked rows and heads."""
        weights = self.call.weights(rows, heads)
        for rewrite in self.overlay:
            weights = rewrite(weights, rows, heads)
        return weights


class Observer(Protocol):
    """Looks at a call, and may hand on a changed one."""

    def __call__(self, sight: Sight) -> Sight: ...


_observers: ContextVar[tuple[Observer, ...]] = ContextVar("regard_observers", default=())
_place: ContextVar[Place | None] = ContextVar("regard_place", default=None)
_inside: ContextVar[bool] = ContextVar("regard_inside", default=False)


def observers() -> tuple[Observer, ...]:
    """Those who look at this thread's calls, the outermost first."""
    return () if torch.compiler.is_compiling() else _observers.get()


@contextmanager
def observing(observer: Observer) -> Iterator[None]:
    """Let `observer` see every call of attention inside."""
    _observers.set((*_observers.get(), observer))
    try:
        yield
    finally:  # not by a token: a generator may be closed in another context than it was begun in
        _observers.set(tuple(o for o in _observers.get() if o is not observer))


def shown(context: Tensor, seen: Seen, kind: str = "self") -> Tensor:
    """The context (…, Q, Dv) after every observer has seen, and perhaps changed, the call.

    The place is the one that was said (`at`); else one of this `kind`.
    """
    return looked_at(context, seen, kind).context


def looked_at(context: Tensor, seen: Seen, kind: str = "self") -> Sight:
    """The same, with the weights as they are after it."""
    return seen_by(observers(), Sight(seen, context, here() or Place(kind)))


def seen_by(looking: tuple[Observer, ...], sight: Sight) -> Sight:
    """The call after every one of the observers has seen, and perhaps changed, it."""
    for observer in looking:
        sight = observer(sight)
    return sight


@contextmanager
def at(place: Place) -> Iterator[None]:
    """Say where the calls inside happen."""
    if torch.compiler.is_compiling():  # nobody looks there, and a graph must not break
        yield
        return
    token = _place.set(place)
    try:
        yield
    finally:
        _place.reset(token)


def here() -> Place | None:
    """The place that was said, if any."""
    return _place.get()


@contextmanager
def unseen() -> Iterator[None]:
    """Calls inside are parts of a larger one, which is shown as a whole."""
    before = observers()
    if not before:
        yield
        return
    _observers.set(())
    try:
        with inside_ours():
            yield
    finally:
        _observers.set(before)


@contextmanager
def inside_ours() -> Iterator[None]:
    """Calls of torch's own attention inside are part of ours and are not seen twice."""
    token = _inside.set(True)
    try:
        yield
    finally:
        _inside.reset(token)


def is_inside_ours() -> bool:
    """Whether regard itself is calling torch's attention."""
    return _inside.get()
