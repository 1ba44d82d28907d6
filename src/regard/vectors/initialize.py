"""Initialize a network's token embeddings with word vectors from a file.

Every token that is a whole word with a vector gets it. The vectors are scaled by one factor to the
mean length of the network's own initial embeddings, so that no other setting needs to change.

Shapes: V tokens of the vocabulary, D features.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

import torch
from torch import Tensor, nn

from regard.config import TrainingSettings
from regard.errors import InputError
from regard.text import Tokenizer
from regard.text.normalization import SPACE_MARK
from regard.text.tokenizer import SPECIALS
from regard.text.vocabulary import WordTokenizer
from regard.text.words import SPACELESS_SCRIPTS
from regard.vectors.files import read_vectors
from regard.vectors.table import Vectors

_LETTER_OF_A_WORD = re.compile(rf"[^\W\d_{SPACELESS_SCRIPTS}]")
_BYTE = re.compile("<0x[0-9A-F]{2}>")


def initialize_embeddings(
    network: nn.Module,
    settings: TrainingSettings,
    source: Tokenizer,
    target: Tokenizer,
    report: Callable[[str], None],
) -> None:
    """Copy the vectors of the files named in the settings into the network's embeddings.

    `report` is called with a sentence for each file.
    """
    files = {
        "source": settings.vectors_source or settings.vectors,
        "target": settings.vectors_target or settings.vectors,
    }
    tables = list(embedding_tables(network, source, target))
    _check_sides(settings, {side for side, _ in tables})
    vectors = {file: read_vectors(file) for file in files.values() if file is not None}
    initialized: dict[int, set[int]] = {}
    seen: set[tuple[int, str]] = set()
    for side, table in tables:
        file = files[side]
        if file is None or (id(table), file) in seen:  # a table that both sides share
            continue
        seen.add((id(table), file))
        initialized_tokens = initialized.setdefault(id(table), set())
        tokenizer = source if side == "source" else target
        tokens = _copy(table, vectors[file], tokenizer, file, initialized_tokens)
        initialized_tokens |= tokens
        kind = "tokens" if source is target else f"{side} tokens"
        report(
            f"{len(tokens):,} of {len(tokenizer) - len(SPECIALS):,} {kind} initialized with "
            f"vectors of {file}."
        )


def _check_sides(settings: TrainingSettings, sides: set[str]) -> None:
    """Raise InputError if vectors are given for embeddings that the model does not have."""
    names = ("vectors", "vectors_source", "vectors_target")
    chosen = [name for name in names if getattr(settings, name) is not None]
    if chosen and not sides:
        raise InputError(f"training.{chosen[0]} is set, but this kind of model has no words.")
    if len(sides) == 1 and chosen not in ([], ["vectors"]):
        raise InputError(
            f"training.{chosen[-1]} is for models with source and target, but this kind has one "
            "table of words; use --training.vectors instead."
        )


def embedding_tables(
    network: nn.Module, source: Tokenizer, target: Tokenizer
) -> Iterator[tuple[str, nn.Embedding]]:
    """Yield the network's token embeddings, each with its side, "source" or "target"."""
    parts = {side: getattr(network, side, None) for side in ("source", "target")}
    if not all(isinstance(part, nn.Module) for part in parts.values()):
        parts = {"target" if source is target else "source": network}
    for side, part in parts.items():
        assert part is not None
        size = len(source if side == "source" else target)
        for module in part.modules():
            is_table = isinstance(module, nn.Embedding) and module.padding_idx is not None
            if is_table and module.num_embeddings == size:
                yield side, module


def whole_word(piece: str, tokenizer: Tokenizer) -> str | None:
    """Return the word of a token; None for one that may be part of a word.

    A piece or character is a whole word after a space (▁), or without letters of a script whose
    words have several letters: punctuation, or a Chinese character.
    """
    word = piece.removeprefix(SPACE_MARK)
    if not word or SPACE_MARK in word or _BYTE.fullmatch(piece):
        return None
    begins = piece != word
    if isinstance(tokenizer, WordTokenizer) or begins or not _LETTER_OF_A_WORD.search(word):
        return word
    return None


def vector_rows(vectors: Vectors, tokenizer: Tokenizer) -> dict[int, int]:
    """Map each token that is a word with a vector, as it is or in lower case, to its row."""
    rows: dict[int, int] = {}
    tokens = range(len(SPECIALS), len(tokenizer))
    for token, piece in zip(tokens, tokenizer.pieces(tokens), strict=True):
        word = whole_word(piece, tokenizer)
        for form in () if word is None else (word, word.lower()):
            if form in vectors:
                rows[token] = vectors.rows[form]
                break
    return rows


@torch.no_grad()
def _copy(
    table: nn.Embedding,
    vectors: Vectors,
    tokenizer: Tokenizer,
    file: str,
    initialized_tokens: set[int],
) -> set[int]:
    """Copy vectors to all tokens but `initialized_tokens`; return the tokens."""
    width = table.embedding_dim
    if vectors.dim != width:
        raise InputError(
            f"{file}: vectors must have {width} numbers, the width of this model's embeddings, got "
            f"{vectors.dim}; learn vectors with --dim {width}, or set the model's width to "
            f"{vectors.dim}."
        )
    rows = {
        token: row
        for token, row in vector_rows(vectors, tokenizer).items()
        if token not in initialized_tokens
    }
    if rows:
        target_length = _mean_length(table.weight[len(SPECIALS) :])
        learned = torch.from_numpy(vectors.matrix[list(rows.values())]).to(table.weight)
        table.weight[list(rows)] = learned * (target_length / max(_mean_length(learned), 1e-12))
    return set(rows)


def _mean_length(rows: Tensor) -> float:
    """Return the root mean square length of rows (n, D)."""
    return float(rows.square().sum(dim=1).mean().sqrt())
