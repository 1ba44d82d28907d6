"""A thread for work that takes time but no model: parsing and rendering HTML pages.

It is a single thread of its own, as Python runs one at a time anyway: many such requests delay
each other, and no other request.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from regard.server.http.errors import ApiError

Result = TypeVar("Result")


class BackgroundThread:
    """The thread and a queue of at most `max_waiting` functions."""

    def __init__(self, max_waiting: int) -> None:
        self._slots = threading.Semaphore(max_waiting)
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="background")

    def submit(self, function: Callable[[], Result]) -> asyncio.Future[Result]:
        """The function's result; if it is cancelled before its turn, the function is not called."""
        if not self._slots.acquire(blocking=False):
            raise ApiError(503, "the server is busy; try again later.", 1)
        future = self._thread.submit(function)
        future.add_done_callback(lambda _: self._slots.release())
        return asyncio.wrap_future(future)

    def close(self) -> None:
        """Start nothing more, and end the thread when it is done."""
        self._thread.shutdown(wait=False, cancel_futures=True)
