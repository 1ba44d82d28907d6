"""Words as tokens; infrequent words are UNK.

A token that follows a space begins with ▁, so that decoding restores the text: "▁Wait", "...",
"▁what", "?". Case is kept. In languages with spaces the first word is marked too, so that a word
is the same token at every position.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from regard.text.language import is_spaceless
from regard.text.normalization import SPACE_MARK, normalize
from regard.text.tokenizer import MASK, SPECIALS, UNK, UNKNOWN
from regard.text.vocabulary import VocabularyTokenizer, learn_vocabulary
from regard.text.words import words


class WordTokenizer(VocabularyTokenizer):
    """A `Tokenizer` of words."""

    def encode(self, text: str) -> list[int]:
        """The ids of a text's words."""
        return self._ids(normalize(text), first=True)

    def encode_masked(self, text: str) -> list[int]:
        """The ids of a text in which `[MASK]` stands for a word."""
        ids: list[int] = []
        for index, part in enumerate(normalize(text).split(SPECIALS[MASK])):
            ids += [MASK] * (index > 0) + self._ids(part, first=index == 0)
        return ids

    def decode(self, ids: Iterable[int]) -> str:
        """The text of ids."""
        return "".join(self._read(ids)).removeprefix(" ")

    def pieces(self, ids: Iterable[int]) -> list[str]:
        """The tokens of ids, ▁ for a space."""
        return [
            SPECIALS[token] if 0 <= token < len(SPECIALS) else self.vocabulary.token(token)
            for token in ids
        ]

    def spans(self, text: str, ids: Sequence[int] | None = None) -> list[tuple[int, int]]:
        """The span of each word in the normalized text."""
        return [(start, end) for _, start, end in words(normalize(text), self.vocabulary.language)]

    def _ids(self, normal: str, first: bool) -> list[int]:
        tokens = marked_words(normal, self.vocabulary.language, first)
        return [self.vocabulary.id(token) for token in tokens]

    def _read(self, ids: Iterable[int]) -> Iterator[str]:
        spaced = not is_spaceless(self.vocabulary.language)
        for token in ids:
            if token == UNK:
                yield " " * spaced + UNKNOWN
            elif token >= len(SPECIALS):
                yield self.vocabulary.token(token).replace(SPACE_MARK, " ")


def marked_words(normal: str, language: str, first: bool = True) -> list[str]:
    """The words of a normalized text, each with ▁ if it follows a space.

    first  whether the text begins a sentence: then its first word is marked too

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
    """A tokenizer of the most frequent words of the lines; `vocab_size` counts the specials too."""
    tokens = (token for line in lines for token in marked_words(normalize(line), language))
    return WordTokenizer(learn_vocabulary("word", tokens, vocab_size, language, min_count))
