"""`regard serve`: models behind HTTP."""

from __future__ import annotations

import argparse
import importlib.util
import platform
import signal
import socket
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING

from regard.cli import error_sentence
from regard.cli.option_flags import add_options, given_options
from regard.errors import InputError
from regard.folder import model_names
from regard.hosts import default_hosts
from regard.server.http.settings import ServerSettings
from regard.tasks import KINDS, load_run
from regard.tasks.commands import add_engine, positive

if TYPE_CHECKING:
    from regard.corpus.memory import TranslationMemory
    from regard.server.queue.catalogue import Catalogue
    from regard.server.queue.service import Service
    from regard.server.workers.shared import SharedState

LIMITS = (
    "characters",
    "texts",
    "waiting",
    "per_address",
    "together",
    "timeout",
    "rate",
    "wrong_keys",
)
"""The settings of a server that are flags among the limits."""
NEEDED = ("fastapi", "uvicorn", "prometheus_client", "python_multipart", "py3langid")


def configure(parser: argparse.ArgumentParser) -> None:
    """Add this command's arguments."""
    add = parser.add_argument
    add(
        "--model",
        metavar="DIR",
        action="append",
        default=[],
        help="folder of a model; several times for several, of any directions",
    )
    add("--host", default="127.0.0.1", help="address to listen at (127.0.0.1: this computer only)")
    add("--port", type=int, default=5000, metavar="N", help="port to listen at (5000; 0: any)")
    add(
        "--threads",
        type=positive,
        default=0,
        metavar="N",
        help="processor cores to use, of all workers together (all but one)",
    )
    add(
        "--workers",
        type=positive,
        default=1,
        metavar="N",
        help="processes that serve, each with all models in memory (1)",
    )
    add_engine(parser)
    parser.add_argument(
        "--memory",
        metavar="FILE",
        action="append",
        default=[],
        help="translation memory (.tmx, .po, .xliff, .tsv) of the first model's languages: what it "
        "has is translated as there",
    )
    limits = parser.add_argument_group("limits")
    add_options(limits, ServerSettings, *LIMITS, show_default=True)
    access = parser.add_argument_group("access")
    add = access.add_argument
    add("--keys", metavar="FILE", help="file of API keys, as --make-key writes it")
    add_options(access, ServerSettings, "key_required")
    change = access.add_mutually_exclusive_group().add_argument
    change("--make-key", metavar="NAME", help="make a key, add it to --keys, print it, and end")
    change(
        "--revoke-key",
        metavar="NAME",
        help="remove a key from --keys, and end; a server refuses it from SIGHUP on",
    )
    add("--key-rate", type=int, metavar="N", help="with --make-key: requests a minute (0: any)")
    add("--admin", action="store_true", help="with --make-key: a key that may reload models")
    add_options(access, ServerSettings, "hosts", "cors")
    add(
        "--proxy",
        metavar="ADDRESS",
        help="address of a reverse proxy, trusted for clients' addresses",
    )
    add(
        "--metrics-port",
        type=int,
        metavar="N",
        help="port for /metrics alone (without it, /metrics is at --port, with --require-key for "
        "requests with `Authorization: Bearer KEY`)",
    )
    add(
        "--metrics-host",
        default="127.0.0.1",
        metavar="ADDRESS",
        help="address to listen at for --metrics-port (127.0.0.1: this computer only)",
    )
    add("--no-metrics", action="store_true", help="no /metrics for Prometheus")


def run(arguments: argparse.Namespace) -> int:
    """Serve, or make or revoke a key."""
    if arguments.make_key is not None:
        return _make_key(arguments)
    if arguments.revoke_key is not None:
        return _revoke_key(arguments)
    if sys.platform != "linux":
        raise InputError(
            "`regard serve` needs Linux, by whose means its processes are supervised; serve from a "
            "container, or use `regard translate`."
        )
    if not arguments.model:
        raise InputError("no model was given; give the folder of one with --model.")
    missing = [name for name in NEEDED if importlib.util.find_spec(name) is None]
    if missing:
        raise InputError(
            f"`regard serve` needs {', '.join(missing)}; install it with pip install regard[serve]."
        )
    with _ignore_hangups():
        _serve(arguments)
    return 0


def _serve(arguments: argparse.Namespace) -> None:
    """Check the arguments, load the models, serve."""
    if arguments.no_metrics and arguments.metrics_port is not None:
        raise InputError("--no-metrics and --metrics-port exclude each other; give one of them.")
    metrics = not arguments.no_metrics and arguments.metrics_port is None
    settings = ServerSettings(metrics=metrics, **given_options(arguments, ServerSettings))
    from regard.server.access.keys import read_keys

    keys = read_keys(arguments.keys) if arguments.keys else ()  # now, as it may fail
    if settings.key_required and not keys:
        raise InputError("--require-key needs --keys, a file with a key; --make-key makes one.")
    names = model_names(arguments.model)
    served = [
        f"{pair} ({name})"
        for name, folder in zip(names, arguments.model, strict=True)
        for pair in _directions(folder)
    ]
    from regard.server.http.log import log_event, write_log
    from regard.server.http.run import BACKLOG, address_of, listen
    from regard.server.workers.shared import SharedState
    from regard.server.workers.supervisor import Supervisor

    listener = listen(arguments.host, arguments.port)  # first, as it may fail
    settings = replace(settings, hosts=(*settings.hosts, *_default_hosts(arguments.host, listener)))
    metrics_listener = None
    if arguments.metrics_port is not None:
        metrics_listener = listen(arguments.metrics_host, arguments.metrics_port)
        metrics_listener.setblocking(False)  # several workers wait for the same connection
        print(f"Metrics at {address_of(metrics_listener)}/metrics")
    write_log()
    shared = SharedState(arguments.workers, arguments.workers)
    background = socket.socket(socket.AF_UNIX)
    background.bind(str(shared.background))
    background.listen(BACKLOG)  # before there is a worker, which connects to it

    def announce(pids: Sequence[int]) -> None:
        address = address_of(listener)
        print(f"Serving {', '.join(served)} at {address}", flush=True)
        log_event(
            "started",
            address=address,
            models=names,
            workers=list(pids[: arguments.workers]),
            background=list(pids[arguments.workers :]),
        )

    def stop_listening() -> None:
        for one in (listener, metrics_listener):
            if one is not None:
                one.close()

    try:
        Supervisor(
            2 * arguments.workers,
            lambda number, channel: _work(
                number, channel, arguments, settings, shared, listener, metrics_listener, background
            ),
            num_background=arguments.workers,
            on_start=announce,
            on_stop=stop_listening,
            set_pid=shared.set_pid,
        ).run()
    finally:
        shared.remove()
    log_event("stopped")


def _work(
    number: int,
    channel: socket.socket,
    arguments: argparse.Namespace,
    settings: ServerSettings,
    shared: SharedState,
    listener: socket.socket,
    metrics_listener: socket.socket | None,
    background: socket.socket,
) -> None:
    """What a worker does: load the models, and serve until it is told to end."""
    from regard.server.access.keys import read_keys
    from regard.server.http.run import serve
    from regard.server.queue.service import Service
    from regard.server.workers.background_worker import lower_priority, serve_background
    from regard.server.workers.link import FAILED, MAX_REASON, SupervisorLink

    link = SupervisorLink(channel)
    is_background = number >= shared.num_workers
    if is_background:
        for one in (listener, metrics_listener):
            if one is not None:
                one.close()
        lower_priority()  # before there are other threads, which it would leave as they are
    try:
        catalogue, memory = _load(arguments)
        # not those of the server's start, of which some may have been revoked since
        keys = read_keys(arguments.keys) if arguments.keys else ()
        service = Service(catalogue, settings, keys, memory, arguments.keys, shared, number)
    except (InputError, OSError) as error:
        link.send((FAILED + error_sentence(error).encode("utf-8", "replace"))[:MAX_REASON])
        sys.exit(2)
    if is_background:
        serve_background(service, background, link)
    else:
        background.close()
        with _serving_metrics(service, arguments.metrics_host, metrics_listener):
            serve(service, listener, link, proxy=arguments.proxy, background=shared.background)
    if link.orphaned:
        shared.remove()


def _load(arguments: argparse.Namespace) -> tuple[Catalogue, TranslationMemory | None]:
    """The models and the translation memory, for a worker with its share of the cores."""
    from regard.cores import cores
    from regard.server.queue.catalogue import Catalogue

    threads = arguments.threads
    if arguments.workers > 1:
        threads = max(1, cores(threads) // arguments.workers)
    if threads:
        import torch

        torch.set_num_threads(threads)
    catalogue = Catalogue(arguments.model, threads, arguments.engine, arguments.precision)
    if not arguments.memory:
        return catalogue, None
    from regard.corpus.memory import read_memory

    first = catalogue.models[0]
    return catalogue, read_memory(arguments.memory, (first.source, first.target))


def _default_hosts(given: str, listener: socket.socket) -> tuple[str, ...]:
    """The names that the server answers to without being told."""
    return default_hosts(given, listener.getsockname()[0], platform.node())


def _serving_metrics(
    service: Service, host: str, listener: socket.socket | None
) -> AbstractContextManager[None]:
    """Answer /metrics at a port of its own, if there is one."""
    if listener is None:
        return nullcontext()
    from regard.server.access.foreign_pages import ForeignPages
    from regard.server.http.metrics_port import serving_metrics

    hosts = (*service.settings.hosts, *_default_hosts(host, listener))
    return serving_metrics(listener, service.metrics_text, ForeignPages(hosts))


@contextmanager
def _ignore_hangups() -> Iterator[None]:
    """Ignore SIGHUP, which reloads the models, until they are loaded."""
    number = getattr(signal, "SIGHUP", None)
    if number is None or threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(number, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(number, before)


def _directions(folder: str) -> list[str]:
    """What a model translates; raises an error, before torch is loaded, if it does not."""
    loaded = load_run(folder)
    kind = loaded.model.kind
    if KINDS[kind].command != "translate":
        raise InputError(f"{folder}: a model of the kind {kind} does not translate.")
    return ["-".join(pair) for pair in loaded.directions]


def _make_key(arguments: argparse.Namespace) -> int:
    if arguments.keys is None:
        raise InputError("--make-key needs --keys, the file that the key's hash is added to.")
    from regard.server.access.keys import make_key

    key = make_key(
        arguments.keys, arguments.make_key, rate=arguments.key_rate, admin=arguments.admin
    )
    print(key)
    return 0


def _revoke_key(arguments: argparse.Namespace) -> int:
    if arguments.keys is None:
        raise InputError("--revoke-key needs --keys, the file that the key's line is removed from.")
    from regard.server.access.keys import revoke_key

    revoke_key(arguments.keys, arguments.revoke_key)
    return 0
