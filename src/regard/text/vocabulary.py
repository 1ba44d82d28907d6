"""The vocabulary of word and character tokenizers: a list of tokens, stored as JSON."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from os import PathLike

from regard.errors import InputError
from regard.storage import replace_file
from regard.text.tokenizer import FIRST_BYTE, UNK

FORMAT = "regard-vocabulary"
VERSION = 1
FIRST = {"word": FIRST_BYTE, "char": FIRST_BYTE + 256}
"""The id of the first token: after the specials; of characters, after the bytes as well."""


@dataclass(frozen=True)
class Vocabulary:
    """The tokens that are not special; token i has the id `first + i`."""

    kind: str
    language: str
    first: int
    tokens: tuple[str, ...]

    def __len__(self) -> int:
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


class VocabularyTokenizer:
    """A tokenizer that is defined by its vocabulary."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self.vocabulary = vocabulary

    def __len__(self) -> int:
        return len(self.vocabulary)

    def save(self, path: str | PathLike[str]) -> None:
        """Write the vocabulary as JSON."""
        self.vocabulary.save(path)


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
        vocabulary = Vocabulary(content["kind"], content["language"], first, tokens)
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise InputError(
            f"{file}: this is not a regard vocabulary ({error}); give the file that training wrote."
        ) from error
    if version > VERSION:
        raise InputError(
            f"{file}: the vocabulary has version {version}, newer than {VERSION}; update regard."
        )
    return vocabulary
