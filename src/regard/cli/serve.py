"""`regard serve`: models behind HTTP."""

from __future__ import annotations

import argparse
import importlib.util
import platform
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from regard.errors import InputError
from regard.hosts import default_hosts
from regard.tasks import KINDS, load_run
from regard.tasks.commands import add_engine, positive

NEEDED = ("fastapi", "uvicorn", "prometheus_client", "python_multipart", "py3langid")


def configure(parser: argparse.ArgumentParser) -> None:
    """Add this command's arguments."""
    add = parser.add_argument
    add("--model", metavar="DIR", action="append", default=[],
        help="folder of a model; several times for several, of any directions")  # fmt: skip
    add("--host", default="127.0.0.1", help="address to listen at (127.0.0.1: this computer only)")
    add("--port", type=int, default=5000, metavar="N", help="port to listen at (5000; 0: any)")
    add(
        "--threads",
        type=positive,
        default=0,
        metavar="N",
        help="processor cores to use (all but one)",
    )
    add_engine(parser)
    parser.add_argument(
        "--memory", metavar="FILE", action="append", default=[],
        help="translation memory (.tmx, .po, .xliff, .tsv) of the first model's languages: what it "
        "has is translated as there",
    )  # fmt: skip
    limits = parser.add_argument_group("limits")
    add = limits.add_argument
    add("--max-characters", type=positive, default=20_000, metavar="N",
        help="maximum of one request (20000)")  # fmt: skip
    add("--max-texts", type=positive, default=500, metavar="N", help="maximum of one request (500)")
    add("--max-waiting", type=positive, default=512, metavar="N",
        help="requests that may wait; one more gets a 503 (512)")  # fmt: skip
    add("--together", type=positive, default=256, metavar="N",
        help="sentences translated together, of any requests (256; 1: one by one)")  # fmt: skip
    add("--timeout", type=float, default=60.0, metavar="S",
        help="seconds after which a request gets a 503 (60)")  # fmt: skip
    add("--rate", type=int, default=0, metavar="N",
        help="requests a minute of one key or address (0: no limit)")  # fmt: skip
    access = parser.add_argument_group("access")
    add = access.add_argument
    add("--keys", metavar="FILE", help="file of API keys, as --make-key writes it")
    add("--require-key", action="store_true", help="refuse requests without a key")
    add("--make-key", metavar="NAME", help="make a key, add it to --keys, print it, and end")
    add("--key-rate", type=int, metavar="N", help="with --make-key: requests a minute (0: any)")
    add("--admin", action="store_true", help="with --make-key: a key that may reload models")
    add("--allowed-host", metavar="NAME", action="append", default=[],
        help="name that the server answers to, as example.org, *.example.org or * (all), besides "
        "localhost and, unless it listens at a loopback address, this computer's name and all "
        "addresses")  # fmt: skip
    add("--cors", metavar="ORIGIN", action="append", default=[],
        help="origin whose pages may use the server, as https://example.org; * is all")  # fmt: skip
    add("--proxy", metavar="ADDRESS",
        help="address of a reverse proxy, trusted for clients' addresses")  # fmt: skip
    add("--no-metrics", action="store_true", help="no /metrics for Prometheus")


def run(arguments: argparse.Namespace) -> int:
    """Serve, or make a key."""
    if arguments.make_key is not None:
        return _make_key(arguments)
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
    from regard.server.http.settings import ServerSettings

    settings = ServerSettings(
        characters=arguments.max_characters,
        texts=arguments.max_texts,
        waiting=arguments.max_waiting,
        together=arguments.together,
        timeout=arguments.timeout,
        rate=arguments.rate,
        key_required=arguments.require_key,
        cors=tuple(arguments.cors),
        hosts=tuple(arguments.allowed_host),
        metrics=not arguments.no_metrics,
    )
    from regard.server.access.keys import read_keys

    keys = read_keys(arguments.keys) if arguments.keys else ()
    if arguments.require_key and not keys:
        raise InputError("--require-key needs --keys, a file with a key; --make-key makes one.")
    for folder in arguments.model:
        _check(folder)
    from regard.server.http.run import listen, serve
    from regard.server.queue.catalogue import Catalogue
    from regard.server.queue.service import Service

    if arguments.threads:
        import torch

        torch.set_num_threads(arguments.threads)
    listener = listen(arguments.host, arguments.port)  # first, as it may fail
    known = default_hosts(arguments.host, listener.getsockname()[0], platform.node())
    settings = replace(settings, hosts=(*settings.hosts, *known))
    catalogue = Catalogue(arguments.model, arguments.threads, arguments.engine, arguments.precision)
    memory = None
    if arguments.memory:
        from regard.corpus.memory import read_memory

        first = catalogue.models[0]
        memory = read_memory(arguments.memory, (first.source, first.target))
    serve(Service(catalogue, settings, keys, memory), listener, proxy=arguments.proxy)


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


def _check(folder: str) -> None:
    """Raise an error, before torch is loaded, if the model does not translate."""
    kind = load_run(folder).model.kind
    if KINDS[kind].command != "translate":
        raise InputError(f"{folder}: a model of the kind {kind} does not translate.")


def _make_key(arguments: argparse.Namespace) -> int:
    if arguments.keys is None:
        raise InputError("--make-key needs --keys, the file that the key's hash is added to.")
    from regard.server.access.keys import make_key

    key = make_key(
        arguments.keys, arguments.make_key, rate=arguments.key_rate, admin=arguments.admin
    )
    print(key)
    return 0
