"""Words' vectors, and the linear layer that turns features back into words.

B sentences, T tokens, V tokens of the vocabulary, D features.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from regard.attention import Dropout, Position
from regard.errors import InputError
from regard.models.batch import PAD


def word_vectors(vocab: int, dim: int) -> nn.Embedding:
    """One vector for each token, of norm about 1, zero for padding."""
    vectors = nn.Embedding(vocab, dim, padding_idx=PAD)
    nn.init.normal_(vectors.weight, std=dim**-0.5)
    with torch.no_grad():
        vectors.weight[PAD].zero_()
    return vectors


def both_vectors(
    tied: str, source_vocab: int, target_vocab: int, dim: int
) -> tuple[nn.Embedding, nn.Embedding]:
    """The vectors of source and target tokens; one and the same if `tied` is all."""
    if tied == "all" and source_vocab != target_vocab:
        raise InputError(
            f"model.tied is all, but the vocabularies have {source_vocab} and {target_vocab} "
            "tokens; share the tokeniser (text.shared) or set model.tied to output."
        )
    target = word_vectors(target_vocab, dim)
    return target if tied == "all" else word_vectors(source_vocab, dim), target


def output_layer(dim: int, vocab: int, tied: nn.Embedding | None) -> nn.Linear:
    """The final linear layer (D → V), its matrix that of `tied` if given."""
    layer = nn.Linear(dim, vocab)
    nn.init.zeros_(layer.bias)
    if tied is None:
        nn.init.normal_(layer.weight, std=dim**-0.5)
    else:
        layer.weight = tied.weight
    return layer


class Embedding(nn.Module):
    """√D · vector of each token, plus its place, with dropout (Vaswani 2017, §3.4–3.5)."""

    def __init__(self, vectors: nn.Embedding, place: Position, dropout: float) -> None:
        super().__init__()
        self.vectors = vectors
        self.place = place
        self.dropout = Dropout(dropout)

    def forward(self, tokens: Tensor, offset: int = 0) -> Tensor:
        """(B, T) ids as (B, T, D); the first stands at `offset`."""
        return self.placed(self.vectors(tokens), offset)

    def placed(self, vectors: Tensor, offset: int = 0) -> Tensor:
        """The same from tokens' vectors (B, T, D)."""
        scaled = vectors * math.sqrt(self.vectors.embedding_dim)
        placed: Tensor = self.dropout(self.place.add(scaled, offset))
        return placed


def both_embedded(
    source: Embedding, target: Embedding, source_tokens: Tensor, target_tokens: Tensor
) -> tuple[Tensor, Tensor]:
    """(B, S, D) and (B, T, D) of two embeddings; vectors that both share are looked up at once.

    The gradient of a shared table is as large as the table, and is then made once, not twice.
    """
    if source.vectors is not target.vectors:
        return source(source_tokens), target(target_tokens)
    tokens = torch.cat([source_tokens.flatten(), target_tokens.flatten()])
    parts = source.vectors(tokens).split([source_tokens.numel(), target_tokens.numel()])
    shapes = (*source_tokens.shape, -1), (*target_tokens.shape, -1)
    return source.placed(parts[0].view(shapes[0])), target.placed(parts[1].view(shapes[1]))
