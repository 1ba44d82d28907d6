"""The tokenizer of a model without text input."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from os import PathLike

from regard.errors import InputError


class NullTokenizer:
    """A `Tokenizer` without tokens; encoding a text is an error.

    >>> len(NullTokenizer()), NullTokenizer().decode([])
    (0, '')
    """

    def encode(self, text: str) -> list[int]:
        """Raise an error."""
        raise InputError("this model reads numeric series, not text; give it a file of series.")

    encode_masked = encode

    def decode(self, ids: Iterable[int]) -> str:
        """The empty text."""
        return ""

    def pieces(self, ids: Iterable[int]) -> list[str]:
        """No pieces."""
        return []

    def spans(self, text: str, ids: Sequence[int] | None = None) -> list[tuple[int, int]]:
        """No spans."""
        return []

    def __len__(self) -> int:
        return 0

    def save(self, path: str | PathLike[str]) -> None:
        """Write nothing."""
