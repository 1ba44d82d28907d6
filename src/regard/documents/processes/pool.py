"""A few processes that read and write documents, and documents that are read by them."""

from __future__ import annotations

import itertools
import signal
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

from regard.cancellation import CancelledWorkError
from regard.documents.document import DocumentOptions
from regard.documents.guarded import LOGGER
from regard.documents.processes.limits import ARCHIVE_EXPANSION, MEGABYTE, ParserLimits
from regard.documents.processes.messages import (
    OUT_OF_MEMORY,
    Message,
    encode,
    plain_translation,
    slices,
)
from regard.documents.processes.parser_process import (
    ParserAnswerError,
    ParserDiedError,
    ParserProcess,
    ParserTimeoutError,
)
from regard.documents.projection import LinkedTranslation
from regard.documents.registry import FORMATS
from regard.errors import InputError

PROBLEMS = {
    "time": "{name} takes longer than {seconds} s to {verb}; {remedy}",
    "memory": "{name} takes more than {memory} MB of memory to {verb}; {remedy}",
    "answer": "{name} has more than {answer} MB of text; {remedy}",
    "died": "{name} ended the process that was to {verb} it; {remedy}",
}
REMEDY = "split it, or save it in another format."


class TextLimitError(InputError):
    """Documents have more characters of text than were allowed."""

    def __init__(self, name: str, characters: int, most: int) -> None:
        super().__init__(
            f"{name} has {characters:,} characters of text, more than {most:,}; split it."
        )
        self.characters = characters


class RemoteError(Exception):
    """An error in another process, with its trace."""


@dataclass(frozen=True)
class DocumentSource:
    """The bytes of a document, the name of its format, and the options of its reader."""

    data: bytes
    form: str
    options: DocumentOptions

    @property
    def weight(self) -> int:
        """Bytes of text, about: an archive expands."""
        return len(self.data) * (ARCHIVE_EXPANSION if FORMATS[self.form].is_binary else 1)


@dataclass(frozen=True)
class ReadSources:
    """Documents that were read together, and the number of that reading."""

    pool: ParserPool
    sources: tuple[DocumentSource, ...]
    ticket: int


@dataclass(frozen=True)
class IsolatedDocument:
    """A document that another process has read: a `Document`.

    batch   the documents that were read together
    number  which of them this is
    """

    batch: ReadSources
    number: int
    texts: list[str]
    has_markup: bool

    def render(self, translations: Sequence[LinkedTranslation]) -> bytes:
        """The file with translations of its texts, written by the other process."""
        (written,) = self.batch.pool.render([(self, translations)])
        return written


Rendering = tuple[IsolatedDocument, Sequence[LinkedTranslation]]


class ParserPool:
    """Processes for documents; each is used by one thread at a time.

    A process that takes too long, takes too much memory or dies is replaced, and its request
    fails with an `InputError`.
    """

    def __init__(self, num_processes: int = 1, limits: ParserLimits | None = None) -> None:
        self.limits = limits or ParserLimits()
        self._processes = [ParserProcess() for _ in range(num_processes)]
        self._idle = list(self._processes)  # that which was used longest ago first
        self._changed = threading.Condition()
        self._tickets = itertools.count(1)
        self._prepared = self._closed = False

    def start(self, *, prepared: bool = False) -> None:
        """Start all processes now, so that no request waits for that; else they start when needed.

        prepared  whether they import all readers, and are replaced before they are needed again
        """
        self._prepared = prepared
        for process in self._processes:
            process.prepared = prepared
            process.start()

    @property
    def pids(self) -> list[int]:
        """The numbers of the processes that were started."""
        return [process.pid for process in self._processes if process.pid is not None]

    def close(self) -> None:
        """End all processes; what they do is an error."""
        with self._changed:
            self._closed = True
            for process in self._processes:
                if process in self._idle:
                    process.kill()
                else:
                    process.interrupt()

    def __enter__(self) -> ParserPool:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def read(
        self, sources: Sequence[DocumentSource], max_characters: int | None = None
    ) -> list[IsolatedDocument]:
        """Documents, read together; more text than `max_characters` is a `TextLimitError`."""
        if not sources:
            return []
        batch = ReadSources(self, tuple(sources), next(self._tickets))
        answer = self._ask(batch, "read", max_characters=max_characters)
        parts = zip(answer.content["texts"], answer.content["has_markup"], strict=True)
        return [
            IsolatedDocument(batch, number, texts, has_markup)
            for number, (texts, has_markup) in enumerate(parts)
        ]

    def render(self, renderings: Sequence[Rendering]) -> list[bytes]:
        """Documents that were read together, each with translations, maybe several times."""
        if not renderings:
            return []
        packed = [
            (
                document.number,
                [
                    plain_translation(translation, links=document.has_markup)
                    for translation in translations
                ],
            )
            for document, translations in renderings
        ]
        answer = self._ask(renderings[0][0].batch, "write", renderings=packed)
        return list(slices(answer.data, answer.content["sizes"]))

    def _ask(
        self,
        batch: ReadSources,
        verb: str,
        *,
        max_characters: int | None = None,
        renderings: Sequence[Any] | None = None,
    ) -> Message:
        """The answer of a process; its errors are raised here."""
        work = Work(verb, batch.sources, self.limits)
        most = self.limits.answer if max_characters is None else max_characters
        request = {
            "ticket": batch.ticket,
            "seconds": work.seconds,
            "memory": work.memory,
            "max_characters": most,
            "documents": [
                {"size": len(source.data), "format": source.form, "options": vars(source.options)}
                for source in batch.sources
            ],
            "renderings": renderings,
        }
        parts = encode(request, [source.data for source in batch.sources])
        with self._process(batch.ticket) as process:
            try:
                answer = process.ask(parts, work.seconds, self.limits.answer)
            except BaseException as error:
                problem = _problem(error)
                if problem and not self._closed:
                    work.log(problem, process.pid)
                process.kill()
                if problem in PROBLEMS:
                    raise InputError(work.sentence(problem)) from error
                raise
            content = answer.content
            process.ticket = batch.ticket
            if content["memory"] > self.limits.replacement_memory:
                process.kill()  # gives its memory back
        for record in content["log"]:
            LOGGER.error(record["message"], extra={"fields": record["fields"]})
        problem = content.get("problem")
        if problem == "characters":
            raise TextLimitError(work.name, content["characters"], most)
        if problem == "input":
            cause = UnicodeError if content["undecodable"] else RemoteError
            raise InputError(content["sentence"]) from cause(content["trace"])
        return answer

    @contextmanager
    def _process(self, ticket: int) -> Iterator[ParserProcess]:
        """An idle process, if possible that which has the documents; the caller waits for one."""
        with self._changed:
            self._changed.wait_for(lambda: self._idle)
            if self._closed:
                raise CancelledWorkError
            having = (process for process in self._idle if process.ticket == ticket)
            process = next(having, self._idle[0])
            self._idle.remove(process)
        try:
            yield process
        finally:
            with self._changed:
                if self._prepared and not self._closed:
                    with suppress(OSError):  # the next to ask tries again
                        process.start()
                self._idle.append(process)
                self._changed.notify()


class Work:
    """The request to a process, for errors and the log."""

    def __init__(self, verb: str, sources: Sequence[DocumentSource], limits: ParserLimits) -> None:
        self.verb, self.limits = verb, limits
        self.name, self.form = sources[0].options.name, sources[0].form
        self.size = sum(source.weight for source in sources)
        self.seconds, self.memory = limits.seconds_for(self.size), limits.memory_for(self.size)
        self.start = time.monotonic()

    def sentence(self, problem: str) -> str:
        """The sentence for the user: what is wrong, and what helps."""
        return PROBLEMS[problem].format(
            name=self.name,
            verb=self.verb,
            seconds=f"{self.seconds:.0f}" if self.seconds >= 10 else f"{self.seconds:.2g}",
            memory=f"{self.memory // MEGABYTE:,}",
            answer=f"{self.limits.answer // MEGABYTE:,}",
            remedy=REMEDY,
        )

    def log(self, problem: str, pid: int | None) -> None:
        """Log that the process of this number is replaced."""
        fields = {
            "problem": problem,
            "verb": self.verb,
            "format": self.form,
            "bytes": self.size,
            "seconds": round(time.monotonic() - self.start, 3),
            "pid": pid,
        }
        LOGGER.warning("a process for documents is replaced", extra={"fields": fields})


def _problem(error: BaseException) -> str | None:
    """What is wrong with the process; None if nothing is."""
    if isinstance(error, ParserDiedError):
        codes = {-signal.SIGXCPU: "time", OUT_OF_MEMORY: "memory"}
        return codes.get(error.code or 0, "died")
    kinds: dict[type[BaseException], str] = {
        ParserTimeoutError: "time",
        ParserAnswerError: "answer",
        CancelledWorkError: "abandoned",
    }
    return kinds.get(type(error))
