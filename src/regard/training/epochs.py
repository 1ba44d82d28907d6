"""A corpus in batches, epoch by epoch, in an order that depends on the seed alone."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import Generic, TypeVar

from regard.training.place import Place

Made = TypeVar("Made")
"""What a batch is."""


class Epochs(ABC, Generic[Made]):
    """Batches of a corpus; those who inherit say how they are cut and what they are made of."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self._epoch: tuple[int, list[list[int]]] | None = None  # the last one that was asked for

    @abstractmethod
    def __len__(self) -> int:
        """How many examples there are."""

    @abstractmethod
    def cut(self, seed: int, epoch: int) -> list[list[int]]:
        """The batches of an epoch, as places in the corpus, for any seed."""

    @abstractmethod
    def batch(self, rows: Sequence[int]) -> Made:
        """The examples at `rows`."""

    def epoch(self, epoch: int) -> list[list[int]]:
        """The batches of an epoch, as places in the corpus."""
        if self._epoch is None or self._epoch[0] != epoch:
            self._epoch = epoch, self.cut(self.seed, epoch)
        return self._epoch[1]

    def take(self, place: Place) -> tuple[Made, Place]:
        """The batch at a place, and the place after it."""
        rows = self.epoch(place.epoch)
        after = Place(place.epoch, place.number + 1)
        if after.number == len(rows):
            after = Place(place.epoch + 1, 0)
        return self.batch(rows[place.number]), after

    def every(self) -> Iterator[Made]:
        """All examples once, in batches, in a fixed order."""
        for rows in self.cut(0, 0):
            yield self.batch(rows)

    def passed(self, place: Place) -> float:
        """How many epochs are over at a place."""
        return place.epoch + place.number / len(self.epoch(place.epoch))
