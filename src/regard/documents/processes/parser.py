"""The process that reads and writes documents: `python -m regard.documents.processes.parser`.

It answers one message after the other and ends where its input does. It keeps the documents that it
has read last, in case that they are written next; a message to write them has all that it takes to
read them again.
"""

from __future__ import annotations

import logging
import math
import os
import resource
import signal
import sys
import time
import traceback
from collections.abc import Iterator
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any, BinaryIO

from regard.documents.document import Document, DocumentOptions
from regard.documents.guarded import LOGGER
from regard.documents.processes.messages import (
    HEAD,
    OUT_OF_MEMORY,
    Message,
    PlainTranslation,
    decode,
    encode,
    slices,
)
from regard.documents.registry import parse_document
from regard.errors import InputError, error_fields

READERS = (
    "html.html_document",
    "markdown.structure",
    "plain",
    "catalogs.po",
    "catalogs.xliff",
    "catalogs.tmx",
    "subtitles",
    "tables.json_table",
    "tables.yaml_table",
    "office.document",
)
"""Modules that a process of a server has before it is needed."""
NICENESS = 5
"""Of a server's process: sentences that only have to be translated go before documents."""
KILL_WITH_PARENT = 1  # Linux's PR_SET_PDEATHSIG


class LogRecords(logging.Handler):
    """The records of an answer, for the parent's log: a message, and the places of an error."""

    def __init__(self) -> None:
        super().__init__()
        self.records: list[dict[str, Any]] = []

    def emit(self, record: logging.LogRecord) -> None:
        error = record.exc_info[1] if record.exc_info else None
        fields = error_fields(error) if error else {}
        self.records.append({"message": record.getMessage(), "fields": fields})


class Parser:
    """Answers messages."""

    def __init__(self) -> None:
        self._used_memory = UsedMemory()
        self._limits = Limits()
        self._log = LogRecords()
        self._ticket = 0
        self._documents: list[Document] = []  # of the ticket
        LOGGER.addHandler(self._log)

    def answer(self, request: Message) -> list[bytes]:
        """The answer's parts; the errors of documents are answers."""
        self._limits.set(request.content["seconds"], request.content["memory"])
        self._log.records = []
        try:
            answer, data = self._answer(request)
        except InputError as error:
            if any(isinstance(cause, MemoryError) for cause in _causes(error)):
                raise MemoryError from error
            self._documents = []
            answer, data = _described(error), []
        log, memory = self._log.records, self._used_memory()
        return encode({**answer, "log": log, "memory": memory}, data)

    def _answer(self, request: Message) -> tuple[dict[str, Any], list[bytes]]:
        content = request.content
        documents = self._read(request)
        if content["renderings"] is None:
            texts = [document.texts for document in documents]
            characters = sum(
                max(0, sum(map(len, document_texts)) + len(document_texts) - 1)
                for document_texts in texts
            )
            if characters > content["max_characters"]:
                return {"problem": "characters", "characters": characters}, []
            markup = [document.has_markup for document in documents]
            return {"texts": texts, "has_markup": markup}, []
        written = [
            documents[number].render([PlainTranslation(*values) for values in translations])
            for number, translations in content["renderings"]
        ]
        return {"sizes": list(map(len, written))}, written

    def _read(self, request: Message) -> list[Document]:
        content = request.content
        if self._ticket != content["ticket"] or not self._documents:
            self._documents = []  # first, to have their memory
            parts = slices(request.data, [source["size"] for source in content["documents"]])
            self._documents = [
                parse_document(data, source["format"], DocumentOptions(**source["options"]))
                for source, data in zip(content["documents"], parts, strict=True)
            ]
            self._ticket = content["ticket"]
        return self._documents


def _described(error: InputError) -> dict[str, Any]:
    return {
        "problem": "input",
        "sentence": str(error),
        "undecodable": isinstance(error.__cause__, UnicodeError),
        "trace": traceback.format_exc(),
    }


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


class Limits:
    """Limits that this process sets itself, where they have changed."""

    def __init__(self) -> None:
        self._memory = resource.RLIM_INFINITY
        self._seconds = 0.0

    def set(self, seconds: float, memory: int) -> None:
        """Be killed within so many and twice as many seconds; more memory is a MemoryError."""
        used = time.process_time()
        if not used + seconds <= self._seconds <= used + 2 * seconds:
            self._seconds = used + 2 * seconds
            _set_limit(resource.RLIMIT_CPU, math.ceil(self._seconds))
        if memory != self._memory:
            self._memory = memory
            _set_limit(resource.RLIMIT_AS, memory)


def _set_limit(kind: int, value: int) -> None:
    """Set a limit of this process, at most that which it was started with."""
    _, most = resource.getrlimit(kind)
    if most != resource.RLIM_INFINITY:
        value = most if value == resource.RLIM_INFINITY else min(value, most)
    with suppress(ValueError, OSError):  # some systems have no such limit
        resource.setrlimit(kind, (value, most))


class UsedMemory:
    """Bytes of memory that this process uses; 0 where the system does not report it."""

    def __init__(self) -> None:
        path = Path("/proc/self/statm")
        self._file = path.open("rb", buffering=0) if path.exists() else None

    def __call__(self) -> int:
        if self._file is None:
            return 0
        self._file.seek(0)
        return int(self._file.read(100).split()[1]) * resource.getpagesize()


def _die_with_parent() -> None:
    """Have the system kill this process when its parent ends, where it can: also if it is busy."""
    if sys.platform == "linux":
        import ctypes

        ctypes.CDLL(None).prctl(KILL_WITH_PARENT, signal.SIGKILL)


def read_message(stream: BinaryIO) -> Message | None:
    """The next message; None at the end."""
    head = stream.read(HEAD.size)
    if len(head) < HEAD.size:
        return None
    length, size = HEAD.unpack(head)
    return Message(decode(stream.read(length)), stream.read(size))


def write(stream: BinaryIO, parts: list[bytes]) -> None:
    """Write a message."""
    for part in parts:
        stream.write(part)
    stream.flush()


def main() -> None:
    """Answer until the parent closes the pipe."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)  # the parent decides when this process ends
    _die_with_parent()
    _set_limit(resource.RLIMIT_CORE, 0)
    requests, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # whatever prints does not print into the answers
    if "--prepared" in sys.argv:
        for name in READERS:
            import_module(f"regard.documents.{name}")
        os.nice(NICENESS)
    parser = Parser()
    try:
        write(answers, encode({"ready": True}))
        while (request := read_message(requests)) is not None:
            write(answers, parser.answer(request))
    except MemoryError:
        os._exit(OUT_OF_MEMORY)
    except BrokenPipeError:  # the parent has ended
        os._exit(1)


if __name__ == "__main__":
    main()
