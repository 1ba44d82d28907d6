"""Requests of different users put together for the translator, each answer to its own asker.

    askers (asyncio) ── put ──▶ waiting errands ──▶ one thread ── translator.sentences(…)
          ▲                                            │
          └──────────────── future ◀───────────────────┘

The thread takes sentences in turn from all errands that want the same (model, search, wish), so
that a long text does not hold up short ones and is left where it stands when its asker goes away.
What the thread is doing and what waits count as places, and places are limited.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections import deque
from collections.abc import Callable, Hashable, Sequence
from contextlib import suppress
from typing import Any, Generic, NamedTuple, TypeVar

import torch

from regard.config import SearchOptions
from regard.server.http.errors import RefusalError
from regard.server.queue.cutting import pieces
from regard.tasks.translation.segments import Segment, put_together
from regard.tasks.translation.translator import Wish
from regard.translator import Sentence, Translation, Translator

Result = TypeVar("Result")


class Manner(NamedTuple):
    """How texts are to be translated; what is alike in all of it is translated together."""

    settings: SearchOptions
    wish: Wish
    prefix: str = ""
    split: bool = True


class Errand(Generic[Result]):
    """One thing that an asker waits for."""

    def __init__(self, key: Hashable) -> None:
        self.key = key
        self.loop = asyncio.get_running_loop()
        self.future: asyncio.Future[Result] = self.loop.create_future()
        self.dropped = False
        self._settle: Callable[[], None] = lambda: None

    def give(self, result: Result) -> None:
        """Have a result, to be handed over."""
        self._settle = lambda: self.future.set_result(result)

    def fail(self, error: BaseException) -> None:
        """Have an error, to be handed over."""
        self._settle = lambda: self.future.set_exception(error)

    def hand_over(self) -> None:
        """Let the asker have it, from whatever thread."""

        def once() -> None:
            if not self.future.done():
                self._settle()

        with suppress(RuntimeError):  # the loop is closed: nobody waits any more
            self.loop.call_soon_threadsafe(once)


class Call(Errand[Result]):
    """A function that the thread calls by itself: a step of a stream, an intervention."""

    def __init__(self, function: Callable[[], Result]) -> None:
        super().__init__(object())  # like no other
        self.function = function


class Answer(NamedTuple):
    """A text's translation, and the next best of the whole text if the search was for several.

    The next best have no word links; `linking` reads them.
    """

    translation: Translation
    others: tuple[Translation, ...] = ()

    @property
    def alternatives(self) -> tuple[str, ...]:
        """The texts of the next best."""
        return tuple(one.text for one in self.others)


class Texts(Errand[list[Answer]]):
    """Texts to translate, sentence by sentence."""

    def __init__(self, translator: Translator, texts: Sequence[str], manner: Manner) -> None:
        super().__init__((id(translator), manner))
        self.translator = translator
        self.texts = list(texts)
        self.manner = manner
        self.parts: list[list[Segment]] | None = None
        self.left: deque[tuple[int, str]] = deque()
        self.found: list[Sentence | None] = []

    def cut(self) -> None:
        """Cut the texts into sentences that fit the model."""
        if self.parts is not None:
            return
        manner = self.manner
        self.parts = [
            pieces(self.translator, text, split=manner.split, prefix=manner.prefix)
            for text in self.texts
        ]
        flat = [part.text for parts in self.parts for part in parts]
        self.left = deque(enumerate(flat))
        self.found = [None] * len(flat)

    @property
    def complete(self) -> bool:
        """Whether every sentence is translated."""
        return not self.left and None not in self.found

    def answers(self) -> list[Answer]:
        """The texts' translations, put together."""
        sentences = iter([one for one in self.found if one is not None])
        made = []
        for text, parts in zip(self.texts, self.parts or (), strict=True):
            own = tuple(next(sentences) for _ in parts)
            best, *others = (
                self._whole(text, parts, _ranked(own, rank))
                for rank in range(self.manner.settings.n_best)
            )
            different = {best.text: best}
            for other in others:
                different.setdefault(other.text, other)
            made.append(Answer(best, tuple(different.values())[1:]))
        return made

    def _whole(
        self, text: str, parts: list[Segment], sentences: tuple[Sentence, ...]
    ) -> Translation:
        """The text's translation, with as many line breaks at its end as the text has."""
        end = "\n" * text[len(text.rstrip()) :].count("\n")
        language = self.translator.run.target_language
        joined = put_together(parts, [one.text for one in sentences], language) + end
        return Translation(joined, text, sentences)


def _ranked(sentences: tuple[Sentence, ...], rank: int) -> tuple[Sentence, ...]:
    """Each sentence with its translation of this rank, or its best."""
    if not rank:
        return sentences
    return tuple(
        Sentence(one.source, one.alternatives[rank - 1][0], one.alternatives[rank - 1][1], (), ())
        if rank <= len(one.alternatives)
        else one
        for one in sentences
    )


class Batcher:
    """The waiting errands and the thread that runs them.

    threads   cores that one operation of torch is spread over
    on_batch  is told the number of sentences of each batch and how long it took
    """

    def __init__(
        self,
        *,
        waiting: int,
        together: int,
        linger: float = 0.0,
        threads: int = 1,
        on_batch: Callable[[int, float], None] = lambda sentences, seconds: None,
    ) -> None:
        self.places = waiting
        self.together = together
        self.linger = linger
        self.threads = threads
        self.on_batch = on_batch
        self._waiting: deque[Errand[Any]] = deque()
        self._changed = threading.Condition()
        self._closed = False
        self._pace = 0.01  # seconds an errand takes, lately
        self._thread = threading.Thread(target=self._work, name="translator", daemon=True)
        self._thread.start()

    def __len__(self) -> int:
        return len(self._waiting)

    def put(self, *errands: Errand[Any]) -> None:
        """Let errands wait, all or, where there is no room, none; if nothing waits there is."""
        with self._changed:
            if self._closed:
                raise RefusalError(503, "the server is shutting down.", 5)
            if self._waiting and len(self._waiting) + len(errands) > self.places:
                wait = min(60.0, self._pace * len(self._waiting))
                raise RefusalError(503, "the server is busy; ask again a little later.", wait)
            self._waiting.extend(errands)
            self._changed.notify()

    def drop(self, *errands: Errand[Any]) -> None:
        """Free the places of errands that nobody waits for."""
        with self._changed:
            for errand in errands:
                errand.dropped = True
                with suppress(ValueError):  # already done
                    self._waiting.remove(errand)

    def close(self) -> None:
        """Finish what waits, then let the thread go."""
        with self._changed:
            self._closed = True
            self._changed.notify()
        self._thread.join()

    def _work(self) -> None:
        torch.set_num_threads(self.threads)  # OpenMP's setting is each thread's own
        while self._ready():
            with self._changed:
                chosen = [e for e in self._waiting if e.key == self._waiting[0].key]
            start = time.perf_counter()
            if not chosen:  # dropped meanwhile
                continue
            try:
                finished, begun = self._run(chosen)
            except Exception as error:  # a fault of ours: tell all, and go on
                finished, begun = chosen, []
                for errand in chosen:
                    errand.fail(error)
            self._leave(finished, begun, time.perf_counter() - start)

    def _ready(self) -> bool:
        """Wait until there is something to do; False at the end."""
        with self._changed:
            idle = not self._waiting
            while not self._waiting and not self._closed:
                self._changed.wait()
            if not self._waiting:
                return False
            closing = self._closed
        if idle and self.linger and not closing:
            time.sleep(self.linger)  # others may be about to ask as well
        return True

    def _run(self, chosen: list[Errand[Any]]) -> tuple[list[Errand[Any]], list[Errand[Any]]]:
        """Run a call, or translate a batch; those that are finished, and those only begun."""
        first = chosen[0]
        if isinstance(first, Call):
            try:
                first.give(first.function())
            except Exception as error:
                first.fail(error)
            return chosen, []
        texts = [errand for errand in chosen if isinstance(errand, Texts)]
        finished = {errand for errand in texts if not _cut(errand)}
        going = [errand for errand in texts if errand not in finished]
        taken = _in_turn(going, self.together)
        start = time.perf_counter()
        finished |= set(_translate(taken))
        if taken:
            self.on_batch(len(taken), time.perf_counter() - start)
        for errand in going:
            if errand not in finished and errand.complete:
                errand.give(errand.answers())
                finished.add(errand)
        begun = {errand for errand, _, _ in taken} - finished
        return list(finished), list(begun)

    def _leave(self, finished: list[Errand[Any]], begun: list[Errand[Any]], seconds: float) -> None:
        """Take the finished out; those begun go to the end, the others keep their places."""
        later, done = set(begun), set(finished)
        with self._changed:
            others = [e for e in self._waiting if e not in later and e not in done]
            rest = [errand for errand in self._waiting if errand in later]  # none dropped
            self._waiting = deque((*others, *rest))
            self._pace += 0.1 * (seconds / max(1, len(finished)) - self._pace)
        for errand in finished:  # not before its place is free: the next request may come at once
            errand.hand_over()


def _cut(errand: Texts) -> bool:
    """Cut the texts; False if that failed and the asker was told."""
    try:
        errand.cut()
    except Exception as error:
        errand.fail(error)
        return False
    return True


Taken = list[tuple[Texts, int, str]]


def _in_turn(errands: Sequence[Texts], most: int) -> Taken:
    """At most `most` sentences, one of each errand, then a second of each, and so on."""
    taken: Taken = []
    going = [errand for errand in errands if errand.left and not errand.dropped]
    while going:
        for errand in going:
            if len(taken) == most:
                return taken
            taken.append((errand, *errand.left.popleft()))
        going = [errand for errand in going if errand.left]
    return taken


def _translate(taken: Taken) -> list[Texts]:
    """Translate a batch; errands that failed, and whose askers were told.

    If a batch fails, each errand is tried by itself: nobody suffers from another's text.
    """
    if not taken:
        return []
    first = taken[0][0]
    texts = [text for _, _, text in taken]
    manner = first.manner
    try:
        done = first.translator.sentences(texts, manner.settings, manner.wish, manner.prefix)
    except Exception as error:
        errands = list(dict.fromkeys(errand for errand, _, _ in taken))
        if len(errands) == 1:
            first.fail(error)
            return [first]
        alone = [[one for one in taken if one[0] is errand] for errand in errands]
        return [failed for own in alone for failed in _translate(own)]
    for (errand, number, _), sentence in zip(taken, done, strict=True):
        errand.found[number] = sentence
    return []
