"""A derivation: its random choices, nodes and annotations, and its words in one language.

Every word is marked with the node it realizes: nodes are multiples of 8, and a mark is node + role.
Role 0 is the word with the node's meaning; the others are articles, auxiliaries, particles, measure
words. Words of two languages with an equal mark are linked: surely for role 0, possibly for the
others. A target word whose mark the source lacks (a measure word) is linked possibly to role 0 of
its node.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, TypeVar

from regard.corpus.grammar.entries import Gender
from regard.corpus.grammar.pair import Coreference, GoldLink, SenseAnnotation
from regard.corpus.splits import Split

T = TypeVar("T")
ENGLISH, FRENCH, CHINESE = range(3)
ROLES = 8
VOWELS = frozenset("aeiouhâàéèêëîïôûœAEIOUHÉÈ")
"""First letters before which French elides; every h of this lexicon is mute."""
ELIDED = {"le": "l'", "la": "l'", "ne": "n'", "que": "qu'", "de": "d'", "je": "j'", "ce": "cet"}
CONTRACTED = {
    ("de", "le"): "du",
    ("de", "les"): "des",
    ("à", "le"): "au",
    ("à", "les"): "aux",
}


class CoreferenceCase(NamedTuple):
    """One of the four cases of coreference, which are balanced."""

    subject_is_antecedent: bool
    subject_gender: Gender


CASES = tuple(CoreferenceCase(first, gender) for first in (True, False) for gender in ("m", "f"))


@dataclass(slots=True)
class Derivation:
    """The state of one sentence's derivation."""

    random: Callable[[], float]
    split: Split
    case: Callable[[int], CoreferenceCase]
    """The case of this sentence's n-th coreference."""
    expansion: float = 1.0
    """Factor on the probability of expanding a phrase; more than 1 in long sentences."""
    same_gender: float = 0.0
    """Probability that both nouns of a coreference have the same gender."""
    rare: float = 1.0
    """Factor on the odds of rare constructions."""
    last_node: int = 0
    coreferences: list[Coreference] = field(default_factory=list)
    """With nodes in place of positions, as `senses` and `adjectives`."""
    senses: list[SenseAnnotation] = field(default_factory=list)
    adjectives: list[tuple[int, int]] = field(default_factory=list)
    phenomena: set[str] = field(default_factory=set)

    def node(self) -> int:
        """A new node number."""
        self.last_node += ROLES
        return self.last_node

    def chance(self, probability: float) -> bool:
        """True with this probability."""
        return self.random() < probability

    def rare_chance(self, probability: float) -> bool:
        """True with this probability, its odds p / (1 − p) multiplied by `rare`."""
        return self.chance(raised(probability, self.rare))

    def negated(self, probability: float) -> bool:
        """True with this probability, annotated as a negation."""
        negated = self.chance(probability)
        if negated:
            self.phenomena.add("negation")
        return negated

    def pick(self, choices: Sequence[T]) -> T:
        """One of the choices, uniformly."""
        return choices[int(self.random() * len(choices))]


def raised(probability: float, factor: float) -> float:
    """The probability whose odds p / (1 − p) are multiplied by the factor.

    >>> raised(0.25, 3.0)
    0.5
    """
    if factor == 1:
        return probability
    odds = factor * probability
    return odds / (odds + 1 - probability)


class CaseBalance:
    """Deals the four cases of coreference equally often, in random order."""

    def __init__(self, random: Callable[[], float]) -> None:
        self._random = random
        self._dealt: list[CoreferenceCase] = []
        self._num_used = 0

    def case(self, ahead: int) -> CoreferenceCase:
        """The case at index `ahead` after those used."""
        while len(self._dealt) <= self._num_used + ahead:
            block = list(CASES)
            while block:
                self._dealt.append(block.pop(int(self._random() * len(block))))
        return self._dealt[self._num_used + ahead]

    def use(self, count: int) -> None:
        """Mark the next `count` cases as used."""
        self._num_used += count


class Realization:
    """Words of one language and their marks, in order."""

    __slots__ = ("extra_marks", "language", "marks", "words")

    def __init__(self, language: int) -> None:
        self.language = language
        """ENGLISH, FRENCH or CHINESE."""
        self.words: list[str] = []
        self.marks: list[int] = []
        self.extra_marks: list[tuple[int, int]] = []
        """(position, mark): second marks of contracted words such as `du`."""

    def add(self, word: str, node: int, role: int = 0) -> None:
        """Append a word of a node."""
        self.words.append(word)
        self.marks.append(node + role)

    def add_form(self, forms: tuple[str, str, str], node: int, role: int = 0) -> None:
        """Append the form of this language, if it has one."""
        word = forms[self.language]
        if word:
            self.words.append(word)
            self.marks.append(node + role)

    def add_all(self, words: Sequence[str], node: int) -> None:
        """Append words that have a node's meaning together."""
        self.words += words
        self.marks += [node] * len(words)

    def mark_last(self, node: int, role: int) -> None:
        """Give the last word a second mark."""
        self.extra_marks.append((len(self.words) - 1, node + role))

    def position(self, node: int) -> int:
        """The position of the node's first word of role 0."""
        return self.marks.index(node)

    def capitalize(self) -> None:
        """Begin with a capital letter."""
        first = self.words[0]
        self.words[0] = first[0].upper() + first[1:]


def links(source: Realization, target: Realization) -> tuple[GoldLink, ...]:
    """The gold links between two realizations of one derivation, ordered by target position."""
    positions: dict[int, list[int]] = {}
    for position, mark in enumerate(source.marks):
        positions.setdefault(mark, []).append(position)
    marked = list(enumerate(target.marks))
    if target.extra_marks:
        marked = sorted(marked + target.extra_marks)
    gold: list[GoldLink] = []
    for position, mark in marked:
        role = mark % ROLES
        for source_position in positions.get(mark) or positions.get(mark - role, []):
            gold.append(GoldLink(source_position, position, role == 0))
    return tuple(gold)


def elide(out: Realization) -> Realization:
    """Apply French elision and contraction: `le animal` ▶ `l'animal`, `de le` ▶ `du`.

    >>> out = Realization(FRENCH)
    >>> out.add_all("je ai vu le animal près de le pont".split(), 0)
    >>> elide(out).words
    ["j'", 'ai', 'vu', "l'", 'animal', 'près', 'du', 'pont']
    """
    elided = Realization(FRENCH)
    words, marks = out.words, out.marks
    last = len(words) - 1
    skip = False
    for position, word in enumerate(words):
        if skip:
            skip = False
            continue
        if position < last and (word in ELIDED or word == "à"):
            following = words[position + 1]
            if following[0] in VOWELS:
                word = ELIDED.get(word, word)
            elif (word, following) in CONTRACTED and not (
                following == "le" and words[position + 2][0] in VOWELS
            ):
                word = CONTRACTED[word, following]
                elided.extra_marks.append((len(elided.words), marks[position + 1]))
                skip = True
        elided.words.append(word)
        elided.marks.append(marks[position])
    return elided
