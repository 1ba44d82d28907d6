"""Tokenizers of words and of characters, defined by a vocabulary that is stored as JSON.

A word that follows a space begins with ▁, so that decoding restores the text: "▁Wait", "...",
"▁what", "?". Case is kept. In languages with spaces the first word is marked too, so that a word
is the same token at every position. Infrequent words are UNK; a character that training did not
see is spelled in UTF-8 bytes.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from os import PathLike
from typing import Self

from regard.errors import InputError
from regard.storage import replace_file
from regard.text.normalization import SPACE_MARK, normalize
from regard.text.tokenizer import FIRST_BYTE, MASK, SPECIALS, UNK, UNKNOWN, decode_parts
from regard.text.words import is_spaceless, words

FORMAT = "regard-vocabulary"
VERSION = 1
FIRST = {"word": FIRST_BYTE, "char": FIRST_BYTE + 256}
"""The id of the first token: after the specials; of characters, after the bytes as well."""


@dataclass(frozen=True)
class Vocabulary:
    """The tokens that are not special; token i has the id `first + i`, then come the tags."""

    kind: str
    language: str
    first: int
    tokens: tuple[str, ...]
    tags: tuple[str, ...] = ()

    def __len__(self) -> int:
        return self.first + len(self.tokens) + len(self.tags)

    @property
    def first_tag(self) -> int:
        """The id of the first tag."""
        return self.first + len(self.tokens)

    @cached_property
    def ids(self) -> dict[str, int]:
        """The id of each token."""
        return {token: self.first + index for index, token in enumerate(self.tokens)}

    def id(self, token: str) -> int:
        """The token's id, or UNK."""
        return self.ids.get(token, UNK)

    def token(self, number: int) -> str:
        """The token of an id that is not special."""
        if not self.first <= number < len(self):
            raise IndexError(f"id must be from {self.first} to {len(self) - 1}, got {number}.")
        if number >= self.first_tag:
            return self.tags[number - self.first_tag]
        return self.tokens[number - self.first]

    def save(self, path: str | PathLike[str]) -> None:
        """Write the vocabulary to a file, one token a line."""
        content = {
            "format": FORMAT,
            "version": VERSION,
            "kind": self.kind,
            "language": self.language,
            "first": self.first,
            "tokens": self.tokens,
            **({"tags": self.tags} if self.tags else {}),
        }
        replace_file(path, (json.dumps(content, ensure_ascii=False, indent=0) + "\n").encode())


def most_frequent(tokens: Iterable[str], size: int | None, min_count: int = 1) -> tuple[str, ...]:
    """The most frequent tokens, at most `size`, each seen at least `min_count` times.

    Ties are in the order of their characters, so that the vocabulary is deterministic.

    >>> most_frequent("to be or not to be".split(), 3)
    ('be', 'to', 'not')
    """
    counts = Counter(tokens)
    frequent = [token for token, count in counts.items() if count >= min_count]
    frequent.sort(key=lambda token: (-counts[token], token))
    return tuple(frequent[:size])


def learn_vocabulary(
    kind: str, tokens: Iterable[str], vocab_size: int | None, language: str, min_count: int
) -> Vocabulary:
    """The vocabulary of the most frequent tokens; `vocab_size` counts specials (and bytes) too."""
    if vocab_size is not None and vocab_size <= FIRST[kind]:
        raise InputError(f"vocab_size must be at least {FIRST[kind] + 1}, got {vocab_size}.")
    size = None if vocab_size is None else vocab_size - FIRST[kind]
    learned = most_frequent(tokens, size, min_count)
    if not learned:
        raise InputError("there are no tokens to learn a vocabulary from; give some text.")
    return Vocabulary(kind, language, FIRST[kind], learned)


def parse_vocabulary(data: bytes, file: object) -> Vocabulary:
    """The vocabulary in a file's bytes; malformed content is an `InputError`."""
    try:
        content = json.loads(data)
        if content["format"] != FORMAT or content["kind"] not in FIRST:
            raise ValueError("another format")
        version, first = content["version"], content["first"]
        if type(version) is not int or first != FIRST[content["kind"]]:
            raise ValueError("another version, or another first id")
        if not isinstance(content["language"], str) or not isinstance(content["tokens"], list):
            raise ValueError("the language must be text, and the tokens a list")
        tokens = tuple(content["tokens"])
        if not all(isinstance(token, str) and token for token in tokens):
            raise ValueError("a token is not text")
        if len(set(tokens)) < len(tokens):
            raise ValueError("a token is repeated")
        tags = tuple(content.get("tags", ()))
        if not all(isinstance(tag, str) for tag in tags) or len({*tokens, *tags}) < len(
            (*tokens, *tags)
        ):
            raise ValueError("a tag is not text, or repeated")
        vocabulary = Vocabulary(content["kind"], content["language"], first, tokens, tags)
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise InputError(
            f"{file}: this is not a regard vocabulary ({error}); give the file that training wrote."
        ) from error
    if version > VERSION:
        raise InputError(
            f"{file}: the vocabulary has version {version}, newer than {VERSION}; update regard."
        )
    return vocabulary


class VocabularyTokenizer:
    """A tokenizer that is defined by its vocabulary."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self.vocabulary = vocabulary

    def __len__(self) -> int:
        return len(self.vocabulary)

    @property
    def tags(self) -> dict[str, int]:
        """The ids of tags."""
        known, first = self.vocabulary.tags, self.vocabulary.first_tag
        return {tag: first + number for number, tag in enumerate(known)}

    def with_tags(self, tags: Sequence[str]) -> Self:
        """The tokenizer with tags after its tokens."""
        known = self.vocabulary
        if taken := {*known.tokens, *known.tags} & set(tags):
            raise InputError(f"{min(taken)} is a word of the text; name the tag differently.")
        return type(self)(replace(known, tags=(*known.tags, *tags)))

    def save(self, path: str | PathLike[str]) -> None:
        """Write the vocabulary as JSON."""
        self.vocabulary.save(path)

    def encode(self, text: str) -> list[int]:
        """The ids of a text's words or characters."""
        return self._ids(normalize(text))

    def encode_all(self, texts: Sequence[str]) -> list[list[int]]:
        """The ids of each text."""
        return list(map(self.encode, texts))

    def encode_masked(self, text: str) -> list[int]:
        """The ids of a text in which `[MASK]` stands for a word or a character."""
        ids: list[int] = []
        for index, part in enumerate(normalize(text).split(SPECIALS[MASK])):
            ids += [MASK] * (index > 0) + self._ids(part, first=index == 0)
        return ids

    def pieces(self, ids: Iterable[int]) -> list[str]:
        """The words or characters of ids, ▁ for a space and <0x…> for a byte."""
        return [self._piece(token) for token in ids]

    def _ids(self, normal: str, first: bool = True) -> list[int]:
        """The ids of normalized text; `first`: it begins a sentence."""
        raise NotImplementedError

    def _piece(self, token: int) -> str:
        if 0 <= token < FIRST_BYTE:
            return SPECIALS[token]
        if token < self.vocabulary.first:
            return f"<0x{token - FIRST_BYTE:02X}>"
        return self.vocabulary.token(token).replace(" ", SPACE_MARK)


class WordTokenizer(VocabularyTokenizer):
    """A `Tokenizer` of words."""

    def decode(self, ids: Iterable[int]) -> str:
        return "".join(self._read(ids)).removeprefix(" ")

    def spans(self, text: str, ids: Sequence[int] | None = None) -> list[tuple[int, int]]:
        """The span of each word in the normalized text."""
        return [(start, end) for _, start, end in words(normalize(text), self.vocabulary.language)]

    def _ids(self, normal: str, first: bool = True) -> list[int]:
        tokens = marked_words(normal, self.vocabulary.language, first)
        return [self.vocabulary.id(token) for token in tokens]

    def _read(self, ids: Iterable[int]) -> Iterator[str]:
        spaced = not is_spaceless(self.vocabulary.language)
        for token in ids:
            if token == UNK:
                yield " " * spaced + UNKNOWN
            elif len(SPECIALS) <= token < self.vocabulary.first_tag:
                yield self.vocabulary.token(token).replace(SPACE_MARK, " ")


class CharTokenizer(VocabularyTokenizer):
    """A `Tokenizer` of characters, spaces included; no character is unknown."""

    def decode(self, ids: Iterable[int]) -> str:
        return decode_parts(self._read(ids))

    def spans(self, text: str, ids: Sequence[int] | None = None) -> list[tuple[int, int]]:
        """The character of each id."""
        return [
            (position, position + 1)
            for position, character in enumerate(normalize(text))
            for _ in self._ids(character)
        ]

    def _ids(self, normal: str, first: bool = True) -> list[int]:
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
            if token >= self.vocabulary.first_tag:
                continue
            if token >= self.vocabulary.first:
                yield self.vocabulary.token(token)
            elif token >= FIRST_BYTE:
                yield token - FIRST_BYTE
            elif token == UNK:
                yield UNKNOWN


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


def train_chars(
    lines: Iterable[str], vocab_size: int | None = None, language: str = "", min_count: int = 1
) -> CharTokenizer:
    """A tokenizer of the most frequent characters; `vocab_size` counts specials and bytes too."""
    characters = (character for line in lines for character in normalize(line))
    return CharTokenizer(learn_vocabulary("char", characters, vocab_size, language, min_count))
