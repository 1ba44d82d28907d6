"""Sentences whose words, links and confidence are computed when they are first read.

Who only wants the text does not pay for them. Whoever reads those of one sentence has them computed
for up to `COMPUTED_TOGETHER` sentences of its batch:

    results of a search  ──▶  LazySentence, with its text  ──first read──▶  words, links, …
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from threading import RLock
from typing import Any

from regard.tasks.translation.translation import Sentence

COMPUTED_TOGETHER = 512
FIELDS = ("source_words", "words", "alignment", "confidence", "flags", "hypothesis")

ComputeFields = Callable[[Sequence[int]], Mapping[int, Mapping[str, Any]]]
"""From rows of a batch to the fields of their sentences."""


class LazyBatch:
    """Sentences by their rows, and the function that computes the other fields of some of them."""

    def __init__(self, sentences: Mapping[int, Sentence], compute_fields: ComputeFields) -> None:
        self._plain, self._compute_fields = sentences, compute_fields
        self._order = list(sentences)
        self._places = {row: place for place, row in enumerate(self._order)}
        self._computed: dict[int, Mapping[str, Any]] = {}
        self._lock = RLock()

    def sentences(self) -> dict[int, Sentence]:
        """The sentences of all rows, without the fields that are computed later."""
        return {row: LazySentence.at(self, row, plain) for row, plain in self._plain.items()}

    def fields(self, row: int) -> Mapping[str, Any]:
        """The other fields of a row; those of rows beside it are computed as well."""
        with self._lock:
            if row not in self._computed:
                first = self._places[row] // COMPUTED_TOGETHER * COMPUTED_TOGETHER
                self.compute(self._order[first : first + COMPUTED_TOGETHER])
            return self._computed[row]

    def compute(self, rows: Iterable[int]) -> None:
        """Compute the other fields of some rows together."""
        with self._lock:
            if missing := [row for row in rows if row not in self._computed]:
                self._computed.update(self._compute_fields(missing))


class LazySentence(Sentence):
    """A sentence of a batch; a changed one (`dataclasses.replace`) is an ordinary `Sentence`."""

    def __new__(cls, *args: Any, **fields: Any) -> Sentence:  # type: ignore[misc]
        """As `replace` calls it, with all fields."""
        return Sentence(*args, **fields)

    @staticmethod
    def at(batch: LazyBatch, row: int, plain: Sentence) -> Sentence:
        """The sentence of a row of a batch, with the fields that are known."""
        made: Sentence = object.__new__(LazySentence)
        own = vars(made)
        own.update(vars(plain), _batch=batch, _row=row)
        for name in FIELDS:
            del own[name]
        return made

    def annotated(self, **notes: Any) -> Sentence:
        made: Sentence = object.__new__(LazySentence)
        vars(made).update(vars(self), **notes)
        return made

    def __reduce__(self) -> Any:
        """A copy in another process has all fields."""
        return Sentence, tuple(getattr(self, name) for name in self.__dataclass_fields__)


class _OnFirstRead:
    """A field that is computed, with all others about words, when it is first read."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __get__(self, sentence: Any, _: type) -> Any:
        if sentence is None:
            return self
        own = vars(sentence)
        own.update(own["_batch"].fields(own["_row"]))
        return own[self._name]


for _name in FIELDS:
    setattr(LazySentence, _name, _OnFirstRead(_name))


def compute_together(sentences: Iterable[Sentence]) -> None:
    """Compute the words of these sentences at once, rather than with those beside them."""
    rows: dict[LazyBatch, list[int]] = {}
    for sentence in sentences:
        if isinstance(sentence, LazySentence):
            rows.setdefault(vars(sentence)["_batch"], []).append(vars(sentence)["_row"])
    for batch, own in rows.items():
        batch.compute(own)
