"""The Transformer encoder–decoder (Vaswani 2017), from token ids to logits.

This is the whole model, in plain modules; `regard.models.fast` runs it faster. A layer is attention
and feed-forward, each with a residual connection and a norm.

B sentences, S source tokens (of the memory, the encoder's output), T target tokens, D features,
V tokens of the vocabulary.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import torch
from torch import Tensor, nn

from regard.attention import AttentionMap, KeyValue, Mask, MultiHead, Position, record
from regard.attention.inspection import probe
from regard.attention.layers.cache import Cache
from regard.config import TransformerSettings
from regard.dropout import dropout
from regard.models.batch import Batch, Source
from regard.models.embedding import Embedding, OutputModel, embedding_pair, output_layer
from regard.models.parts import (
    Settings,
    activation,
    attention_positions,
    final_norm,
    input_positions,
    multi_head,
    self_attention,
)

CAUSAL = Mask.causal()
CACHED_CAUSAL = Mask.causal(corner="bottom-right")
NORM = "γ (x − mean) / √(variance + ε) + β"


class Residual(nn.Module):
    """x + dropout(f(norm(x))) with pre-norm, norm(x + dropout(f(x))) with post-norm."""

    def __init__(self, settings: Settings) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(settings.dim)
        self.p = settings.dropout
        self.pre_norm = settings.norm == "pre"

    def pre(self, x: Tensor) -> Tensor:
        """Return the sub-layer's input."""
        return self._normed(x) if self.pre_norm else x

    def post(self, x: Tensor, output: Tensor) -> Tensor:
        """Add the sub-layer's output to x."""
        total = self.add(x, output)
        probe.emit("residual", "x + output", total)
        return total if self.pre_norm else self._normed(total)

    def add(self, x: Tensor, output: Tensor) -> Tensor:
        """x + dropout(output)."""
        return x + dropout(output, self.p, self.training)

    def _normed(self, x: Tensor) -> Tensor:
        normed: Tensor = self.norm(x)
        probe.emit("norm", NORM, normed)
        return normed


class FeedForward(nn.Module):
    """W₂ dropout(activation(W₁ x)), for each token separately."""

    def __init__(self, settings: Settings) -> None:
        super().__init__()
        self.inner = nn.Linear(settings.dim, settings.ff)
        self.outer = nn.Linear(settings.ff, settings.dim)
        self.activation = activation(settings.activation)
        self.p = settings.activation_dropout
        for linear in (self.inner, self.outer):
            nn.init.xavier_uniform_(linear.weight)
            nn.init.zeros_(linear.bias)

    def forward(self, x: Tensor) -> Tensor:
        hidden = self.activate(self.inner(x))
        output: Tensor = self.outer(hidden)
        probe.emit("hidden", f"{self.activation.__name__}(W₁ x + b₁)", hidden)
        probe.emit("feed-forward", "W₂ hidden + b₂", output)
        return output

    def activate(self, hidden: Tensor) -> Tensor:
        """dropout(activation(hidden))."""
        return dropout(self.activation(hidden), self.p, self.training)


@dataclass(frozen=True)
class LayerCache:
    """State of a layer between steps: its self-attention's cache, and the projected memory."""

    self_attention: Cache
    memory: KeyValue | None = None

    def select(self, rows: Tensor, *, same_sources: bool = False) -> LayerCache:
        """Return the cache of the given rows; the memory is kept if their sources stay the same."""
        memory = self.memory
        if memory is not None and not same_sources:
            memory = memory.select(rows)
        return LayerCache(self.self_attention.select(rows), memory)


class Layer(nn.Module):
    """Self-attention, cross-attention to the memory if `cross`, and feed-forward."""

    def __init__(
        self, settings: Settings, positions: Position, *, cross: bool, causal: bool = False
    ) -> None:
        super().__init__()
        self.side = "decoder" if causal else "encoder"
        self.around_attention = Residual(settings)
        self.attention = multi_head(settings, positions, self_attention(settings, causal=causal))
        self.around_cross = Residual(settings) if cross else None
        self.cross = multi_head(settings) if cross else None
        self.around_feed_forward = Residual(settings)
        self.feed_forward = FeedForward(settings)

    def forward(
        self,
        x: Tensor,
        mask: Mask | None,
        memory: Tensor | KeyValue | None = None,
        memory_mask: Mask | None = None,
        cache: Cache | None = None,
        offset: int = 0,
    ) -> tuple[Tensor, Cache | None]:
        """Return the layer's output (B, T, D) for x (B, T, D), and its self-attention's cache.

        `memory` is the encoder's output (B, S, D) or its result of `project_memory`. `offset` is
        the position of x in its sentence; with a cache, x follows the tokens in it.
        """
        offset = offset if cache is None else cache.length
        x, cache = self.attend("self", x, None, mask, cache, offset)
        if self.cross is not None:
            x, _ = self.attend("cross", x, memory, memory_mask, None, offset)
        return self.feed(x, offset), cache

    def attend(
        self,
        name: str,
        x: Tensor,
        memory: Tensor | KeyValue | None,
        mask: Mask | None,
        cache: Cache | None,
        offset: int,
    ) -> tuple[Tensor, Cache | None]:
        """Return x after the attention sub-layer "self" or "cross", and the attention's cache."""
        around, attention = self.sub_layer(name)
        probe.scope(self.side, f"{name}-attention", self, offset)
        probe.emit("input", "x", x)
        projected = isinstance(memory, KeyValue)
        attended = attention(
            around.pre(x),
            key=None if projected else memory,
            memory=memory if projected else None,
            mask=mask,
            cache=cache,
            offset=offset,
        )
        return around.post(x, attended.context), attended.cache

    def feed(self, x: Tensor, offset: int) -> Tensor:
        """Return x after the feed-forward sub-layer."""
        around = self.around_feed_forward
        probe.scope(self.side, "feed-forward", self, offset)
        probe.emit("input", "x", x)
        x = around.post(x, self.feed_forward(around.pre(x)))
        probe.emit("next input", "x of the next layer", x)
        return x

    def sub_layer(self, name: str) -> tuple[Residual, MultiHead]:
        """Return the attention of that name, "self" or "cross", and what is around it."""
        if name == "self":
            return self.around_attention, self.attention
        assert self.cross is not None and self.around_cross is not None
        return self.around_cross, self.cross

    def project_memory(self, memory: Tensor) -> KeyValue:
        """Project the encoder's output (B, S, D) to keys and values, once for all steps."""
        assert self.cross is not None
        return self.cross.memory(memory)


def normed(norm: nn.Module, x: Tensor, side: str, offset: int = 0) -> Tensor:
    """Return x (B, T, D) after the `final_norm` of a stack of layers."""
    x = norm(x)
    if not isinstance(norm, nn.Identity):
        probe.scope(side, "output", offset=offset)
        probe.emit("norm", NORM, x)
    return x


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
