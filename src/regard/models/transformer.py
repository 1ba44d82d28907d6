"""The Transformer encoder–decoder (Vaswani 2017), from word vectors to the final linear layer.

B sentences, S source tokens, T target tokens, D features, V tokens of the vocabulary.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import torch
from torch import Tensor, nn

from regard.attention import AttentionMap, Mask, record
from regard.config import TransformerSettings
from regard.models.batch import Batch, Source
from regard.models.embedding import Embedding, both_embedded, both_vectors, output_layer
from regard.models.layer import Layer, LayerCache, added_place, attended_place, final_norm
from regard.models.sequence_parallel import Split, split_of, whole

CAUSAL = Mask.causal()
BEFORE = Mask.causal(corner="bottom-right")


@dataclass(frozen=True)
class Reading:
    """The state between two steps: each layer's cache, and what of the source is padding.

    lengths  (B,)  tokens of each source
    sources  (B,)  which of the sources read each row has: hypotheses of one sentence share it
    """

    layers: tuple[LayerCache, ...]
    lengths: Tensor
    sources: Tensor


class Encoder(nn.Module):
    """Reads the source: layers of self-attention over all its words."""

    def __init__(self, settings: TransformerSettings) -> None:
        super().__init__()
        place = attended_place(settings, causal=False)
        self.layers: Iterable[Layer] = nn.ModuleList(  # type: ignore[assignment]  # of these
            Layer(settings, place, cross=False) for _ in range(settings.encoder_layers)
        )
        self.norm = final_norm(settings)

    def forward(self, x: Tensor, mask: Mask, offset: int = 0) -> Tensor:
        for layer in self.layers:
            x, _ = layer(x, mask, offset=offset)
        return self.norm(x)  # type: ignore[no-any-return]  # modules answer Any


class Decoder(nn.Module):
    """Writes the target: each word sees those before it, and the encoder's output."""

    def __init__(self, settings: TransformerSettings) -> None:
        super().__init__()
        place = attended_place(settings, causal=True)
        self.layers: Iterable[Layer] = nn.ModuleList(  # type: ignore[assignment]  # of these
            Layer(settings, place, cross=True, causal=True) for _ in range(settings.decoder_layers)
        )
        self.norm = final_norm(settings)

    def forward(self, x: Tensor, memory: Tensor, memory_mask: Mask, offset: int = 0) -> Tensor:
        for layer in self.layers:
            x, _ = layer(x, CAUSAL, memory, memory_mask, offset=offset)
        return self.norm(x)  # type: ignore[no-any-return]  # modules answer Any

    def memories(self, memory: Tensor) -> tuple[LayerCache, ...]:
        """Every layer's empty cache, with the encoder's output projected for it."""
        return tuple(
            LayerCache(layer.attention.empty_cache(len(memory)), layer.asked(memory))
            for layer in self.layers
        )

    def step(self, x: Tensor, state: Reading) -> tuple[Tensor, Reading]:
        """One more word x (B, 1, D) after those in the caches."""
        mask = Mask.lengths(state.lengths)
        kept = []
        for layer, cache in zip(self.layers, state.layers, strict=True):
            x, own = layer(x, BEFORE, cache.memory, mask, cache.own)
            kept.append(replace(cache, own=own))
        return self.norm(x), replace(state, layers=tuple(kept))


class TransformerModel(nn.Module):
    """Encoder, decoder, linear layer; softmax over the vocabulary is the loss's or the search's."""

    def __init__(self, settings: TransformerSettings, source_vocab: int, target_vocab: int) -> None:
        super().__init__()
        self.max_length = settings.max_length
        source_vectors, target_vectors = both_vectors(
            settings.tied, source_vocab, target_vocab, settings.dim
        )
        self.source = Embedding(source_vectors, added_place(settings), settings.dropout)
        self.target = Embedding(target_vectors, added_place(settings), settings.dropout)
        self.encoder = Encoder(settings)
        self.decoder = Decoder(settings)
        tied = None if settings.tied == "none" else target_vectors
        self.output = output_layer(settings.dim, target_vocab, tied)

    def forward(self, batch: Batch) -> Tensor:
        """Scores (B, T, V) of the word after each target word."""
        return self.output(self.features(batch))  # type: ignore[no-any-return]  # modules answer Any

    def features(self, batch: Batch) -> Tensor:
        """(B, T, D): what the final layer sees at each target word."""
        assert batch.source is not None
        mask = Mask.lengths(batch.source.lengths)
        split = split_of(self)
        if split.ranks > 1:
            return self._part(batch.source, batch.inputs, mask, split)
        source, target = both_embedded(self.source, self.target, batch.source.tokens, batch.inputs)
        return self.decoder(target, self.encoder(source, mask), mask)  # type: ignore[no-any-return]  # modules answer Any

    def _part(self, source: Source, inputs: Tensor, mask: Mask, split: Split) -> Tensor:
        """The features of this process's part; what was read is put together for all parts."""
        length = source.tokens.shape[1]
        begin, after = split.offset(length), split.offset(inputs.shape[1])
        memory = self.encoder(self.source(split.own(source.tokens), begin), mask, begin)
        written = self.target(split.own(inputs), after)
        return self.decoder(written, whole(memory, split, length), mask, after)  # type: ignore[no-any-return]  # modules answer Any

    def start(self, source: Source | None, batch: int = 1) -> Reading:
        """The state before the first word, the source read."""
        assert source is not None
        mask = Mask.lengths(source.lengths)
        memory = self.encoder(self.source(source.tokens), mask)
        rows = torch.arange(len(source.lengths), device=source.lengths.device)
        return Reading(self.decoder.memories(memory), source.lengths, rows)

    def step(
        self, state: Reading, tokens: Tensor, look: bool = False
    ) -> tuple[Tensor, Reading, list[AttentionMap]]:
        """Scores (B, V) of the word after `tokens` (B,)."""
        if look:
            with record(self) as recording:
                scores, state, _ = self.step(state, tokens)
            return scores, state, recording.maps
        written = state.layers[0].own.length
        x, state = self.decoder.step(self.target(tokens[:, None], written), state)
        return self.output(x[:, 0]), state, []

    def select(self, state: Reading, rows: Tensor) -> Reading:
        """The state of chosen rows of the batch."""
        sources = state.sources.index_select(0, rows)
        same = torch.equal(sources, state.sources)  # then what was read need not be copied
        lengths = state.lengths if same else state.lengths.index_select(0, rows)
        caches = tuple(cache.select(rows, same_sources=same) for cache in state.layers)
        return Reading(caches, lengths, sources)

    @torch.no_grad()
    def maps(self, batch: Batch) -> list[AttentionMap]:
        """Every head's attention while `batch` is read and written."""
        with record(self) as recording:
            self.features(batch)
        return recording.maps
