"""Spans of a text projected onto its translation through word links."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from typing import Protocol

Span = tuple[int, int]
MAX_GAP = 4  # unlinked words between linked ones


class LinkedTranslation(Protocol):
    """A translation with its word links."""

    @property
    def text(self) -> str: ...
    @property
    def source_words(self) -> Sequence[str]: ...
    @property
    def words(self) -> Sequence[str]: ...
    @property
    def alignment(self) -> Sequence[tuple[int, int]]: ...


class SpanProjection:
    """The words of a text and of its translation, their spans and their links."""

    def __init__(self, source: str, translation: LinkedTranslation) -> None:
        self.length = len(source)
        self.text = translation.text
        self.source_words, self.target_words = translation.source_words, translation.words
        self.source_spans = word_spans(source, self.source_words)
        self.target_spans = word_spans(translation.text, self.target_words)
        self.links: dict[int, list[int]] = {}  # target words of a source word
        self.back_links: dict[int, list[int]] = {}
        for source_word, target_word in translation.alignment:
            self.links.setdefault(source_word, []).append(target_word)
            self.back_links.setdefault(target_word, []).append(source_word)
        self._starts = [start for start, _ in self.source_spans]
        self._ends = [end for _, end in self.source_spans]
        self._target_ends = [0, *(end for _, end in self.target_spans)]
        self._targets: dict[tuple[int, int, bool], Span] = {}
        self._common: dict[tuple[int, int], tuple[int, int]] = {}

    def target(self, start: int, end: int, small: bool = False) -> Span:
        """The target span of a source span.

        small  whether it becomes empty rather than grow from a part of a word to the whole word
        """
        if start == end:
            return (self._after(start),) * 2
        key = start, end, small
        if key not in self._targets:  # elements may be inside each other, around the same words
            self._targets[key] = self._target(*key)
        return self._targets[key]

    def _target(self, start: int, end: int, small: bool) -> Span:
        low, high = bisect_right(self._ends, start), bisect_left(self._starts, end)
        inside = range(low, max(low, high))
        linked = sorted({word for n in inside for word in self.links.get(n, ())})
        if not linked:
            return self._proportional(start), self._proportional(end)
        runs = _runs(linked, lambda word: all(n in inside for n in self.back_links.get(word, ())))
        longest = max(runs, key=lambda run: run[1] - run[0])
        return self._run_span(start, end, inside, longest, small)

    def _run_span(
        self, start: int, end: int, inside: range, run: tuple[int, int], small: bool
    ) -> Span:
        """The span of a run of words; of a word that begins or ends outside, its part only.

        That part is known if the translation has the same letters before it, or after it.
        """
        first, last = self.target_spans[run[0]][0], self.target_spans[run[1]][1]
        begin, stop, known = first, last, True
        before = start - self.source_spans[inside[0]][0]
        if before > 0:
            known = self._same_letters(inside[0], run[0])[0] >= before
            begin += before if known else 0
        behind = self.source_spans[inside[-1]][1] - end
        if behind > 0:
            same = self._same_letters(inside[-1], run[1])[1] >= behind
            stop -= behind if same else 0
            known &= same
        if begin > stop or (small and not known):
            return (last, last) if small else (first, last)
        return begin, stop

    def _after(self, position: int) -> int:
        """The position after the translation of the last word before a source position."""
        number = bisect_right(self._ends, position) - 1
        if number + 1 < len(self._starts) and self._starts[number + 1] < position:
            return self._within(number + 1, position)
        if number < 0:
            return 0
        if number + 1 == len(self._starts):
            return len(self.text)
        linked = self.links.get(number)
        return self.target_spans[max(linked)][1] if linked else self._proportional(position)

    def _within(self, number: int, position: int) -> int:
        """The position inside of a word's translation if it has the same letters, else after it."""
        linked = self.links.get(number)
        if not linked:
            return self._proportional(position)
        start, end = self.target_spans[max(linked)]
        before = position - self._starts[number]
        return start + before if self._same_letters(number, max(linked))[0] >= before else end

    def _same_letters(self, source_word: int, target_word: int) -> tuple[int, int]:
        """How many letters two linked words have in common, at the start and at the end."""
        if target_word not in self.links.get(source_word, ()):
            return 0, 0
        key = source_word, target_word
        if key not in self._common:
            a, b = self.source_words[source_word], self.target_words[target_word]
            self._common[key] = _common_prefix(a, b), _common_prefix(a[::-1], b[::-1])
        return self._common[key]

    def _proportional(self, position: int) -> int:
        """The word end that is as far into the translation; used where there are no links."""
        aim = position / max(1, self.length) * len(self.text)
        number = bisect_left(self._target_ends, aim)
        near = self._target_ends[max(0, number - 1) : number + 1]
        return min(near, key=lambda end: abs(end - aim))


def _common_prefix(a: str, b: str) -> int:
    """The number of letters that two words begin with alike."""
    pairs = enumerate(zip(a, b, strict=False))
    return next((n for n, (x, y) in pairs if x != y), min(len(a), len(b)))


def _runs(numbers: Sequence[int], free: Callable[[int], bool]) -> list[tuple[int, int]]:
    """First and last of each run of words; one word may be missing, or a few that are free.

    >>> _runs([2, 3, 5, 9, 14], lambda word: word < 9)
    [(2, 9), (14, 14)]
    """
    runs = [(numbers[0], numbers[0])]
    for number in numbers[1:]:
        first, last = runs[-1]
        missing = range(last + 1, number)
        if len(missing) <= 1 or (len(missing) <= MAX_GAP and all(map(free, missing))):
            runs[-1] = first, number
        else:
            runs.append((number, number))
    return runs


def word_spans(text: str, words: Sequence[str]) -> list[Span]:
    """The spans of words that follow each other in a text; a word that is not in it is empty."""
    spans, position = [], 0
    for word in words:
        index = text.find(word, position)
        start, length = (position, 0) if index < 0 else (index, len(word))
        position = start + length
        spans.append((start, position))
    return spans
