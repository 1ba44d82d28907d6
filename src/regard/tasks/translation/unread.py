"""Sentences whose words, links and confidence are found when they are first read.

Who only wants the text does not pay for them. Whoever reads those of one sentence has CTranslate2
run the translations of up to `READ_TOGETHER` sentences again, in batches:

    results of a search  ──▶  UnreadSentence, with its text  ──first read──▶  words, links, …
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from threading import RLock
from typing import TYPE_CHECKING, Any

from regard.tasks.translation.translation import Sentence

if TYPE_CHECKING:
    from regard.config import SearchOptions
    from regard.decoding import Hypothesis
    from regard.decoding.ctranslate2_engine import CTranslate2Engine
    from regard.tasks.translation.translation_model import TranslationModel
    from regard.text.segments import Segment

READ_TOGETHER = 512
FIELDS = ("source_words", "words", "alignment", "confidence", "flags", "hypothesis")


class UnreadBatch:
    """Segments and the results of their search, to be explained by the engine that found them."""

    def __init__(
        self,
        model: TranslationModel,
        engine: CTranslate2Engine,
        segments: Sequence[Segment],
        found: Mapping[int, Sequence[Hypothesis]],
        settings: SearchOptions,
    ) -> None:
        self._model, self._engine, self._segments = model, engine, segments
        self._settings = settings
        self._found = found  # hypotheses, best first
        self._order = list(found)
        self._places = {row: place for place, row in enumerate(self._order)}
        self._read: dict[int, dict[str, Any]] = {}
        self._lock = RLock()

    def sentences(self) -> dict[int, Sentence]:
        """The translations of all rows, without words."""
        return {row: UnreadSentence.at(self, row) for row in self._order}

    def plain(self, row: int) -> Sentence:
        """The translation of a row, without words."""
        hypotheses = self._found[row]
        return self._model.sentence(self._segments[row], hypotheses[0].tokens, hypotheses)

    def fields(self, row: int) -> dict[str, Any]:
        """The fields of a row that are about its words; rows beside it are read as well."""
        with self._lock:
            if row not in self._read:
                first = self._places[row] // READ_TOGETHER * READ_TOGETHER
                self.read(self._order[first : first + READ_TOGETHER])
            return self._read[row]

    def read(self, rows: Iterable[int]) -> None:
        """Find the words, links and confidence of some rows, in batches."""
        with self._lock:
            missing = [row for row in rows if row not in self._read]
            ids = [self._segments[row].ids for row in missing]
            best_ones = [self._found[row][0] for row in missing]
            explained = self._engine.explain(ids, best_ones, self._settings)
            for row, (best, attention) in zip(missing, explained, strict=True):
                explanation = self._model.engine_explanation(attention)
                self._read[row] = {"hypothesis": best} | self._model.word_fields(
                    self._segments[row], best.tokens, [best], explanation
                )


class UnreadSentence(Sentence):
    """A sentence of a batch; a changed one (`dataclasses.replace`) is an ordinary `Sentence`."""

    def __new__(cls, *args: Any, **fields: Any) -> Sentence:  # type: ignore[misc]
        """As `replace` calls it, with all fields."""
        return Sentence(*args, **fields)

    @staticmethod
    def at(batch: UnreadBatch, row: int) -> Sentence:
        """The sentence of a row of a batch."""
        made: Sentence = object.__new__(UnreadSentence)
        own = {k: v for k, v in vars(batch.plain(row)).items() if k not in FIELDS}
        vars(made).update(own, _batch=batch, _row=row)
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
