"""Where words are in a text and in its translation, and which belong together."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from typing import Protocol

BRIDGED = 4  # unlinked words between linked ones


class Linked(Protocol):
    """A translation with its word links."""

    @property
    def text(self) -> str: ...
    @property
    def source_words(self) -> Sequence[str]: ...
    @property
    def words(self) -> Sequence[str]: ...
    @property
    def alignment(self) -> Sequence[tuple[int, int]]: ...


class Places:
    """Where the words of a text and of its translation are, and which belong together."""

    def __init__(self, source: str, translation: Linked) -> None:
        self.length = len(source)
        self.text = translation.text
        self.source_words, self.target_words = translation.source_words, translation.words
        self.source = spans(source, self.source_words)
        self.words = spans(translation.text, self.target_words)
        self.links: dict[int, list[int]] = {}
        self.back: dict[int, list[int]] = {}
        for one, other in translation.alignment:
            self.links.setdefault(one, []).append(other)
            self.back.setdefault(other, []).append(one)
        self._starts = [start for start, _ in self.source]
        self._ends = [end for _, end in self.source]
        self._target_ends = [0, *(end for _, end in self.words)]
        self._targets: dict[tuple[int, int, bool], tuple[int, int]] = {}
        self._common: dict[tuple[int, int], tuple[int, int]] = {}

    def target(self, start: int, end: int, small: bool = False) -> tuple[int, int]:
        """The place in the translation of a place in the source.

        small  whether it rather has no length than that of a word of which it was a part
        """
        if start == end:
            return (self._after(start),) * 2
        key = start, end, small
        if key not in self._targets:  # elements may be inside each other, around the same words
            self._targets[key] = self._target(*key)
        return self._targets[key]

    def _target(self, start: int, end: int, small: bool) -> tuple[int, int]:
        low, high = bisect_right(self._ends, start), bisect_left(self._starts, end)
        inside = range(low, max(low, high))
        linked = sorted({word for n in inside for word in self.links.get(n, ())})
        if not linked:
            return self._share(start), self._share(end)
        runs = _runs(linked, lambda word: all(n in inside for n in self.back.get(word, ())))
        first, last = max(runs, key=lambda run: run[1] - run[0])
        return self._part(start, end, inside, (first, last), small)

    def _part(
        self, start: int, end: int, inside: range, run: tuple[int, int], small: bool
    ) -> tuple[int, int]:
        """The place of a run of words; of a word that begins or ends outside, its own part only.

        That part can be told if the translation has the same letters before, or behind it.
        """
        first, last = self.words[run[0]][0], self.words[run[1]][1]
        begin, stop, known = first, last, True
        before = start - self.source[inside[0]][0]
        if before > 0:
            known = self._same(inside[0], run[0])[0] >= before
            begin += before if known else 0
        behind = self.source[inside[-1]][1] - end
        if behind > 0:
            same = self._same(inside[-1], run[1])[1] >= behind
            stop -= behind if same else 0
            known &= same
        if begin > stop or (small and not known):
            return (last, last) if small else (first, last)
        return begin, stop

    def _after(self, place: int) -> int:
        """Behind what is linked to the last word before a place."""
        number = bisect_right(self._ends, place) - 1
        if number + 1 < len(self.source) and self._starts[number + 1] < place:  # within a word
            return self._within(number + 1, place)
        if number < 0:
            return 0
        if number + 1 == len(self.source):
            return len(self.text)
        linked = self.links.get(number)
        return self.words[max(linked)][1] if linked else self._share(place)

    def _within(self, number: int, place: int) -> int:
        """The place inside of a word's translation, if it has the same letters, or behind it."""
        linked = self.links.get(number)
        if not linked:
            return self._share(place)
        start, end = self.words[max(linked)]
        before = place - self._starts[number]
        return start + before if self._same(number, max(linked))[0] >= before else end

    def _same(self, one: int, other: int) -> tuple[int, int]:
        """How many letters two words that are linked have in common, at the start and the end."""
        if other not in self.links.get(one, ()):
            return 0, 0
        if (one, other) not in self._common:
            mine, its = self.source_words[one], self.target_words[other]
            self._common[one, other] = _common(mine, its), _common(mine[::-1], its[::-1])
        return self._common[one, other]

    def _share(self, place: int) -> int:
        """The end of the word that is as far into the translation, where no link tells more."""
        aim = place / max(1, self.length) * len(self.text)
        number = bisect_left(self._target_ends, aim)
        near = self._target_ends[max(0, number - 1) : number + 1]
        return min(near, key=lambda end: abs(end - aim))


def _common(one: str, other: str) -> int:
    """How many letters two words begin with alike."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((n for n, (a, b) in pairs if a != b), min(len(one), len(other)))


def _runs(numbers: Sequence[int], free: Callable[[int], bool]) -> list[tuple[int, int]]:
    """First and last of each run of words; one may be missing, or a few that are free.

    >>> _runs([2, 3, 5, 9, 14], lambda word: word < 9)
    [(2, 9), (14, 14)]
    """
    runs = [(numbers[0], numbers[0])]
    for number in numbers[1:]:
        first, last = runs[-1]
        missing = range(last + 1, number)
        if len(missing) <= 1 or (len(missing) <= BRIDGED and all(map(free, missing))):
            runs[-1] = first, number
        else:
            runs.append((number, number))
    return runs


def spans(text: str, words: Sequence[str]) -> list[tuple[int, int]]:
    """The places of words, one after another."""
    spans, at = [], 0
    for word in words:
        found = text.find(word, at)
        start = at if found < 0 else found
        at = start if found < 0 else start + len(word)
        spans.append((start, at))
    return spans
