"""Work that nobody waits for any more ends at its next step.

Whoever starts long work says when it is no longer wanted; the loops of a search, and all others
that may take seconds, ask at every step. Where nobody said anything, asking costs next to nothing.

>>> with cancellable(lambda: True):
...     check_cancelled()
Traceback (most recent call last):
regard.cancellation.CancelledWorkError: nobody waits for this any more.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

IsCancelled = Callable[[], bool]


class CancelledWorkError(Exception):
    """The work was given up before its end."""

    def __init__(self) -> None:
        super().__init__("nobody waits for this any more.")


def _never() -> bool:
    return False


_current: ContextVar[IsCancelled] = ContextVar("regard_cancelled", default=_never)


@contextmanager
def cancellable(is_cancelled: IsCancelled) -> Iterator[None]:
    """Have work of this thread end with `CancelledWorkError` once the function says so."""
    token = _current.set(is_cancelled)
    try:
        yield
    finally:
        _current.reset(token)


def cancellation() -> IsCancelled:
    """What says whether this thread's work is cancelled, for the threads that share the work."""
    return _current.get()


def check_cancelled() -> None:
    """Raise `CancelledWorkError` if nobody waits for this thread's work any more."""
    if _current.get()():
        raise CancelledWorkError
