"""Where words are in a text and in its translation, and which belong together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol


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
        self.source = spans(source, translation.source_words)
        self.words = spans(translation.text, translation.words)
        self.links: dict[int, list[int]] = {}
        for one, other in translation.alignment:
            self.links.setdefault(one, []).append(other)

    def target(self, start: int, end: int) -> tuple[int, int]:
        """The place in the translation of a place in the source."""
        if start == end:
            return (self._after(start),) * 2
        inside = [n for n, (a, b) in enumerate(self.source) if a < end and b > start]
        linked = sorted({word for n in inside for word in self.links.get(n, ())})
        if not linked:
            return self._share(start), self._share(end)
        first, last = _longest_run(linked)
        return self.words[first][0], self.words[last][1]

    def _after(self, place: int) -> int:
        """Behind what is linked to the last word before a place."""
        before = [n for n, (_, b) in enumerate(self.source) if b <= place]
        if not before:
            return 0
        linked = self.links.get(before[-1])
        return self.words[max(linked)][1] if linked else self._share(place)

    def _share(self, place: int) -> int:
        """The end of the word that is as far into the translation, where no link tells more."""
        aim = place / max(1, self.length) * len(self.text)
        ends = (0, *(end for _, end in self.words))
        return min(ends, key=lambda end: abs(end - aim))


def _longest_run(numbers: Sequence[int]) -> tuple[int, int]:
    """First and last of the longest run of words, in which one may be missing.

    >>> _longest_run([2, 3, 5, 9])
    (2, 5)
    """
    runs = [[numbers[0], numbers[0]]]
    for number in numbers[1:]:
        if number - runs[-1][1] <= 2:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    first, last = max(runs, key=lambda run: run[1] - run[0])
    return first, last


def spans(text: str, words: Sequence[str]) -> list[tuple[int, int]]:
    """The places of words, one after another."""
    spans, at = [], 0
    for word in words:
        found = text.find(word, at)
        start = at if found < 0 else found
        at = start if found < 0 else start + len(word)
        spans.append((start, at))
    return spans
