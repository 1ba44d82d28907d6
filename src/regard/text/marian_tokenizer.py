"""A SentencePiece model whose pieces have the ids of another vocabulary, as MarianMT's do.

MarianMT cuts text with a SentencePiece model for each language and looks the pieces up in one
vocabulary of both; a piece that is not in it is unknown. Both are kept in one JSON file: the
SentencePiece model as it was, and the pieces in the order of their ids, our special ids first.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Iterable, Sequence
from functools import cached_property
from os import PathLike
from typing import TYPE_CHECKING, Any

from regard.errors import InputError
from regard.storage import replace_file
from regard.text.normalization import SPACE_MARK, normalize
from regard.text.tokenizer import MASK, SPECIALS, UNK, UNKNOWN

if TYPE_CHECKING:
    from sentencepiece import SentencePieceProcessor

FORMAT = "regard-marian-tokenizer"
VERSION = 1
LANGUAGE = re.compile(r">>.+?<<")


class MarianTokenizer:
    """A `Tokenizer` of SentencePiece pieces, with ids of a vocabulary of their own.

    model   the SentencePiece model
    pieces  the piece of each id; the first are `SPECIALS`
    """

    def __init__(self, model: bytes, pieces: Sequence[str]) -> None:
        import sentencepiece

        self.model, self._pieces = model, tuple(pieces)
        self._processor: SentencePieceProcessor = sentencepiece.SentencePieceProcessor()
        self._processor.load_from_serialized_proto(model)

    @classmethod
    def from_json(cls, data: bytes, file: object) -> MarianTokenizer:
        """The tokenizer in a file's bytes; malformed content is an `InputError`."""
        try:
            content = json.loads(data)
            if content["version"] > VERSION:
                raise ValueError("its version is newer; update regard")
            pieces, model = content["pieces"], base64.b64decode(content["model"], validate=True)
            if not isinstance(pieces, list) or not all(isinstance(p, str) for p in pieces):
                raise ValueError("the pieces must be a list of text")
            if tuple(pieces[: len(SPECIALS)]) != SPECIALS:
                raise ValueError("its first pieces are not the special ones")
            return cls(model, pieces)
        except (ValueError, KeyError, TypeError, RuntimeError, binascii.Error) as error:
            raise InputError(
                f"{file}: this is not a tokenizer of an imported model ({error}); "
                "import the model again."
            ) from error

    def encode(self, text: str) -> list[int]:
        """The ids of a text's pieces; those that the vocabulary does not have are UNK."""
        code, rest = _language(normalize(text))
        pieces = [*code, *self._processor.encode(rest, out_type=str)]
        return [self._ids.get(piece, UNK) for piece in pieces]

    def encode_all(self, texts: Sequence[str]) -> list[list[int]]:
        """The ids of each text."""
        return list(map(self.encode, texts))

    def encode_masked(self, text: str) -> list[int]:
        """The ids of a text in which `[MASK]` stands for a piece."""
        ids: list[int] = []
        for index, part in enumerate(normalize(text).split(SPECIALS[MASK])):
            ids += [MASK] * (index > 0) + self.encode(part)
        return ids

    def decode(self, ids: Iterable[int]) -> str:
        """The text of ids."""
        text, pieces = "", list[str]()
        for token in (*map(int, ids), UNK):
            if token >= len(SPECIALS):
                pieces.append(self._pieces[token])
            elif token == UNK:
                text += self._text(pieces, bool(text)) + " " + UNKNOWN
                pieces = []
        return text.removesuffix(" " + UNKNOWN).removeprefix(" ")

    def pieces(self, ids: Iterable[int]) -> list[str]:
        """The pieces of ids, ▁ for a space."""
        return [self._pieces[int(token)] for token in ids]

    def spans(self, text: str, ids: Sequence[int] | None = None) -> list[tuple[int, int]]:
        """The span of each piece in the normalized text, as SentencePiece reports it."""
        code, rest = _language(normal := normalize(text))
        first = len(normal) - len(rest)
        located: Any = self._processor.encode(rest, return_type="offset_mapping")
        spans = [(0, first)] if code else []
        for start, end in located["offsets"]:
            start += rest[start:end].startswith(" ") and end - start > 1
            spans.append((first + start, first + end))
        return spans

    def __len__(self) -> int:
        return len(self._pieces)

    @property
    def tags(self) -> dict[str, int]:
        """None: a text begins with the language's token (>>fra<<) itself."""
        return {}

    def with_tags(self, tags: Sequence[str]) -> MarianTokenizer:
        """An error: the vocabulary of an imported model stays as it is."""
        if tags:
            raise InputError(f"an imported model has no tags, got {', '.join(tags)}.")
        return self

    def save(self, path: str | PathLike[str]) -> None:
        """Write the SentencePiece model and the pieces as JSON."""
        content = {
            "format": FORMAT,
            "version": VERSION,
            "model": base64.b64encode(self.model).decode(),
            "pieces": self._pieces,
        }
        replace_file(path, json.dumps(content, ensure_ascii=False, indent=0) + "\n")

    @cached_property
    def _ids(self) -> dict[str, int]:
        first = len(SPECIALS)
        return {piece: first + n for n, piece in enumerate(self._pieces[first:])}

    def _text(self, pieces: list[str], continued: bool) -> str:
        """The text of pieces; SentencePiece removes the space before the first one."""
        text: str = self._processor.decode_pieces(pieces).replace(SPACE_MARK, " ")
        spaced = bool(pieces) and continued and pieces[0].startswith(SPACE_MARK)
        return " " * spaced + text


def _language(normal: str) -> tuple[list[str], str]:
    """The token of the language to write, which a text may begin with, and the rest.

    >>> _language(">>fra<< The cat."), _language("The cat.")
    ((['>>fra<<'], ' The cat.'), ([], 'The cat.'))
    """
    code = LANGUAGE.match(normal)
    return ([code[0]], normal[code.end() :]) if code else ([], normal)
