"""The Transformer encoder–decoder (Vaswani 2017), from token ids to logits.

This and `layer.py` are the whole model, in plain modules; `regard.models.fast` runs it faster.

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
from regard.models.embedding import Embedding, OutputModel, embedding_pair, output_layer
from regard.models.layer import Layer, LayerCache, normed
from regard.models.parts import attention_positions, final_norm, input_positions

CAUSAL = Mask.causal()
CACHED_CAUSAL = Mask.causal(corner="bottom-right")


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
        self.layers: Iterable[Layer] = nn.ModuleList(  # type: ignore[assignment]  # ModuleList[Layer]
            Layer(settings, positions, cross=False) for _ in range(settings.num_encoder_layers)
        )
        self.norm = final_norm(settings)

    def forward(self, x: Tensor, mask: Mask, offset: int = 0) -> Tensor:
        for layer in self.layers:
            x, _ = layer(x, mask, offset=offset)
        return normed(self.norm, x, "encoder", offset)


class Decoder(nn.Module):
    """Layers of causal self-attention and of cross-attention to the encoder's output."""

    def __init__(self, settings: TransformerSettings) -> None:
        super().__init__()
        positions = attention_positions(settings, causal=True)
        self.layers: Iterable[Layer] = nn.ModuleList(  # type: ignore[assignment]  # ModuleList[Layer]
            Layer(settings, positions, cross=True, causal=True)
            for _ in range(settings.num_decoder_layers)
        )
        self.norm = final_norm(settings)

    def forward(self, x: Tensor, memory: Tensor, memory_mask: Mask, offset: int = 0) -> Tensor:
        for layer in self.layers:
            x, _ = layer(x, CAUSAL, memory, memory_mask, offset=offset)
        return normed(self.norm, x, "decoder", offset)

    def empty_caches(self, memory: Tensor) -> tuple[LayerCache, ...]:
        """Return every layer's empty cache, with the memory projected for that layer."""
        return tuple(
            LayerCache(layer.attention.empty_cache(len(memory)), layer.project_memory(memory))
            for layer in self.layers
        )

    def step(self, x: Tensor, state: DecoderState) -> tuple[Tensor, DecoderState]:
        """Decode one more token x (B, 1, D) after those in the caches."""
        memory_mask, offset = Mask.lengths(state.lengths), state.layers[0].self_attention.length
        caches = []
        for layer, cache in zip(self.layers, state.layers, strict=True):
            x, longer = layer(x, CACHED_CAUSAL, cache.memory, memory_mask, cache.self_attention)
            caches.append(replace(cache, self_attention=longer))
        return normed(self.norm, x, "decoder", offset), replace(state, layers=tuple(caches))


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
        memory = self.encoder(self.source(batch.source.tokens), mask)
        return self.decoder(self.target(batch.inputs), memory, mask)  # type: ignore[no-any-return]  # modules return Any

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
        offset = state.layers[0].self_attention.length
        x, state = self.decoder.step(self.target(tokens[:, None], offset), state)
        return self.logits(x, offset)[:, 0], state, []

    def select(self, state: DecoderState, rows: Tensor) -> DecoderState:
        """Return the state of the given rows of the batch."""
        sources = state.sources.index_select(0, rows)
        same = torch.equal(sources, state.sources)  # then the memory need not be copied
        lengths = state.lengths if same else state.lengths.index_select(0, rows)
        caches = tuple(cache.select(rows, same_sources=same) for cache in state.layers)
        return DecoderState(caches, lengths, sources)
