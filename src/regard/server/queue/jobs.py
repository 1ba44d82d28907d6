"""Jobs for a thread of the models, each with a future that a request waits for."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Hashable, Sequence
from contextlib import suppress
from typing import Generic, TypeVar

from regard.errors import InputError
from regard.tasks.translation.translation import Sentence, TranslateOptions, Translation
from regard.tasks.translation.translator import Translator
from regard.text.segments import Segment

Result = TypeVar("Result")


class Job(Generic[Result]):
    """Work whose result a request waits for; jobs of equal keys may share a batch.

    `client` is whose request it is: clients take turns.
    """

    def __init__(self, key: Hashable, client: str = "") -> None:
        self.key = key
        self.client = client
        self.loop = asyncio.get_running_loop()
        self.future: asyncio.Future[Result] = self.loop.create_future()
        self.dropped = False
        self._settle: Callable[[], None] = lambda: None

    @property
    def ready(self) -> bool:
        """Whether some of it is not begun."""
        return True

    @property
    def begun(self) -> bool:
        """Whether some of it is done, or being done."""
        return False

    def set_result(self, result: Result) -> None:
        """Store the result, to be delivered."""
        self._settle = lambda: self.future.set_result(result)

    def set_error(self, error: BaseException) -> None:
        """Store an error, to be delivered."""
        self._settle = lambda: self.future.set_exception(error)

    def deliver(self) -> None:
        """Settle the future, from any thread."""

        def settle() -> None:
            if not self.future.done():
                self._settle()

        with suppress(RuntimeError):  # the loop is closed: nothing waits any more
            self.loop.call_soon_threadsafe(settle)


class CallJob(Job[Result]):
    """A function that the thread calls, such as a step of a stream."""

    def __init__(self, function: Callable[[], Result], client: str = "") -> None:
        super().__init__(object(), client)  # unlike any other
        self.function = function


class TranslateJob(Job[list[Translation]]):
    """Texts to translate, sentence by sentence.

    max_sentences  of all texts together; more are an error
    max_steps      of a search by our own engine for one sentence, each of one hypothesis; what may
                   take more is an error, as nothing else is computed meanwhile
    """

    def __init__(
        self,
        translator: Translator,
        texts: Sequence[str],
        options: TranslateOptions,
        max_sentences: int | None = None,
        client: str = "",
        max_steps: int | None = None,
    ) -> None:
        super().__init__(object() if options.edits else (id(translator), options), client)
        self.translator = translator
        self.texts = list(texts)
        self.options = options
        self.max_sentences, self.max_steps = max_sentences, max_steps
        self.segments: list[list[Segment]] | None = None
        self.pending: deque[tuple[int, Segment]] = deque()
        self.sentences: list[Sentence | None] = []

    @property
    def ready(self) -> bool:
        return self.segments is None or bool(self.pending)

    @property
    def begun(self) -> bool:
        return self.segments is not None

    def segment(self) -> None:
        """Cut the texts into segments that fit the model, unless that is done."""
        if self.segments is not None:
            return
        self.segments = [self.translator.segment_with(text, self.options) for text in self.texts]
        flat = [segment for segments in self.segments for segment in segments]
        if self.max_steps is not None:
            for segment in flat:
                self._check_steps(segment, self.max_steps)
        if self.max_sentences is not None and len(flat) > self.max_sentences:
            limit = "one sentence" if self.max_sentences == 1 else f"{self.max_sentences} sentences"
            raise InputError(f"edits are for at most {limit} that the model can take; send less.")
        self.pending = deque(enumerate(flat))
        self.sentences = [None] * len(flat)

    def _check_steps(self, segment: Segment, limit: int) -> None:
        if (steps := self.translator.estimate_steps(segment, self.options)) > limit:
            raise InputError(
                f"the sentence {segment.text[:40]!r}… and its terms may take {steps} steps of the "
                f"search, more than {limit}; send a shorter sentence, fewer terms or a smaller "
                "beam."
            )

    @property
    def complete(self) -> bool:
        """Whether every segment is translated."""
        return not self.pending and None not in self.sentences

    def translations(self) -> list[Translation]:
        """The translations of the texts."""
        sentences = iter([sentence for sentence in self.sentences if sentence is not None])
        return [
            self.translator.assemble(text, segments, [next(sentences) for _ in segments])
            for text, segments in zip(self.texts, self.segments or (), strict=True)
        ]
