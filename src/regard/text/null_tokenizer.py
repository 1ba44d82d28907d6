"""The tokeniser of a model that reads no text: it knows no token, and says so when asked."""

from __future__ import annotations

from collections.abc import Iterable
from os import PathLike

from regard.errors import InputError


class NullTokenizer:
    """A `Tokenizer` without tokens.

    >>> len(Wordless()), Wordless().decode([])
    (0, '')
    """

    def encode(self, text: str) -> list[int]:
        """Refuse text."""
        raise InputError("this model reads numeric series, not text; give it a file of series.")

    encode_masked = encode

    def decode(self, ids: Iterable[int]) -> str:
        """Nothing."""
        return ""

    def pieces(self, ids: Iterable[int]) -> list[str]:
        """Nothing."""
        return []

    def spans(self, text: str) -> list[tuple[int, int]]:
        """Nothing."""
        return []

    def __len__(self) -> int:
        return 0

    def save(self, path: str | PathLike[str]) -> None:
        """There is nothing to write."""
