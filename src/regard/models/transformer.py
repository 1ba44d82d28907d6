"""The Transformer encoder–decoder (Vaswani 2017), from token ids to logits.

B sentences, S source tokens, T target tokens, D features, V tokens of the vocabulary.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace

import torch
from torch import Tensor, nn

from regard.attention import AttentionMap, Mask, record
from regard.config import TransformerSettings
from regard.models.batch import AttentionName, Batch, Source
from regard.models.embedding import Embedding, OutputModel, embedding_pair, output_layer
from regard.models.layer import (
    Layer,
    LayerCache,
    attention_positions,
    final_norm,
    input_positions,
    normed,
)
from regard.models.sequence_parallel import SequenceShard, gather_sequence, shard_of

CAUSAL = Mask.causal()
CACHED_CAUSAL = Mask.causal(corner="bottom-right")
SIDES: tuple[tuple[str, AttentionName], ...] = (("self", "decoder"), ("cross", "cross"))
"""The attention of a decoder's layer: its name there, and in the whole model."""

Wanted = Collection[tuple[AttentionName, int]]
"""Attention, by its name and layer."""
Weights = dict[tuple[AttentionName, int], Tensor]
"""Weights (B, H, Q, K) by attention and layer."""


@dataclass(frozen=True)
class DecoderState:
    """State between two steps.

    layers   the cache of each layer
    lengths  (B,)  number of source tokens
    sources  (B,)  index of the source that was encoded; hypotheses of one sentence share it
    """

    layers: tuple[LayerCache, ...]
    lengths: Tensor
    sources: Tensor


class Encoder(nn.Module):
    """Layers of self-attention over the source."""

    def __init__(self, settings: TransformerSettings) -> None:
        super().__init__()
        positions = attention_positions(settings, causal=False)
        self.layers: Iterable[Layer] = nn.ModuleList(  # type: ignore[assignment]  # of these
            Layer(settings, positions, cross=False) for _ in range(settings.num_encoder_layers)
        )
        self.norm = final_norm(settings)

    def forward(self, x: Tensor, mask: Mask, offset: int = 0) -> Tensor:
        return self.run(x, mask, offset)[0]

    def run(
        self, x: Tensor, mask: Mask, offset: int = 0, wanted: Wanted = frozenset()
    ) -> tuple[Tensor, Weights]:
        """Return the output, and the weights of the attention that is wanted."""
        weights: Weights = {}
        for number, layer in enumerate(self.layers):
            names = ("self",) if ("encoder", number) in wanted else ()
            x, _, maps = layer(x, mask, offset=offset, weights=names)
            if names:
                weights["encoder", number] = maps["self"]
        return normed(self.norm, x, "encoder", offset), weights


class Decoder(nn.Module):
    """Layers of causal self-attention and of cross-attention to the encoder's output."""

    def __init__(self, settings: TransformerSettings) -> None:
        super().__init__()
        positions = attention_positions(settings, causal=True)
        self.layers: Iterable[Layer] = nn.ModuleList(  # type: ignore[assignment]  # of these
            Layer(settings, positions, cross=True, causal=True)
            for _ in range(settings.num_decoder_layers)
        )
        self.norm = final_norm(settings)

    def forward(self, x: Tensor, memory: Tensor, memory_mask: Mask, offset: int = 0) -> Tensor:
        return self.run(x, memory, memory_mask, offset)[0]

    def run(
        self,
        x: Tensor,
        memory: Tensor,
        memory_mask: Mask,
        offset: int = 0,
        wanted: Wanted = frozenset(),
    ) -> tuple[Tensor, Weights]:
        """Return the output, and the weights of the attention that is wanted."""
        weights: Weights = {}
        for number, layer in enumerate(self.layers):
            names = [name for name, side in SIDES if (side, number) in wanted]
            x, _, maps = layer(x, CAUSAL, memory, memory_mask, offset=offset, weights=names)
            weights |= {(side, number): maps[name] for name, side in SIDES if name in names}
        return normed(self.norm, x, "decoder", offset), weights

    def empty_caches(self, memory: Tensor) -> tuple[LayerCache, ...]:
        """Return every layer's empty cache, with the memory projected for that layer."""
        return tuple(
            LayerCache(layer.attention.empty_cache(len(memory)), layer.project_memory(memory))
            for layer in self.layers
        )

    def step(self, x: Tensor, state: DecoderState) -> tuple[Tensor, DecoderState]:
        """Decode one more token x (B, 1, D) after those in the caches."""
        memory_mask = Mask.lengths(state.lengths)
        caches = []
        for layer, cache in zip(self.layers, state.layers, strict=True):
            x, own, _ = layer(x, CACHED_CAUSAL, cache.memory, memory_mask, cache.own)
            caches.append(replace(cache, own=own))
        x = normed(self.norm, x, "decoder", state.layers[0].own.length)
        return x, replace(state, layers=tuple(caches))


class TransformerModel(OutputModel):
    """Embeddings, encoder, decoder and output layer; a `StepModel`."""

    def __init__(self, settings: TransformerSettings, source_vocab: int, target_vocab: int) -> None:
        super().__init__()
        self.max_length = settings.max_length
        source_vectors, target_vectors = embedding_pair(
            settings.tied, source_vocab, target_vocab, settings.dim
        )
        self.source = Embedding(
            source_vectors, input_positions(settings), settings.dropout, side="encoder"
        )
        self.target = Embedding(target_vectors, input_positions(settings), settings.dropout)
        self.encoder = Encoder(settings)
        self.decoder = Decoder(settings)
        tied = None if settings.tied == "none" else target_vectors
        self.output = output_layer(settings.dim, target_vocab, tied)

    def features(self, batch: Batch) -> Tensor:
        assert batch.source is not None
        mask = Mask.lengths(batch.source.lengths)
        shard = shard_of(self)
        if shard.num_ranks > 1:
            return self._shard_features(batch.source, batch.inputs, mask, shard)
        memory = self.encoder(self.source(batch.source.tokens), mask)
        return self.decoder(self.target(batch.inputs), memory, mask)  # type: ignore[no-any-return]  # modules return Any

    def guided_features(self, batch: Batch) -> tuple[Tensor, list[Tensor]]:
        """Return the features, and the weights (B, Q, K) of each of the batch's guided heads."""
        assert batch.source is not None
        mask = Mask.lengths(batch.source.lengths)
        wanted = {(head.attention, head.layer) for head in batch.guided}
        memory, weights = self.encoder.run(self.source(batch.source.tokens), mask, wanted=wanted)
        x, others = self.decoder.run(self.target(batch.inputs), memory, mask, wanted=wanted)
        weights |= others
        return x, [weights[head.attention, head.layer][:, head.head] for head in batch.guided]

    def _shard_features(
        self, source: Source, inputs: Tensor, mask: Mask, shard: SequenceShard
    ) -> Tensor:
        """Return the features of this process's shard; the encoder's output is gathered."""
        length = source.tokens.shape[1]
        source_offset, offset = shard.offset(length), shard.offset(inputs.shape[1])
        x = self.source(shard.local(source.tokens), source_offset)
        memory = gather_sequence(self.encoder(x, mask, source_offset), shard, length)
        return self.decoder(self.target(shard.local(inputs), offset), memory, mask, offset)  # type: ignore[no-any-return]  # modules return Any

    def start(self, source: Source | None, batch: int = 1) -> DecoderState:
        """Encode the source and return the state before the first token."""
        assert source is not None
        memory = self.encoder(self.source(source.tokens), Mask.lengths(source.lengths))
        rows = torch.arange(len(source.lengths), device=source.lengths.device)
        return DecoderState(self.decoder.empty_caches(memory), source.lengths, rows)

    def step(
        self, state: DecoderState, tokens: Tensor, attention: bool = False
    ) -> tuple[Tensor, DecoderState, list[AttentionMap]]:
        """Return logits (B, V) of the token after `tokens` (B,)."""
        if attention:
            with record(self) as recording:
                logits, state, _ = self.step(state, tokens)
            return logits, state, recording.maps
        offset = state.layers[0].own.length
        x, state = self.decoder.step(self.target(tokens[:, None], offset), state)
        return self.logits(x, offset)[:, 0], state, []

    def select(self, state: DecoderState, rows: Tensor) -> DecoderState:
        """Return the state of the given rows of the batch."""
        sources = state.sources.index_select(0, rows)
        same = torch.equal(sources, state.sources)  # then the memory need not be copied
        lengths = state.lengths if same else state.lengths.index_select(0, rows)
        caches = tuple(cache.select(rows, same_sources=same) for cache in state.layers)
        return DecoderState(caches, lengths, sources)
