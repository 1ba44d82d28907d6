"""The recurrent encoder–decoder, from word vectors to the final linear layer.

B sentences, S source tokens, T target tokens, D features, V tokens of the vocabulary.
"""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor, nn

from regard.attention import AttentionMap, Dropout, record
from regard.attention.engines.precision import as_given
from regard.config import RnnSettings
from regard.models.batch import Batch, Source
from regard.models.embedding import both_vectors, output_layer
from regard.models.rnn.decoder import DECODERS, Progress
from regard.models.rnn.encoder import Encoder


class RnnModel(nn.Module):
    """Reads with one recurrent network, writes with another, and looks back if it has attention.

    A `Writer`. Features have the width of words' vectors, so that the final matrix may be theirs.
    """

    def __init__(self, settings: RnnSettings, source_vocab: int, target_vocab: int) -> None:
        super().__init__()
        self.max_length = settings.max_length
        width = settings.embedding
        self.source, self.target = both_vectors(settings.tied, source_vocab, target_vocab, width)
        self.dropout = Dropout(settings.dropout)
        self.encoder = Encoder(settings)
        self.decoder = DECODERS[settings.attention](settings)
        self.attends = settings.attention != "none"
        self.output = output_layer(
            width, target_vocab, None if settings.tied == "none" else self.target
        )

    def forward(self, batch: Batch) -> Tensor:
        """Scores (B, T, V) of the word after each target word."""
        return self.output(self.features(batch))  # type: ignore[no-any-return]  # modules answer Any

    def features(self, batch: Batch) -> Tensor:
        """(B, T, D): what the final layer sees at each target word."""
        features, _ = self._written(batch.inputs, self.start(batch.source))
        return features.transpose(0, 1)

    def start(self, source: Source | None, batch: int = 1) -> Progress:
        """The state before the first word, the source read."""
        if source is None:
            raise ValueError("an encoder–decoder needs a source to read, but None came.")
        with as_given(source.tokens.device):
            words = self._vectors(self.source, source.tokens)
            return self.decoder.begin(self.encoder(words, source.lengths))

    def step(
        self, state: Progress, tokens: Tensor, look: bool = False
    ) -> tuple[Tensor, Progress, list[AttentionMap]]:
        """Scores (B, V) of the word after `tokens` (B,)."""
        if look and self.attends:
            with record(self) as recording:
                scores, state, _ = self.step(state, tokens)
            return scores, state, recording.maps
        features, state = self._written(tokens[:, None], state)
        return self.output(features[0]), state, []

    def select(self, state: Progress, rows: Tensor) -> Progress:
        """The state of chosen rows of the batch."""
        return state.select(rows)

    @torch.no_grad()
    def maps(self, batch: Batch) -> list[AttentionMap]:
        """The one head's attention while `batch` is written, (B, 1, T, S); none without any."""
        if not self.attends:
            return []
        with record(self) as recording:
            self.features(batch)
        return [_merged(recording.maps)]

    def _written(self, tokens: Tensor, state: Progress) -> tuple[Tensor, Progress]:
        """Features (T, B, D) after each of tokens (B, T), and the state after them.

        Recurrence keeps the parameters' precision under autocast: rounding would add up with every
        step, and products this small gain nothing.
        """
        with as_given(tokens.device):
            return self.decoder(self._vectors(self.target, tokens), state)  # type: ignore[no-any-return]  # modules answer Any

    def _vectors(self, words: nn.Embedding, tokens: Tensor) -> Tensor:
        """(T, B, D): D^¼ · vectors of tokens (B, T), steps first as recurrence goes.

        Vectors have norm 1, right for the final matrix and faint for cells; grown by √D they are
        learnt soon but generalise late. The middle was best on both sides of that.
        """
        vectors: Tensor = self.dropout(words(tokens.t()) * words.embedding_dim**0.25)
        return vectors


def _merged(maps: list[AttentionMap]) -> AttentionMap:
    """Maps of successive steps as one."""
    rows = tuple(row for part in maps for row in part.rows)
    return replace(maps[0], weights=torch.cat([part.weights for part in maps], 2), rows=rows)
