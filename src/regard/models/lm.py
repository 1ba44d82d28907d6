"""Transformers of one stack: the language model and the masked language model.

B texts, T tokens, D features, V tokens of the vocabulary.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from regard.attention import AttentionMap, Mask, record
from regard.config import LanguageModelSettings, MaskedLanguageModelSettings
from regard.models.batch import Batch, Source
from regard.models.embedding import Embedding, OutputModel, output_layer, token_embedding
from regard.models.parts import attention_positions, final_norm, input_positions
from regard.models.transformer import CACHED_CAUSAL, CAUSAL, Layer, LayerCache, normed
from regard.text import PAD


@dataclass(frozen=True)
class LanguageModelState:
    """State between two steps: the cache of each layer."""

    layers: tuple[LayerCache, ...]


class TransformerStack(OutputModel):
    """Base of both models: embedding, layers of self-attention, output layer."""

    def __init__(self, settings: LanguageModelSettings, vocab: int, *, causal: bool) -> None:
        super().__init__()
        self.max_length = settings.max_length
        vectors = token_embedding(vocab, settings.dim)
        self.side = "decoder" if causal else "encoder"
        self.words = Embedding(vectors, input_positions(settings), settings.dropout, self.side)
        positions = attention_positions(settings, causal=causal)
        self.layers: Iterable[Layer] = nn.ModuleList(  # type: ignore[assignment]  # ModuleList[Layer]
            Layer(settings, positions, cross=False, causal=causal)
            for _ in range(settings.num_layers)
        )
        self.norm = final_norm(settings)
        self.output = output_layer(settings.dim, vocab, vectors if settings.tied == "all" else None)

    def attention_mask(self, tokens: Tensor) -> Mask:
        """Return which of the tokens (B, T) each of them may attend to."""
        raise NotImplementedError

    def features(self, batch: Batch) -> Tensor:
        return self.encode(batch.inputs, self.attention_mask(batch.inputs))

    def encode(self, tokens: Tensor, mask: Mask, offset: int = 0) -> Tensor:
        """Return features (B, T, D) of ids (B, T), the first at position `offset`."""
        x = self.words(tokens, offset)
        for layer in self.layers:
            x, _ = layer(x, mask, offset=offset)
        return normed(self.norm, x, self.side, offset)


class LanguageModel(TransformerStack):
    """Decoder-only model of the next token; a `StepModel`."""

    def __init__(self, settings: LanguageModelSettings, vocab: int) -> None:
        super().__init__(settings, vocab, causal=True)

    def attention_mask(self, tokens: Tensor) -> Mask:
        return CAUSAL

    def start(self, source: Source | None = None, batch: int = 1) -> LanguageModelState:
        """Return the state before the first token of `batch` texts."""
        return LanguageModelState(
            tuple(LayerCache(layer.attention.empty_cache(batch)) for layer in self.layers)
        )

    def step(
        self, state: LanguageModelState, tokens: Tensor, attention: bool = False
    ) -> tuple[Tensor, LanguageModelState, list[AttentionMap]]:
        """Return logits (B, V) of the token after `tokens` (B,)."""
        if attention:
            with record(self) as recording:
                logits, state, _ = self.step(state, tokens)
            return logits, state, recording.maps
        offset = state.layers[0].self_attention.length
        x = self.words(tokens[:, None], offset)
        caches = []
        for layer, cache in zip(self.layers, state.layers, strict=True):
            x, longer = layer(x, CACHED_CAUSAL, cache=cache.self_attention)
            caches.append(LayerCache(longer))
        x = normed(self.norm, x, self.side, offset)
        return self.logits(x, offset)[:, 0], LanguageModelState(tuple(caches)), []

    def select(self, state: LanguageModelState, rows: Tensor) -> LanguageModelState:
        return LanguageModelState(tuple(cache.select(rows) for cache in state.layers))


class MaskedLanguageModel(TransformerStack):
    """Encoder-only model of masked tokens."""

    def __init__(self, settings: MaskedLanguageModelSettings, vocab: int) -> None:
        super().__init__(settings, vocab, causal=False)

    def attention_mask(self, tokens: Tensor) -> Mask:
        return Mask.lengths((tokens != PAD).sum(1))

    @torch.no_grad()
    def predict(self, tokens: Tensor) -> Tensor:
        """Return logits (B, T, V) of the token at each position of `tokens` (B, T)."""
        logits: Tensor = self(Batch(None, tokens, torch.full_like(tokens, PAD)))
        return logits.float()

    def fill(self, tokens: Tensor) -> Tensor:
        """Return probabilities (B, T, V) of the token at each position of `tokens` (B, T)."""
        return torch.softmax(self.predict(tokens), -1)
