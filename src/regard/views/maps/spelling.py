"""Tokens and what they spell: which tokens make up a word, and the text of them all.

▁ stands for a space, <0xC3> for a byte, <unk> for something unknown; </s> and the like spell
nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from difflib import SequenceMatcher

Groups = tuple[tuple[int, ...], ...]
"""For each word, the numbers of its tokens."""

_SPECIAL = re.compile(r"</?s>|<pad>|\[MASK\]")
_BYTE = re.compile(r"<0x[0-9A-Fa-f]{2}>")
_BYTES = re.compile(rf"(?:{_BYTE.pattern})+")

WINDOW, SURE = 256, 12  # characters that are compared at a time; of a run that is no accident

UNKNOWN = "⁇"
"""How an unknown token reads in a text."""


def word_groups(tokens: Sequence[str], words: Sequence[str]) -> Groups:
    """For each word the tokens that spell it; special tokens spell none.

    >>> word_groups(["▁L", "'", "ani", "mal", "</s>"], ["L'", "animal"])
    ((0, 1), (2, 3))
    """
    plain = [number for number, token in enumerate(tokens) if not _is_special(token)]
    if len(plain) == len(words) and all(
        tokens[number] in ("<unk>", word, f"▁{word}")
        for number, word in zip(plain, words, strict=True)
    ):
        return tuple((number,) for number in plain)
    tokens_of, spelling = _characters(tokens)
    word_of = [number for number, word in enumerate(words) for _ in "".join(word.split())]
    written = "".join("".join(word.split()) for word in words)
    found: list[set[int]] = [set() for _ in words]
    for same, start, end, first, last in _matched(spelling, written):
        for place in range(first, last):
            # they differ where a token is unknown: it then spells what stands in its place
            spell = [start + place - first] if same else range(start, end)
            for character in spell:
                found[word_of[place]].update(tokens_of[character])
    return tuple(tuple(sorted(group)) for group in found)


def spelled(tokens: Iterable[str]) -> str:
    """The text that tokens spell.

    >>> spelled(["▁The", "▁ani", "mal", "<0xC3>", "<0xA9>", "</s>"])
    'The animalé'
    """
    kept = (token for token in tokens if not _is_special(token))
    text = "".join(UNKNOWN if token == "<unk>" else token for token in kept)
    return _BYTES.sub(lambda run: _decoded(run.group()), text).replace("▁", " ").strip()


def _matched(spelling: str, written: str) -> Iterator[tuple[bool, int, int, int, int]]:
    """Parts of both texts that stand for each other, in their order, and whether they are alike.

    Almost all is alike: what is not is looked at in windows, so that time grows with the length.
    """
    here = there = 0
    window = WINDOW
    while here < len(spelling) and there < len(written):
        alike = _common(spelling, here, written, there)
        if alike:
            yield True, here, here + alike, there, there + alike
            here, there, window = here + alike, there + alike, WINDOW
            continue
        own, other = spelling[here : here + window], written[there : there + window]
        parts = SequenceMatcher(None, own, other, autojunk=False).get_opcodes()
        if here + window < len(spelling) or there + window < len(written):
            # what ends a window may have its match beyond: up to a run that is no accident
            sure = [
                n
                for n, part in enumerate(parts)
                if part[0] == "equal" and part[2] - part[1] >= SURE
            ]
            if not sure:
                window *= 2
                continue
            parts = parts[: sure[-1] + 1]
        for same, start, end, first, last in parts:
            yield same == "equal", here + start, here + end, there + first, there + last
        here, there, window = here + parts[-1][2], there + parts[-1][4], WINDOW
    yield False, here, len(spelling), there, len(written)


def _common(one: str, start: int, other: str, first: int) -> int:
    """How many characters from two places on are the same."""
    length = 0
    while (
        one[start + length : start + length + WINDOW]
        == (part := other[first + length : first + length + WINDOW])
        and len(part) == WINDOW
    ):
        length += WINDOW
    own, others = (
        text[at + length : at + length + WINDOW] for text, at in ((one, start), (other, first))
    )
    for letter, another in zip(own, others, strict=False):
        if letter != another:
            break
        length += 1
    return length


def _is_special(token: str) -> bool:
    """Whether a token stands for no text; an unknown one does."""
    return _SPECIAL.fullmatch(token) is not None


def _characters(tokens: Sequence[str]) -> tuple[list[list[int]], str]:
    """For each visible character the numbers of the tokens that spell it; and the characters."""
    tokens_of: list[list[int]] = []
    spelling = ""
    bytes_left = 0
    for number, token in enumerate(tokens):
        if _BYTE.fullmatch(token):
            if bytes_left:
                tokens_of[-1].append(number)
                bytes_left -= 1
                continue
            size = _bytes_of_character(int(token[3:5], 16))
            here = _decoded("".join(tokens[number : number + size]))[:1]
            bytes_left = size - 1
        else:
            bytes_left = 0
            known = "" if _is_special(token) else token.replace("▁", "")
            here = UNKNOWN if token == "<unk>" else known
        here = "".join(here.split())
        spelling += here
        tokens_of += [[number] for _ in here]
    return tokens_of, spelling


def _bytes_of_character(lead: int) -> int:
    """How many bytes a character of UTF-8 has that begins with this one."""
    return 1 + (lead >= 0xC0) + (lead >= 0xE0) + (lead >= 0xF0)


def _decoded(run: str) -> str:
    """The text of bytes such as <0xC3><0xA9>."""
    spelled_bytes = bytes(int(one[3:5], 16) for one in _BYTE.findall(run))
    return spelled_bytes.decode("utf-8", "replace")
