"""A thread for what takes time but no model: reading a page's markup, and writing it.

It is one thread, as Python runs one at a time anyway, and none of those that other requests wait
for: many such requests at once hold up each other, and nobody else.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from regard.server.http.errors import RefusalError

Result = TypeVar("Result")


class Aside:
    """The thread, and the functions that wait for it, at most `places`."""

    def __init__(self, places: int) -> None:
        self._places = threading.Semaphore(places)
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="aside")

    def begin(self, function: Callable[[], Result]) -> asyncio.Future[Result]:
        """What the function will give; cancelled before its turn, it is not called at all."""
        if not self._places.acquire(blocking=False):
            raise RefusalError(503, "the server is busy; ask again a little later.", 1)
        going = self._thread.submit(function)
        going.add_done_callback(lambda _: self._places.release())
        return asyncio.wrap_future(going)

    def close(self) -> None:
        """Begin nothing more, and let the thread go when it is done."""
        self._thread.shutdown(wait=False, cancel_futures=True)
