"""Single characters as tokens. A character that training did not see is spelled in UTF-8 bytes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from os import PathLike

from regard.errors import InputError
from regard.text.normalization import SPACE_MARK, normalize
from regard.text.tokenizer import FIRST_BYTE, MASK, SPECIALS, UNK, UNKNOWN, decode_parts
from regard.text.vocabulary import Vocabulary, most_frequent

FIRST_CHARACTER = FIRST_BYTE + 256


class CharTokenizer:
    """A `Tokenizer` of characters, for which nothing is unknown; a space is a character too."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self.vocabulary = vocabulary

    def encode(self, text: str) -> list[int]:
        """The ids of a text's characters."""
        return self._ids(normalize(text))

    def encode_masked(self, text: str) -> list[int]:
        """The ids of a text in which `[MASK]` stands for a character."""
        ids: list[int] = []
        for place, part in enumerate(normalize(text).split(SPECIALS[MASK])):
            ids += [MASK] * (place > 0) + self._ids(part)
        return ids

    def decode(self, ids: Iterable[int]) -> str:
        """The text of ids."""
        return decode_parts(self._read(ids))

    def pieces(self, ids: Iterable[int]) -> list[str]:
        """The characters of ids, ▁ for a space and <0x…> for a byte."""
        return [self._piece(number) for number in ids]

    def spans(self, text: str) -> list[tuple[int, int]]:
        """The character of each id."""
        return [
            (place, place + 1)
            for place, character in enumerate(normalize(text))
            for _ in self._ids(character)
        ]

    def __len__(self) -> int:
        return len(self.vocabulary)

    def save(self, path: str | PathLike[str]) -> None:
        """Write the vocabulary as JSON."""
        self.vocabulary.save(path)

    def _ids(self, normal: str) -> list[int]:
        ids: list[int] = []
        for character in normal:
            known = self.vocabulary.id(character)
            if known == UNK:
                ids.extend(FIRST_BYTE + byte for byte in character.encode())
            else:
                ids.append(known)
        return ids

    def _read(self, ids: Iterable[int]) -> Iterator[str | int]:
        for number in ids:
            if number >= FIRST_CHARACTER:
                yield self.vocabulary.token(number)
            elif number >= FIRST_BYTE:
                yield number - FIRST_BYTE
            elif number == UNK:
                yield UNKNOWN

    def _piece(self, number: int) -> str:
        if 0 <= number < FIRST_BYTE:
            return SPECIALS[number]
        if number < FIRST_CHARACTER:
            return f"<0x{number - FIRST_BYTE:02X}>"
        return self.vocabulary.token(number).replace(" ", SPACE_MARK)


def train_chars(
    lines: Iterable[str], vocab_size: int | None = None, language: str = "", min_count: int = 1
) -> CharTokenizer:
    """A tokeniser of the most frequent characters; `vocab_size` counts specials and bytes too."""
    room = None if vocab_size is None else vocab_size - FIRST_CHARACTER
    if room is not None and room < 1:
        raise InputError(
            f"vocab_size is {vocab_size}, but the specials and bytes are {FIRST_CHARACTER}; "
            f"ask for at least {FIRST_CHARACTER + 1}."
        )
    seen = (character for line in lines for character in normalize(line))
    tokens = most_frequent(seen, room, min_count)
    if not tokens:
        raise InputError("There are no characters to learn a vocabulary from; give some text.")
    return CharTokenizer(Vocabulary("char", language, FIRST_CHARACTER, tokens))
