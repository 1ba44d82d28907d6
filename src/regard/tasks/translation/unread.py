"""Sentences whose words, links and confidence are found when they are first read.

Who only wants the text does not pay for them. Whoever reads those of one sentence has them found
for up to `READ_TOGETHER` sentences of its batch, which CTranslate2 runs again together:

    results of a search  ──▶  UnreadSentence, with its text  ──first read──▶  words, links, …
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from threading import RLock
from typing import Any

from regard.tasks.translation.translation import Sentence

READ_TOGETHER = 512
FIELDS = ("source_words", "words", "alignment", "confidence", "flags", "hypothesis")

ReadRows = Callable[[Sequence[int]], Mapping[int, Mapping[str, Any]]]
"""From rows of a batch to the fields of their sentences."""


class UnreadBatch:
    """Sentences by their rows, and the function that finds the other fields of some of them."""

    def __init__(self, sentences: Mapping[int, Sentence], read_rows: ReadRows) -> None:
        self._plain, self._read_rows = sentences, read_rows
        self._order = list(sentences)
        self._places = {row: place for place, row in enumerate(self._order)}
        self._read: dict[int, Mapping[str, Any]] = {}
        self._lock = RLock()

    def sentences(self) -> dict[int, Sentence]:
        """The sentences of all rows, without the fields that are found later."""
        return {row: UnreadSentence.at(self, row, plain) for row, plain in self._plain.items()}

    def fields(self, row: int) -> Mapping[str, Any]:
        """The other fields of a row; rows beside it are read as well."""
        with self._lock:
            if row not in self._read:
                first = self._places[row] // READ_TOGETHER * READ_TOGETHER
                self.read(self._order[first : first + READ_TOGETHER])
            return self._read[row]

    def read(self, rows: Iterable[int]) -> None:
        """Find the other fields of some rows together."""
        with self._lock:
            if missing := [row for row in rows if row not in self._read]:
                self._read.update(self._read_rows(missing))


class UnreadSentence(Sentence):
    """A sentence of a batch; a changed one (`dataclasses.replace`) is an ordinary `Sentence`."""

    def __new__(cls, *args: Any, **fields: Any) -> Sentence:  # type: ignore[misc]
        """As `replace` calls it, with all fields."""
        return Sentence(*args, **fields)

    @staticmethod
    def at(batch: UnreadBatch, row: int, plain: Sentence) -> Sentence:
        """The sentence of a row of a batch, with the fields that are known."""
        made: Sentence = object.__new__(UnreadSentence)
        known = {name: value for name, value in vars(plain).items() if name not in FIELDS}
        vars(made).update(known, _batch=batch, _row=row)
        return made

    def __reduce__(self) -> Any:
        """A copy in another process has all fields."""
        return Sentence, tuple(getattr(self, name) for name in self.__dataclass_fields__)


class _OnFirstRead:
    """A field that is found, with all others about words, when it is first read."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __get__(self, sentence: Any, _: type) -> Any:
        if sentence is None:
            return self
        own = vars(sentence)
        own.update(own["_batch"].fields(own["_row"]))
        return own[self._name]


for _name in FIELDS:
    setattr(UnreadSentence, _name, _OnFirstRead(_name))


def read_together(sentences: Iterable[Sentence]) -> None:
    """Find the words of these sentences at once, rather than with those beside them."""
    rows: dict[UnreadBatch, list[int]] = {}
    for sentence in sentences:
        if isinstance(sentence, UnreadSentence):
            rows.setdefault(vars(sentence)["_batch"], []).append(vars(sentence)["_row"])
    for batch, own in rows.items():
        batch.read(own)
