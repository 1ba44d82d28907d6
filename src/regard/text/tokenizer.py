"""What every tokeniser does, and the ids that mean the same in all of them."""

from __future__ import annotations

from collections.abc import Iterable
from os import PathLike
from typing import Protocol, runtime_checkable

PAD, UNK, BOS, EOS, MASK = range(5)
SPECIALS = ("<pad>", "<unk>", "<s>", "</s>", "[MASK]")
"""The special ids' names, in the order of their ids."""

FIRST_BYTE = len(SPECIALS)
"""Where the 256 bytes stand in tokenisers that spell out what they do not know."""

UNKNOWN = "⁇"
"""How an unknown token reads in decoded text: a gap that is seen, not one that is hidden."""


@runtime_checkable
class Tokenizer(Protocol):
    """Text to ids and back. All methods take any text and look at its normal form.

    For every text that the tokeniser knows, `decode(encode(text)) == normalize(text)`.
    """

    def encode(self, text: str) -> list[int]:
        """The ids of a text, without BOS, EOS or any other special but UNK."""
        ...

    def encode_masked(self, text: str) -> list[int]:
        """The ids of a text in which each `[MASK]` stands for one hidden token, id MASK."""
        ...

    def decode(self, ids: Iterable[int]) -> str:
        """The text of ids; specials are skipped, but UNK reads ⁇.

        Bytes that do not end a character (a sequence cut short) read U+FFFD.
        """
        ...

    def pieces(self, ids: Iterable[int]) -> list[str]:
        """The readable form of each id; ▁ stands for a space."""
        ...

    def spans(self, text: str) -> list[tuple[int, int]]:
        """For each id of `encode(text)`, the characters of `normalize(text)` that it stands for.

        A space before a word is left out of the word's span. The bytes of a character have that
        character's span each. Together the spans cover all but spaces.
        """
        ...

    def __len__(self) -> int:
        """How many ids there are."""
        ...

    def save(self, path: str | PathLike[str]) -> None:
        """Write the tokeniser to one file, from which `load` makes it again."""
        ...


def load(path: str | PathLike[str]) -> Tokenizer:
    """The tokeniser in a file, of whatever kind it is."""
    from regard.text.char_tokenizer import CharTokenizer
    from regard.text.sentencepiece_tokenizer import SentencePieceTokenizer
    from regard.text.storage import file_bytes
    from regard.text.vocabulary import parse_vocabulary
    from regard.text.word_tokenizer import WordTokenizer

    data = file_bytes(path)
    if not data.lstrip().startswith(b"{"):
        return SentencePieceTokenizer.from_bytes(data, path)
    vocabulary = parse_vocabulary(data, path)
    if vocabulary.kind == "word":
        return WordTokenizer(vocabulary)
    return CharTokenizer(vocabulary)


def decode_parts(parts: Iterable[str | int]) -> str:
    """Join pieces of text and single bytes (as integers) into text.

    >>> decode_parts(["caf", 0xC3, 0xA9, " ", 0xE4, 0xBD])
    'café \\ufffd'
    """
    text: list[str] = []
    spelled = bytearray()
    for part in parts:
        if isinstance(part, int):
            spelled.append(part)
            continue
        if spelled:
            text.append(spelled.decode("utf-8", errors="replace"))
            spelled.clear()
        text.append(part)
    text.append(spelled.decode("utf-8", errors="replace"))
    return "".join(text)
