"""`regard watch`: the curves and samples of runs on a page, while they go on or after their end."""

from __future__ import annotations

import argparse
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from regard.config.stored import CONFIG
from regard.errors import InputError

if TYPE_CHECKING:
    from regard.training.report import Reporter


def configure(parser: argparse.ArgumentParser) -> None:
    """Add this command's arguments."""
    add = parser.add_argument
    add("folders", metavar="DIR", nargs="+", help="folder of a run; several are drawn together")
    add(
        "--port",
        type=int,
        default=0,
        metavar="N",
        help="port to listen at, on this computer only (0: any that is free)",
    )


def run(arguments: argparse.Namespace) -> int:
    """Serve the page until interrupted."""
    for folder in map(Path, arguments.folders):
        if not (folder / CONFIG).is_file():
            what = f"there is no {CONFIG} in it" if folder.is_dir() else "there is no such folder"
            raise InputError(
                f"{folder}: {what}; give the folder of a run, which `regard train … --out DIR` "
                "makes."
            )
    from regard.watch.server import WatchServer

    for number in (signal.SIGINT, signal.SIGTERM):  # a process in the background ignores SIGINT
        signal.signal(number, signal.default_int_handler)
    with WatchServer(arguments.folders, arguments.port) as server:
        print(f"Watch at {server.address} (Ctrl-C ends it).", flush=True)
        try:
            server.wait()
        except KeyboardInterrupt:
            return 0
    return 0


@contextmanager
def watched(folder: Path | None, port: int, reporter: Reporter) -> Iterator[None]:
    """Serve the page of a run while it is trained; without a folder, do nothing."""
    if folder is None:
        yield
        return
    from regard.watch.server import WatchServer

    with WatchServer([folder], port, linger=True) as server:
        reporter.say(f"Watch at {server.address}")
        yield
