"""Batches of a corpus, epoch by epoch, in an order that depends on the seed alone."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import Generic, NamedTuple, TypeVar

AnyBatch = TypeVar("AnyBatch")


class DataCursor(NamedTuple):
    """Position of the next batch: its epoch, and its number within the epoch."""

    epoch: int = 0
    number: int = 0


class EpochBatches(ABC, Generic[AnyBatch]):
    """Batches of a corpus; a subclass says how an epoch is cut and how a batch is made."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self._epoch: tuple[int, list[list[int]]] | None = None  # the last one computed

    @abstractmethod
    def __len__(self) -> int:
        """Return the number of examples."""

    @abstractmethod
    def cut(self, seed: int, epoch: int) -> list[list[int]]:
        """Return the batches of an epoch, as indices of examples."""

    @abstractmethod
    def batch(self, rows: Sequence[int]) -> AnyBatch:
        """Return the examples with these indices as one batch."""

    def epoch(self, epoch: int) -> list[list[int]]:
        """Return the batches of an epoch for this corpus' seed."""
        if self._epoch is None or self._epoch[0] != epoch:
            self._epoch = epoch, self.cut(self.seed, epoch)
        return self._epoch[1]

    def take(self, cursor: DataCursor) -> tuple[AnyBatch, DataCursor]:
        """Return the batch at a cursor, and the cursor after it."""
        rows = self.epoch(cursor.epoch)
        after = DataCursor(cursor.epoch, cursor.number + 1)
        if after.number == len(rows):
            after = DataCursor(cursor.epoch + 1, 0)
        return self.batch(rows[cursor.number]), after

    def every(self) -> Iterator[AnyBatch]:
        """Yield all examples once, in batches, in a fixed order."""
        for rows in self.cut(0, 0):
            yield self.batch(rows)

    def epochs_done(self, cursor: DataCursor) -> float:
        """Return how many epochs are over at a cursor."""
        return cursor.epoch + cursor.number / len(self.epoch(cursor.epoch))
