"""Which asterisks, underscores and tildes of a text are emphasis, by CommonMark's rules."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass
class Delimiters:
    """A run of equal characters that may open or close emphasis.

    start, end          its span; what is left of it shrinks as pairs are found
    can_open, can_close what the characters around it allow
    """

    character: str
    start: int
    end: int
    can_open: bool
    can_close: bool
    length: int = 0

    def __post_init__(self) -> None:
        self.length = self.end - self.start


Pair = tuple[int, int, int, int]
"""Start and end of the opening delimiter, start and end of the closing one."""


def delimiters(text: str, start: int, end: int) -> Delimiters:
    """The run of delimiters at a position, with what it can do there."""
    before, after = text[start - 1 : start] if start else "", text[end : end + 1]
    space_before, space_after = not before.strip(), not after.strip()
    mark_before, mark_after = _is_punctuation(before), _is_punctuation(after)
    left = not space_after and (not mark_after or space_before or mark_before)
    right = not space_before and (not mark_before or space_after or mark_after)
    if text[start] == "_":
        left, right = left and (not right or mark_before), right and (not left or mark_after)
    return Delimiters(text[start], start, end, left, right)


def emphasis_pairs(runs: Sequence[Delimiters]) -> list[Pair]:
    """The pairs of delimiters that are emphasis; any two are nested or apart."""
    pairs: list[Pair] = []
    openers: list[Delimiters] = []
    useless: dict[tuple[str, bool, int], int] = {}  # openers up to here do not fit such a closer
    for run in runs:
        while run.can_close and run.start < run.end:
            key = (run.character, run.can_open, run.length % 3)
            bottom = useless.get(key, 0)
            index = next(
                (n for n in range(len(openers) - 1, bottom - 1, -1) if _fit(openers[n], run)), None
            )
            if index is None:
                useless[key] = len(openers)
                break
            opener = openers[index]
            size = min(2, opener.end - opener.start, run.end - run.start)
            if run.character == "~":
                size = run.end - run.start
            pairs.append((opener.end - size, opener.end, run.start, run.start + size))
            opener.end -= size
            run.start += size
            del openers[index + (opener.start < opener.end) :]
            useless = {name: min(place, len(openers)) for name, place in useless.items()}
        if run.can_open and run.start < run.end:
            openers.append(run)
    return pairs


def _fit(opener: Delimiters, closer: Delimiters) -> bool:
    if opener.character != closer.character:
        return False
    if opener.character == "~":
        return opener.end - opener.start == closer.end - closer.start <= 2
    both = opener.can_close or closer.can_open
    multiple = opener.length % 3 == 0 and closer.length % 3 == 0
    return not both or (opener.length + closer.length) % 3 != 0 or multiple


def _is_punctuation(character: str) -> bool:
    return bool(character) and unicodedata.category(character)[0] in "PS"
