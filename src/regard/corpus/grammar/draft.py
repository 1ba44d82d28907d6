"""A sentence in the making: the dice, the node numbers, and the annotations collected so far."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, TypeVar

from regard.corpus.grammar.entry import Gender
from regard.corpus.grammar.pair import Split

T = TypeVar("T")


class Reference(NamedTuple):
    """A coreference by nodes; see `pair.Coreference`."""

    pronoun: int
    antecedent: int
    other: int
    cue: int
    gender: Gender


class Reading(NamedTuple):
    """A word sense by nodes; see `pair.Sense`."""

    word: int
    lemma: str
    sense: str
    cue: int


class Cell(NamedTuple):
    """What a coreference is to be like: who is the antecedent, and the subject's gender."""

    subject_is_antecedent: bool
    subject_gender: Gender


CELLS = tuple(Cell(antecedent, gender) for antecedent in (True, False) for gender in ("m", "f"))


@dataclass(slots=True)
class Draft:
    """Dice and notebook for one sentence."""

    random: Callable[[], float]
    split: Split
    cells: Callable[[int], Cell]
    """The cell of this sentence's n-th coreference; kept balanced over sentences."""
    rich: float = 1.0
    """How readily phrases are expanded; more than 1 in long sentences."""
    nodes: int = 0
    references: list[Reference] = field(default_factory=list)
    readings: list[Reading] = field(default_factory=list)
    adjectives: list[tuple[int, int]] = field(default_factory=list)
    phenomena: set[str] = field(default_factory=set)

    def node(self) -> int:
        """A new node's number."""
        self.nodes += 1
        return self.nodes

    def chance(self, probability: float) -> bool:
        """True with this probability."""
        return self.random() < probability

    def pick(self, choices: Sequence[T]) -> T:
        """One of them, each as likely."""
        return choices[int(self.random() * len(choices))]


class Balance:
    """Deals the four cells of coreference equally often, in a shuffled order."""

    def __init__(self, random: Callable[[], float]) -> None:
        self._random = random
        self._dealt: list[Cell] = []
        self._used = 0

    def cell(self, ahead: int) -> Cell:
        """The cell that is `ahead` places after those used up."""
        while len(self._dealt) <= self._used + ahead:
            block = list(CELLS)
            while block:
                self._dealt.append(block.pop(int(self._random() * len(block))))
        return self._dealt[self._used + ahead]

    def use(self, count: int) -> None:
        """These many cells are in sentences now."""
        self._used += count
