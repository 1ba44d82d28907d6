"""Tokens of regard's own tokenizers: the tokens that spell each word, and the text of them all.

▁ stands for a space, <0xC3> for a byte, <unk> for an unknown token; </s> and the like spell
nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from difflib import SequenceMatcher

Groups = tuple[tuple[int, ...], ...]
"""For each word, the numbers of its tokens."""

BYTE = re.compile(r"<0x([0-9A-Fa-f]{2})>")
_BYTES = re.compile(r"(?:<0x[0-9A-Fa-f]{2}>)+")
_SPECIAL = re.compile(r"</?s>|<pad>|\[MASK\]")

WINDOW = 256  # characters compared at a time
MIN_RUN = 12  # characters of an equal run that is not accidental

UNKNOWN = "⁇"
"""The text of an unknown token."""


def word_groups(tokens: Sequence[str], words: Sequence[str]) -> Groups:
    """For each word the tokens that spell it; special tokens spell none.

    >>> word_groups(["▁L", "'", "ani", "mal", "</s>"], ["L'", "animal"])
    ((0, 1), (2, 3))
    """
    spelling = [number for number, token in enumerate(tokens) if not _SPECIAL.fullmatch(token)]
    if len(spelling) == len(words) and all(
        tokens[number] in ("<unk>", word, f"▁{word}")
        for number, word in zip(spelling, words, strict=True)
    ):
        return tuple((number,) for number in spelling)
    tokens_of, token_text = _characters(tokens)
    compact = ["".join(word.split()) for word in words]
    word_of = [number for number, word in enumerate(compact) for _ in word]
    groups: list[set[int]] = [set() for _ in words]
    for equal, start, end, first, last in _match(token_text, "".join(compact)):
        for letter in range(first, last):
            # where they differ, an unknown token spells the other text's letters
            for character in [start + letter - first] if equal else range(start, end):
                groups[word_of[letter]].update(tokens_of[character])
    return tuple(tuple(sorted(group)) for group in groups)


def join_tokens(tokens: Iterable[str]) -> str:
    """The text that tokens spell.

    >>> join_tokens(["▁The", "▁ani", "mal", "<0xC3>", "<0xA9>", "</s>"])
    'The animalé'
    """
    spelling = (token for token in tokens if not _SPECIAL.fullmatch(token))
    text = "".join(UNKNOWN if token == "<unk>" else token for token in spelling)
    return decode_bytes(text).replace("▁", " ").strip()


def decode_bytes(text: str) -> str:
    """The text with every run of bytes such as <0xC3><0xA9> decoded as UTF-8."""

    def decode(run: re.Match[str]) -> str:
        return bytes(int(byte, 16) for byte in BYTE.findall(run.group())).decode("utf-8", "replace")

    return _BYTES.sub(decode, text)


def _match(tokens: str, words: str) -> Iterator[tuple[bool, int, int, int, int]]:
    """Yield (equal, start, end, first, last): corresponding spans of both texts, in order.

    The texts are nearly equal; differences are searched in windows, which keeps time linear.
    """
    start = first = 0
    window = WINDOW
    while start < len(tokens) and first < len(words):
        if length := _common_length(tokens, start, words, first):
            yield True, start, start + length, first, first + length
            start, first, window = start + length, first + length, WINDOW
            continue
        a, b = tokens[start : start + window], words[first : first + window]
        spans = SequenceMatcher(None, a, b, autojunk=False).get_opcodes()
        if start + window < len(tokens) or first + window < len(words):
            # the end of a window may match beyond it: keep the spans up to a long equal run
            long_runs = [
                n
                for n, (tag, i, j, _, _) in enumerate(spans)
                if tag == "equal" and j - i >= MIN_RUN
            ]
            if not long_runs:
                window *= 2
                continue
            spans = spans[: long_runs[-1] + 1]
        for tag, i, j, k, m in spans:
            yield tag == "equal", start + i, start + j, first + k, first + m
        start, first, window = start + spans[-1][2], first + spans[-1][4], WINDOW
    yield False, start, len(tokens), first, len(words)


def _common_length(a: str, start: int, b: str, first: int) -> int:
    """How many characters are equal from these two positions on."""
    limit = min(len(a) - start, len(b) - first)
    return next((n for n in range(limit) if a[start + n] != b[first + n]), limit)


def _characters(tokens: Sequence[str]) -> tuple[list[range], str]:
    """For each visible character the numbers of the tokens that spell it; and the characters."""
    tokens_of: list[range] = []
    spelling = ""
    bytes_left = 0
    for number, token in enumerate(tokens):
        if byte := BYTE.fullmatch(token):
            if bytes_left:
                tokens_of[-1] = range(tokens_of[-1].start, number + 1)
                bytes_left -= 1
                continue
            lead = int(byte[1], 16)
            size = 1 + (lead >= 0xC0) + (lead >= 0xE0) + (lead >= 0xF0)  # bytes of a character
            text = decode_bytes("".join(tokens[number : number + size]))[:1]
            bytes_left = size - 1
        else:
            bytes_left = 0
            known = "" if _SPECIAL.fullmatch(token) else token.replace("▁", "")
            text = UNKNOWN if token == "<unk>" else known
        text = "".join(text.split())
        spelling += text
        tokens_of += [range(number, number + 1)] * len(text)
    return tokens_of, spelling
