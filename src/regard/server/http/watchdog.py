"""Notices when the event loop no longer answers, and logs what all threads are doing.

The event loop is asked every second to answer at once. Where it does not for some seconds, the
places of all threads are in the log, without any text of users. Where not even this thread gets
its turn, since an extension holds Python's lock, the interpreter's own watchdog (`faulthandler`)
writes the same to stderr, as plain text.

    this thread ── are you there? ──▶ event loop ── yes ──▶ this thread
"""

from __future__ import annotations

import asyncio
import faulthandler
import logging
import sys
import threading
import time
import traceback
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from regard.errors import FRAMES
from regard.server.http.log import log_event

STUCK_SECONDS = 5.0
STDERR = 2


@contextmanager
def watching(loop: asyncio.AbstractEventLoop, seconds: float = STUCK_SECONDS) -> Iterator[None]:
    """Watch an event loop that may be without an answer for so many seconds."""
    ended = threading.Event()
    threading.Thread(
        target=_watch, args=(loop, seconds, ended), name="watchdog", daemon=True
    ).start()
    try:
        yield
    finally:
        ended.set()  # without waiting for the thread, which may wait for this loop


def _watch(loop: asyncio.AbstractEventLoop, seconds: float, ended: threading.Event) -> None:
    with suppress(RuntimeError):  # the loop is closed
        while not ended.is_set():
            faulthandler.dump_traceback_later(1.5 * seconds, repeat=True, file=STDERR)
            answered, asked = threading.Event(), time.monotonic()
            loop.call_soon_threadsafe(answered.set)
            if not answered.wait(seconds) and not ended.is_set():
                event = "the event loop does not answer"
                log_event(event, level=logging.ERROR, seconds=seconds, threads=thread_places())
                faulthandler.cancel_dump_traceback_later()  # the log has it
                answered.wait()
                stopped = round(time.monotonic() - asked, 1)
                log_event("the event loop answers again", level=logging.WARNING, seconds=stopped)
            ended.wait(min(1.0, seconds))
    faulthandler.cancel_dump_traceback_later()


def thread_places() -> dict[str, list[str]]:
    """Where each thread is: the last frames, the innermost last."""
    frames = sys._current_frames()
    places = {}
    for thread in threading.enumerate():
        if (frame := frames.get(thread.ident or 0)) is not None:
            stack = traceback.extract_stack(frame)[-FRAMES:]
            places[thread.name] = [f"{own.filename}:{own.lineno} {own.name}" for own in stack]
    return places
