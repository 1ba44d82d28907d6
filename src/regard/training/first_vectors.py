"""Words that begin with vectors learned elsewhere, instead of by chance.

Every token that is a whole word and has a vector gets it. One factor for all brings them to the
length that the model's own first vectors have, so that nothing else has to be set anew.

Shapes: V tokens of the vocabulary, D features.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import torch
from torch import Tensor, nn

from regard.config import TrainingSettings
from regard.errors import InputError
from regard.folder import Tokenizers
from regard.text import Tokenizer
from regard.text.language import SPACELESS_SCRIPTS
from regard.text.normalization import SPACE_MARK
from regard.text.tokenizer import SPECIALS
from regard.text.word_tokenizer import WordTokenizer
from regard.training.report import Reporter, Silent
from regard.vectors import Vectors, read_vectors

_LETTER_OF_A_WORD = re.compile(rf"[^\W\d_{SPACELESS_SCRIPTS}]")
_BYTE = re.compile("<0x[0-9A-F]{2}>")


def begin_with_vectors(
    network: nn.Module,
    settings: TrainingSettings,
    tokenizers: Tokenizers,
    reporter: Reporter | None = None,
) -> None:
    """Put the vectors that the settings name into the network's tables of words."""
    reporter = reporter or Silent()
    files = {
        "source": settings.vectors_source or settings.vectors,
        "target": settings.vectors_target or settings.vectors,
    }
    tables = list(word_tables(network, tokenizers))
    _check_sides(settings, {side for side, _ in tables})
    read = {file: read_vectors(file) for file in files.values() if file is not None}
    filled: dict[int, set[int]] = {}
    asked: set[tuple[int, str]] = set()
    for side, table in tables:
        file = files[side]
        if file is None or (id(table), file) in asked:  # a table that both sides share
            continue
        asked.add((id(table), file))
        done = filled.setdefault(id(table), set())
        tokenizer = tokenizers.source if side == "source" else tokenizers.target
        found = _put(table, read[file], tokenizer, file, done)
        done |= found
        said = "tokens" if tokenizers.shared else f"{side} tokens"
        reporter.say(
            f"{len(found):,} of {len(tokenizer) - len(SPECIALS):,} {said} begin with a vector of "
            f"{file}."
        )


def _check_sides(settings: TrainingSettings, sides: set[str]) -> None:
    """An error if vectors are named for words that the model does not have."""
    names = ("vectors", "vectors_source", "vectors_target")
    named = [name for name in names if getattr(settings, name) is not None]
    if named and not sides:
        raise InputError(f"training.{named[0]} is set, but this kind of model has no words.")
    if len(sides) == 1 and named not in ([], ["vectors"]):
        raise InputError(
            f"training.{named[-1]} is for models of two sides, but this kind has one table of "
            "words; name the file with --training.vectors instead."
        )


def word_tables(network: nn.Module, tokenizers: Tokenizers) -> Iterator[tuple[str, nn.Embedding]]:
    """The network's tables of word vectors, each with the side whose tokens it is for."""
    parts = {side: getattr(network, side, None) for side in ("source", "target")}
    if not all(isinstance(part, nn.Module) for part in parts.values()):
        parts = {"target" if tokenizers.shared else "source": network}
    for side, part in parts.items():
        assert part is not None
        size = len(tokenizers.source if side == "source" else tokenizers.target)
        for module in part.modules():
            words = isinstance(module, nn.Embedding) and module.padding_idx is not None
            if words and module.num_embeddings == size:
                yield side, module


def whole_word(piece: str, tokenizer: Tokenizer) -> str | None:
    """The word that a token is; None for one that may be part of a word.

    Of pieces and characters that is one after a space (▁), or one without letters of a script that
    has words of several letters: a sign, or a Chinese character.
    """
    word = piece.removeprefix(SPACE_MARK)
    if not word or SPACE_MARK in word or _BYTE.fullmatch(piece):
        return None
    begins = piece != word
    if isinstance(tokenizer, WordTokenizer) or begins or not _LETTER_OF_A_WORD.search(word):
        return word
    return None


def known_rows(vectors: Vectors, tokenizer: Tokenizer) -> dict[int, int]:
    """For each token that is a word with a vector, as it is or in lower case, the vector's row."""
    rows: dict[int, int] = {}
    numbers = range(len(SPECIALS), len(tokenizer))
    for number, piece in zip(numbers, tokenizer.pieces(numbers), strict=True):
        word = whole_word(piece, tokenizer)
        for form in () if word is None else (word, word.lower()):
            if form in vectors:
                rows[number] = vectors.places[form]
                break
    return rows


@torch.no_grad()
def _put(
    table: nn.Embedding, vectors: Vectors, tokenizer: Tokenizer, file: str, done: set[int]
) -> set[int]:
    """Give tokens their vectors, but those that have one; which they are."""
    width = table.embedding_dim
    if vectors.dim != width:
        raise InputError(
            f"{file}: the vectors have {vectors.dim} numbers, but this model's words have {width}; "
            f"learn vectors with --dim {width}, or set the model's width to {vectors.dim}."
        )
    rows = {
        token: row for token, row in known_rows(vectors, tokenizer).items() if token not in done
    }
    if rows:
        usual = _length(table.weight[len(SPECIALS) :])
        given = torch.from_numpy(vectors.matrix[list(rows.values())]).to(table.weight)
        table.weight[list(rows)] = given * (usual / max(_length(given), 1e-12))
    return set(rows)


def _length(rows: Tensor) -> float:
    """The root of the mean squared length of rows (n, D)."""
    return float(rows.square().sum(dim=1).mean().sqrt())
