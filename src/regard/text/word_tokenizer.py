"""Whole words as tokens. What was not among the frequent ones in training is UNK.

A token that a space stands before begins with ▁, so that text comes back as it was: "▁Wait",
"...", "▁what", "?". Case is kept. In languages with spaces the first word is marked too, as if a
space stood before it, so that it is the same token everywhere.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from os import PathLike

from regard.errors import InputError
from regard.text.language import is_spaceless
from regard.text.normalization import SPACE_MARK, normalize
from regard.text.tokenizer import MASK, SPECIALS, UNK, UNKNOWN
from regard.text.vocabulary import Vocabulary, most_frequent
from regard.text.words import words


class WordTokenizer:
    """A `Tokenizer` of words."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self.vocabulary = vocabulary

    def encode(self, text: str) -> list[int]:
        """The ids of a text's words."""
        return self._ids(normalize(text), first=True)

    def encode_masked(self, text: str) -> list[int]:
        """The ids of a text in which `[MASK]` stands for a word."""
        ids: list[int] = []
        for place, part in enumerate(normalize(text).split(SPECIALS[MASK])):
            ids += [MASK] * (place > 0) + self._ids(part, first=place == 0)
        return ids

    def decode(self, ids: Iterable[int]) -> str:
        """The text of ids."""
        return "".join(self._read(ids)).removeprefix(" ")

    def pieces(self, ids: Iterable[int]) -> list[str]:
        """The tokens of ids, ▁ for a space."""
        return [
            SPECIALS[number] if 0 <= number < len(SPECIALS) else self.vocabulary.token(number)
            for number in ids
        ]

    def spans(self, text: str) -> list[tuple[int, int]]:
        """The place of each word in the normalised text."""
        return [(start, end) for _, start, end in words(normalize(text), self.vocabulary.language)]

    def __len__(self) -> int:
        return len(self.vocabulary)

    def save(self, path: str | PathLike[str]) -> None:
        """Write the vocabulary as JSON."""
        self.vocabulary.save(path)

    def _ids(self, normal: str, first: bool) -> list[int]:
        tokens = marked_words(normal, self.vocabulary.language, first)
        return [self.vocabulary.id(token) for token in tokens]

    def _read(self, ids: Iterable[int]) -> Iterator[str]:
        spaced = not is_spaceless(self.vocabulary.language)
        for number in ids:
            if number == UNK:
                yield " " * spaced + UNKNOWN
            elif number >= len(SPECIALS):
                yield self.vocabulary.token(number).replace(SPACE_MARK, " ")


def marked_words(normal: str, language: str, first: bool = True) -> list[str]:
    """The words of a normalised text, each with ▁ if a space stands before it.

    `first`: the text begins a sentence, so that its first word counts as one after a space.

    >>> marked_words("Wait... what?", "en")
    ['▁Wait', '...', '▁what', '?']
    >>> marked_words("你好。", "zh")
    ['你', '好', '。']
    """
    at_start = first and not is_spaceless(language)
    return [
        SPACE_MARK + word.text
        if (normal[word.start - 1] == " " if word.start else at_start)
        else word.text
        for word in words(normal, language)
    ]


def train_words(
    lines: Iterable[str], vocab_size: int | None, language: str, min_count: int = 1
) -> WordTokenizer:
    """A tokeniser of the most frequent words of the lines; `vocab_size` counts the specials too."""
    room = None if vocab_size is None else vocab_size - len(SPECIALS)
    if room is not None and room < 1:
        raise InputError(
            f"vocab_size is {vocab_size}, but {len(SPECIALS)} special tokens come first; "
            f"ask for at least {len(SPECIALS) + 1}."
        )
    seen = (token for line in lines for token in marked_words(normalize(line), language))
    tokens = most_frequent(seen, room, min_count)
    if not tokens:
        raise InputError("There are no words to learn a vocabulary from; give some text.")
    return WordTokenizer(Vocabulary("word", language, len(SPECIALS), tokens))
