"""Characters as tokens. A character that training did not see is spelled in UTF-8 bytes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from regard.text.normalization import SPACE_MARK, normalize
from regard.text.tokenizer import FIRST_BYTE, MASK, SPECIALS, UNK, UNKNOWN, decode_parts
from regard.text.vocabulary import FIRST, VocabularyTokenizer, learn_vocabulary

FIRST_CHARACTER = FIRST["char"]


class CharTokenizer(VocabularyTokenizer):
    """A `Tokenizer` of characters, spaces included; no character is unknown."""

    def encode(self, text: str) -> list[int]:
        """The ids of a text's characters."""
        return self._ids(normalize(text))

    def encode_masked(self, text: str) -> list[int]:
        """The ids of a text in which `[MASK]` stands for a character."""
        ids: list[int] = []
        for index, part in enumerate(normalize(text).split(SPECIALS[MASK])):
            ids += [MASK] * (index > 0) + self._ids(part)
        return ids

    def decode(self, ids: Iterable[int]) -> str:
        """The text of ids."""
        return decode_parts(self._read(ids))

    def pieces(self, ids: Iterable[int]) -> list[str]:
        """The characters of ids, ▁ for a space and <0x…> for a byte."""
        return [self._piece(token) for token in ids]

    def spans(self, text: str, ids: Sequence[int] | None = None) -> list[tuple[int, int]]:
        """The character of each id."""
        return [
            (position, position + 1)
            for position, character in enumerate(normalize(text))
            for _ in self._ids(character)
        ]

    def _ids(self, normal: str) -> list[int]:
        ids: list[int] = []
        for character in normal:
            token = self.vocabulary.id(character)
            if token == UNK:
                ids.extend(FIRST_BYTE + byte for byte in character.encode())
            else:
                ids.append(token)
        return ids

    def _read(self, ids: Iterable[int]) -> Iterator[str | int]:
        for token in ids:
            if token >= FIRST_CHARACTER:
                yield self.vocabulary.token(token)
            elif token >= FIRST_BYTE:
                yield token - FIRST_BYTE
            elif token == UNK:
                yield UNKNOWN

    def _piece(self, token: int) -> str:
        if 0 <= token < FIRST_BYTE:
            return SPECIALS[token]
        if token < FIRST_CHARACTER:
            return f"<0x{token - FIRST_BYTE:02X}>"
        return self.vocabulary.token(token).replace(" ", SPACE_MARK)


def train_chars(
    lines: Iterable[str], vocab_size: int | None = None, language: str = "", min_count: int = 1
) -> CharTokenizer:
    """A tokenizer of the most frequent characters; `vocab_size` counts specials and bytes too."""
    characters = (character for line in lines for character in normalize(line))
    return CharTokenizer(learn_vocabulary("char", characters, vocab_size, language, min_count))
