"""The interface of all tokenizers, and the special ids that they share."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Protocol, runtime_checkable

from regard.errors import InputError

PAD, UNK, BOS, EOS, MASK = range(5)
SPECIALS = ("<pad>", "<unk>", "<s>", "</s>", "[MASK]")
"""The names of the special ids, in the order of the ids."""

FIRST_BYTE = len(SPECIALS)
"""The id of byte 0 in tokenizers that spell unknown characters in bytes."""

UNKNOWN = "⁇"
"""An unknown token in decoded text."""


@runtime_checkable
class Tokenizer(Protocol):
    """Text to ids and back; texts are normalized first.

    For every text without unknown tokens, `decode(encode(text)) == normalize(text)`.
    """

    def encode(self, text: str) -> list[int]:
        """The ids of a text, without BOS, EOS or any other special but UNK."""
        ...

    def encode_all(self, texts: Sequence[str]) -> list[list[int]]:
        """The ids of each text, as `encode` returns them."""
        ...

    def encode_masked(self, text: str) -> list[int]:
        """The ids of a text in which each `[MASK]` stands for one hidden token, id MASK."""
        ...

    def decode(self, ids: Iterable[int]) -> str:
        """The text of ids; specials are skipped, UNK becomes ⁇, an incomplete character U+FFFD."""
        ...

    def pieces(self, ids: Iterable[int]) -> list[str]:
        """The readable form of each id; ▁ stands for a space."""
        ...

    def spans(self, text: str, ids: Sequence[int] | None = None) -> list[tuple[int, int]]:
        """For each id of `encode(text)`, its span of characters in `normalize(text)`.

        A space before a word is not part of its span. Each byte of a character has the character's
        span. Together the spans cover all but spaces.
        """
        ...

    def __len__(self) -> int:
        """The number of ids."""
        ...

    @property
    def tags(self) -> Mapping[str, int]:
        """The ids of the tags that a sentence may begin with (`regard.text.tags`)."""
        ...

    def with_tags(self, tags: Sequence[str]) -> Tokenizer:
        """The tokenizer with tags after its other ids."""
        ...

    def save(self, path: str | PathLike[str]) -> None:
        """Write the tokenizer to one file, which `load` reads."""
        ...


class NullTokenizer:
    """A `Tokenizer` without tokens; encoding a text is an error.

    >>> len(NullTokenizer()), NullTokenizer().decode([])
    (0, '')
    """

    def encode(self, text: str) -> list[int]:
        raise InputError("this model reads numeric series, not text; give it a file of series.")

    encode_masked = encode

    def encode_all(self, texts: Sequence[str]) -> list[list[int]]:
        return list(map(self.encode, texts))

    def decode(self, ids: Iterable[int]) -> str:
        return ""

    def pieces(self, ids: Iterable[int]) -> list[str]:
        return []

    def spans(self, text: str, ids: Sequence[int] | None = None) -> list[tuple[int, int]]:
        return []

    def __len__(self) -> int:
        return 0

    @property
    def tags(self) -> dict[str, int]:
        return {}

    def with_tags(self, tags: Sequence[str]) -> NullTokenizer:
        return self

    def save(self, path: str | PathLike[str]) -> None:
        """Write nothing."""


def load(path: str | PathLike[str]) -> Tokenizer:
    """Load a tokenizer of any kind from its file."""
    from regard.text import marian_tokenizer
    from regard.text.sentencepiece_tokenizer import SentencePieceTokenizer
    from regard.text.vocabulary import CharTokenizer, WordTokenizer, parse_vocabulary

    try:
        data = Path(path).read_bytes()
    except OSError as error:
        raise InputError(
            f"{path}: the tokenizer cannot be read ({error.strerror}); "
            "check the path of the model folder."
        ) from error
    if not data.lstrip().startswith(b"{"):
        return SentencePieceTokenizer.from_bytes(data, path)
    if marian_tokenizer.FORMAT.encode() in data[:200]:
        return marian_tokenizer.MarianTokenizer.from_json(data, path)
    vocabulary = parse_vocabulary(data, path)
    if vocabulary.kind == "word":
        return WordTokenizer(vocabulary)
    return CharTokenizer(vocabulary)


def decode_parts(parts: Iterable[str | int]) -> str:
    """Join strings and single bytes (as integers) into text.

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
