"""The process that answers what may take long, until a signal stops it; see `forwarding`."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import sys
from contextlib import suppress

from regard.allocator import give_back_memory, resident_bytes
from regard.errors import InputError
from regard.server.http.app import create_app
from regard.server.http.run import ACCEPTED, BACKLOG, FINISH_SECONDS, SWITCH_SECONDS
from regard.server.queue.service import Service
from regard.server.workers.forwarding import MAX_FRAME, ForwardedRequests
from regard.server.workers.link import GROWN, SupervisorLink

NICENESS = 15
"""Of the process and those it starts: beside one that answers short requests, 3.5 % of a core."""
LOOK_SECONDS = 2.0
GROWN_BYTES = 64 << 20
"""More than the process had when it was first idle again, with which it is replaced."""


def lower_priority() -> None:
    """Have this process give way to others, with its threads and the processes it starts."""
    with suppress(OSError):  # where a sandbox forbids it
        os.nice(NICENESS)


def serve_background(service: Service, listener: socket.socket, link: SupervisorLink) -> None:
    """Answer what workers pass on until SIGTERM, then finish what runs."""
    sys.setswitchinterval(SWITCH_SECONDS)
    asyncio.run(_serve(service, listener, link))


async def _serve(service: Service, listener: socket.socket, link: SupervisorLink) -> None:
    app = create_app(service, link, is_background=True)
    requests = ForwardedRequests(app)
    stopped = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stopped.set)
    accepted = 1 if service.shared and service.shared.num_workers > 1 else ACCEPTED
    async with app.router.lifespan_context(app):
        server = await asyncio.start_unix_server(
            requests.connected, sock=listener, limit=MAX_FRAME, backlog=accepted
        )
        listener.listen(BACKLOG)
        growing = asyncio.ensure_future(_wait_until_grown(service, requests))
        stopping = asyncio.ensure_future(stopped.wait())
        await asyncio.wait((growing, stopping), return_when=asyncio.FIRST_COMPLETED)
        server.close()
        if growing.done() and not stopping.done():
            link.send(GROWN)
        growing.cancel()
        if requests.tasks:
            await asyncio.wait(requests.tasks, timeout=FINISH_SECONDS)


async def _wait_until_grown(service: Service, requests: ForwardedRequests) -> None:
    """Return when this process is idle and has much more memory than it needs.

    What a burst of requests has scattered over the heap cannot be given back: another process
    begins anew, with the same models. If others have taken their place, this one goes on.
    """
    needed = answered = 0
    while True:
        await asyncio.sleep(LOOK_SECONDS)
        if requests.tasks or requests.num_answered == answered:
            continue
        answered = requests.num_answered
        await asyncio.to_thread(give_back_memory)
        if not needed:
            needed = resident_bytes()
            continue
        grown = resident_bytes() > needed + GROWN_BYTES
        if grown and not requests.tasks and await asyncio.to_thread(_models_unchanged, service):
            return


def _models_unchanged(service: Service) -> bool:
    try:
        for model in service.catalogue.models:
            model.translator.saved.check_unchanged()
    except InputError:
        return False
    return True
