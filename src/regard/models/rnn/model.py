"""The recurrent encoder–decoder, from token ids to logits.

B sentences, S source tokens, T target tokens, D features, V tokens of the vocabulary.
"""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor, nn

from regard.attention import AttentionMap, record
from regard.attention.engines.precision import as_given
from regard.attention.inspection import probe
from regard.config import RnnSettings
from regard.dropout import Dropout
from regard.models.batch import Batch, Source
from regard.models.embedding import OutputModel, embedding_pair, output_layer
from regard.models.rnn.decoder import DECODERS, RnnState
from regard.models.rnn.encoder import RnnEncoder


class RnnModel(OutputModel):
    """Embeddings, recurrent encoder, recurrent decoder and output layer; a `StepModel`.

    Features have the width of embeddings, so that the output layer can share their matrix.
    """

    def __init__(self, settings: RnnSettings, source_vocab: int, target_vocab: int) -> None:
        super().__init__()
        self.max_length = settings.max_length
        width = settings.embedding
        self.source, self.target = embedding_pair(settings.tied, source_vocab, target_vocab, width)
        self.dropout = Dropout(settings.dropout)
        self.encoder = RnnEncoder(settings)
        self.decoder = DECODERS[settings.attention](settings)
        self.attends = settings.attention != "none"
        self.output = output_layer(
            width, target_vocab, None if settings.tied == "none" else self.target
        )

    def features(self, batch: Batch) -> Tensor:
        features, _ = self._decode(batch.inputs, self.start(batch.source))
        return features.transpose(0, 1)

    def start(self, source: Source | None, batch: int = 1) -> RnnState:
        """Encode the source and return the state before the first token."""
        if source is None:
            raise ValueError("an encoder–decoder needs a source, got None.")
        with as_given(source.tokens.device):
            probe.scope("encoder", "embedding")
            embedded = self._embed(self.source, source.tokens)
            return self.decoder.start(self.encoder(embedded, source.lengths))

    def step(
        self, state: RnnState, tokens: Tensor, attention: bool = False
    ) -> tuple[Tensor, RnnState, list[AttentionMap]]:
        """Return logits (B, V) of the token after `tokens` (B,)."""
        if attention and self.attends:
            with record(self) as recording:
                logits, state, _ = self.step(state, tokens)
            return logits, state, recording.maps
        offset = state.length
        features, state = self._decode(tokens[:, None], state)
        return self.logits(features.transpose(0, 1), offset)[:, 0], state, []

    def select(self, state: RnnState, rows: Tensor) -> RnnState:
        return state.select(rows)

    def maps(self, batch: Batch) -> list[AttentionMap]:
        """Return the attention (B, 1, T, S) for the given targets; none without an aligner."""
        return [_merge(super().maps(batch))] if self.attends else []

    def _decode(self, tokens: Tensor, state: RnnState) -> tuple[Tensor, RnnState]:
        """Return features (T, B, D) after each of tokens (B, T), and the state after them.

        Recurrence keeps the parameters' precision under autocast: rounding errors would add up
        over the steps, and products this small gain nothing.
        """
        with as_given(tokens.device):
            probe.scope("decoder", "embedding", offset=state.length)
            return self.decoder(self._embed(self.target, tokens), state)  # type: ignore[no-any-return]  # modules return Any

    def _embed(self, vectors: nn.Embedding, tokens: Tensor) -> Tensor:
        """(T, B, D): D^¼ · the vectors of tokens (B, T), steps first.

        Vectors have norm 1, which suits the output layer but is small for cells; scaled by √D they
        are learned quickly but generalize late. D^¼ was better than both.
        """
        embedded: Tensor = self.dropout(vectors(tokens.t()) * vectors.embedding_dim**0.25)
        probe.emit("token", "D^¼ · E[token]", embedded.transpose(0, 1))
        return embedded


def _merge(maps: list[AttentionMap]) -> AttentionMap:
    """Concatenate the maps of successive steps."""
    rows = tuple(row for step_map in maps for row in step_map.rows)
    weights = torch.cat([step_map.weights for step_map in maps], 2)
    return replace(maps[0], weights=weights, rows=rows)
