"""Real servers on free ports, with small models."""

import asyncio
import json
import re
import threading
import time
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import httpx
import uvicorn

from processes import Process
from regard.server.http.app import create_app
from regard.server.http.run import listen, uvicorn_config
from regard.server.http.settings import ServerSettings
from regard.server.queue.jobs import CallJob
from regard.server.queue.service import Service


@contextmanager
def serving(catalogue, keys=(), keys_file=None, **limits):
    """A client of a server with these limits; the service is `client.service`."""
    service = Service(catalogue, ServerSettings(**limits), keys, keys_file=keys_file)
    listener = listen("127.0.0.1", 0)
    server = uvicorn.Server(uvicorn_config(create_app(service), 5))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
    thread.start()
    until(lambda: server.started)
    address = f"http://127.0.0.1:{listener.getsockname()[1]}"
    try:
        with httpx.Client(base_url=address, trust_env=False, timeout=120) as client:
            client.service = service
            client.address = address
            yield client
    finally:
        server.should_exit = True
        thread.join()
        listener.close()


@contextmanager
def running(*words):
    """A server's process, its address, the processes of its workers, and its log as it grows."""
    process = Process("serve", "--port", "0", *words)
    log = []
    reader = threading.Thread(target=lambda: log.extend(map(json.loads, process.stderr)))
    reader.start()
    try:
        address = re.search(r" at (http://127\.0\.0\.1:\d+)", process.stdout.readline())[1]
        until(lambda: any(line["event"] == "started" for line in log))
        started = next(line for line in log if line["event"] == "started")
        yield SimpleNamespace(
            process=process,
            address=address,
            log=log,
            pids=started["workers"],
            background=started["background"],
        )
    finally:
        process.kill()
        process.wait()
        reader.join()


def set_timeout(client, seconds):
    """Requests that come from now on have so many seconds."""
    service = client.service
    service.settings = service.admission.settings = replace(service.settings, timeout=seconds)


def until(holds, seconds=120.0):
    """Wait for something that must come; the time is only there to end a test that hangs."""
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, "it did not come"
        time.sleep(0.005)


def runs(pid):
    """Whether a process is there, and no zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text("utf-8").rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):  # it ended before or after the file was opened
        return False


@contextmanager
def held_up(batcher):
    """The translator's thread is kept busy inside."""
    go, begun = threading.Event(), threading.Event()

    def hold():
        begun.set()
        assert go.wait(200)

    async def put():
        batcher.put(CallJob(hold))

    putting = threading.Thread(target=asyncio.run, args=(put(),))  # the caller may be in a loop
    putting.start()
    putting.join()
    assert begun.wait(120)
    try:
        yield
    finally:
        go.set()
