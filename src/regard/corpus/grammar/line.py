"""A sentence being said in one language: its words, and a mark on each that says what it is for.

Every node of a derivation has a number, and a mark is `8 · node + role`. Role 0 is the word that
carries the node's meaning; the others are articles, auxiliaries, particles, measure words. Words of
two languages with an equal mark are linked: surely for role 0, possibly for the others. A target
word whose mark the source lacks (a measure word) is linked possibly to role 0 of its node.
"""

from __future__ import annotations

from collections.abc import Sequence

from regard.corpus.grammar.pair import Link

ROLES = 8


class Line:
    """Words and their marks, in the order they are said."""

    __slots__ = ("also", "marks", "words")

    def __init__(self) -> None:
        self.words: list[str] = []
        self.marks: list[int] = []
        self.also: list[tuple[int, int]] = []
        """(position, mark): second marks of words that are two in one, such as `du`."""

    def add(self, word: str, node: int, role: int = 0) -> None:
        """Say a word for a node."""
        self.words.append(word)
        self.marks.append(ROLES * node + role)

    def add_all(self, words: Sequence[str], node: int) -> None:
        """Say words that carry a node's meaning together."""
        for word in words:
            self.words.append(word)
            self.marks.append(ROLES * node)

    def also_for(self, node: int, role: int) -> None:
        """The last word stands for this, too."""
        self.also.append((len(self.words) - 1, ROLES * node + role))

    def position(self, node: int) -> int:
        """Where the node's (first) meaning word stands."""
        return self.marks.index(ROLES * node)

    def capitalise(self) -> None:
        """Begin with a capital letter."""
        first = self.words[0]
        self.words[0] = first[0].upper() + first[1:]


def links(source: Line, target: Line) -> tuple[Link, ...]:
    """The gold links between two lines of one derivation, in the order of the target."""
    where: dict[int, list[int]] = {}
    for position, mark in enumerate(source.marks):
        where.setdefault(mark, []).append(position)
    marked = list(enumerate(target.marks))
    if target.also:
        marked = sorted(marked + target.also)
    found: list[Link] = []
    for position, mark in marked:
        role = mark % ROLES
        linked = where.get(mark)
        if linked is None:
            linked, role = where.get(mark - role, []), 1
        for other in linked:
            found.append(Link(other, position, role == 0))
    return tuple(found)
