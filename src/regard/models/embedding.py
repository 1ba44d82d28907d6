"""Token embeddings, and the output layer from features to logits.

B sentences, T tokens, V tokens of the vocabulary, D features.
"""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor, nn

from regard.attention import AttentionMap, Position, record
from regard.attention.inspection import probe
from regard.dropout import dropout
from regard.errors import InputError
from regard.text import PAD

NEVER = -1e9
"""The bias of an output that is never written, as one that an imported model does not have."""


def possible_outputs(bias: Tensor) -> Tensor | None:
    """Return which outputs (V,) can be written, given their biases; None if all can."""
    possible = bias > NEVER / 2
    return None if bool(possible.all()) else possible


class OutputModel(nn.Module):
    """Base of the networks: logits are a linear function of features, which a subclass defines."""

    output: nn.Linear
    side = "decoder"
    """The side of the model that the output layer is on, for `trace`."""

    def features(self, batch: Any) -> Tensor:
        """Return the output layer's input (B, T, D)."""
        raise NotImplementedError

    def forward(self, batch: Any) -> Tensor:
        """Return logits (B, T, V) at each token; a model of the next token gives those of that."""
        return self.logits(self.features(batch))

    def logits(self, features: Tensor, offset: int = 0) -> Tensor:
        """Return logits (B, T, V) of features (B, T, D) at positions from `offset` on."""
        logits: Tensor = self.output(features)
        if probe.probes():
            rows_BTV = logits if logits.ndim == 3 else logits[:, None]
            probe.scope(self.side, "output", offset=offset)
            probe.emit("logits", "W x + b", rows_BTV, "vocabulary")
            probe.emit(
                "probabilities",
                "softmax(logits)",
                rows_BTV,
                "vocabulary",
                lambda rows: rows_BTV.index_select(1, rows).softmax(-1),
            )
            probe.emit("word", "argmax(logits)", rows_BTV.argmax(-1))
        return logits

    @torch.no_grad()
    def maps(self, batch: Any) -> list[AttentionMap]:
        """Return the attention of every layer and head, in the order of the calls."""
        with record(self) as recording:
            self.features(batch)
        return recording.maps


def token_embedding(vocab: int, dim: int) -> nn.Embedding:
    """Return a table of one vector per token, of norm about 1, zero for padding."""
    vectors = nn.Embedding(vocab, dim, padding_idx=PAD)
    nn.init.normal_(vectors.weight, std=dim**-0.5)
    with torch.no_grad():
        vectors.weight[PAD].zero_()
    return vectors


def embedding_pair(
    tied: str, source_vocab: int, target_vocab: int, dim: int
) -> tuple[nn.Embedding, nn.Embedding]:
    """Return the tables of source and target tokens; the same table if `tied` is all."""
    if tied == "all" and source_vocab != target_vocab:
        raise InputError(
            f"model.tied=all needs one vocabulary, got {source_vocab} source and {target_vocab} "
            "target tokens; share the tokenizer (text.shared) or set model.tied to output."
        )
    target = token_embedding(target_vocab, dim)
    return target if tied == "all" else token_embedding(source_vocab, dim), target


def output_layer(dim: int, vocab: int, tied: nn.Embedding | None) -> nn.Linear:
    """Return the final linear layer (D → V), its weight that of `tied` if given."""
    layer = nn.Linear(dim, vocab)
    nn.init.zeros_(layer.bias)
    if tied is None:
        nn.init.normal_(layer.weight, std=dim**-0.5)
    else:
        layer.weight = tied.weight
    return layer


class Embedding(nn.Module):
    """dropout(√D · vector + position) of each token (Vaswani 2017, §3.4–3.5)."""

    def __init__(
        self, vectors: nn.Embedding, positions: Position, p: float, side: str = "decoder"
    ) -> None:
        super().__init__()
        self.side = side
        self.vectors = vectors
        self.place = positions
        self.p = p

    def forward(self, tokens: Tensor, offset: int = 0) -> Tensor:
        """Embed ids (B, T) as (B, T, D); the first is at position `offset`."""
        return self.add_positions(self.vectors(tokens), offset)

    def add_positions(self, vectors: Tensor, offset: int = 0) -> Tensor:
        """Scale vectors (B, T, D) of the table and add their positions."""
        scaled = vectors * math.sqrt(self.vectors.embedding_dim)
        output = self.place.add(scaled, offset)
        emit_embedding(scaled, self.place, self.side, offset=offset)
        return dropout(output, self.p, self.training)


def emit_embedding(
    scaled: Tensor,
    place: Position,
    side: str,
    equation: str = "√D · E[token]",
    offset: int = 0,
) -> None:
    """Emit the vectors (B, T, D) of tokens, and the positions added to them."""
    probe.scope(side, "embedding", offset=offset)
    probe.emit("token", equation, scaled)
    if type(place).add is not Position.add:

        def positions(rows: Tensor) -> Tensor:
            return place.add(torch.zeros_like(scaled), offset).index_select(1, rows)

        probe.emit("position", "p_t", scaled, make=positions)
