"""Cooperative cancellation: long work ends at its next step when its result is no longer needed.

The caller sets a function (`cancellable`) that tells whether the work is cancelled; loops that may
take seconds call `check_cancelled` at every step. Without such a function the check is one lookup.

>>> with cancellable(lambda: True):
...     check_cancelled()
Traceback (most recent call last):
regard.cancellation.CancelledWorkError: the work was cancelled.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

IsCancelled = Callable[[], bool]


class CancelledWorkError(Exception):
    """The work was cancelled before its end."""

    def __init__(self) -> None:
        super().__init__("the work was cancelled.")


def _never() -> bool:
    return False


_current: ContextVar[IsCancelled] = ContextVar("regard_cancelled", default=_never)


@contextmanager
def cancellable(is_cancelled: IsCancelled) -> Iterator[None]:
    """Inside, work of this thread ends with `CancelledWorkError` once the function is true."""
    token = _current.set(is_cancelled)
    try:
        yield
    finally:
        _current.reset(token)


def cancellation() -> IsCancelled:
    """The function that tells whether this thread's work is cancelled, to pass to other threads."""
    return _current.get()


def check_cancelled() -> None:
    """Raise `CancelledWorkError` if this thread's work is cancelled."""
    if _current.get()():
        raise CancelledWorkError
