"""Transformers with one stack: the next-token model and the masked-token model.

B texts, T tokens, D features, V tokens of the vocabulary.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from regard.attention import AttentionMap, Mask, record
from regard.config import LanguageModelSettings, MaskedLanguageModelSettings
from regard.models.batch import PAD, Batch, Source
from regard.models.embedding import Embedding, output_layer, word_vectors
from regard.models.layer import Layer, LayerCache, added_place, attended_place, final_norm
from regard.models.sequence_parallel import split_of

CAUSAL = Mask.causal()
BEFORE = Mask.causal(corner="bottom-right")


@dataclass(frozen=True)
class Written:
    """The state between two steps: each layer's cache."""

    layers: tuple[LayerCache, ...]


class Stack(nn.Module):
    """Word vectors, layers of self-attention, linear layer: what both models have."""

    def __init__(self, settings: LanguageModelSettings, vocab: int, *, causal: bool) -> None:
        super().__init__()
        self.max_length = settings.max_length
        vectors = word_vectors(vocab, settings.dim)
        self.words = Embedding(vectors, added_place(settings), settings.dropout)
        place = attended_place(settings, causal=causal)
        self.layers: Iterable[Layer] = nn.ModuleList(  # type: ignore[assignment]  # of these
            Layer(settings, place, cross=False, causal=causal) for _ in range(settings.layers)
        )
        self.norm = final_norm(settings)
        self.output = output_layer(settings.dim, vocab, vectors if settings.tied == "all" else None)

    def read(self, tokens: Tensor, mask: Mask) -> Tensor:
        """(B, T) ids as features (B, T, D); of this process's part, where sentences are split."""
        split = split_of(self)
        offset = split.offset(tokens.shape[1])
        x = self.words(split.own(tokens), offset)
        for layer in self.layers:
            x, _ = layer(x, mask, offset=offset)
        return self.norm(x)  # type: ignore[no-any-return]  # modules answer Any

    def features(self, batch: Batch) -> Tensor:
        """(B, T, D): what the final layer sees at each token."""
        raise NotImplementedError  # each kind has its own

    def forward(self, batch: Batch) -> Tensor:
        """Scores (B, T, V) at each token."""
        return self.output(self.features(batch))  # type: ignore[no-any-return]  # modules answer Any

    @torch.no_grad()
    def maps(self, batch: Batch) -> list[AttentionMap]:
        """Every head's attention while `batch` is read."""
        with record(self) as recording:
            self.features(batch)
        return recording.maps


class LanguageModel(Stack):
    """Decoder-only: each token sees those before it and guesses the next."""

    def __init__(self, settings: LanguageModelSettings, vocab: int) -> None:
        super().__init__(settings, vocab, causal=True)

    def features(self, batch: Batch) -> Tensor:
        """(B, T, D): what the final layer sees at each token."""
        return self.read(batch.inputs, CAUSAL)

    def start(self, source: Source | None = None, batch: int = 1) -> Written:
        """The state before the first token of `batch` texts."""
        return Written(
            tuple(LayerCache(layer.attention.empty_cache(batch)) for layer in self.layers)
        )

    def step(
        self, state: Written, tokens: Tensor, look: bool = False
    ) -> tuple[Tensor, Written, list[AttentionMap]]:
        """Scores (B, V) of the token after `tokens` (B,)."""
        if look:
            with record(self) as recording:
                scores, state, _ = self.step(state, tokens)
            return scores, state, recording.maps
        x = self.words(tokens[:, None], state.layers[0].own.length)
        kept = []
        for layer, cache in zip(self.layers, state.layers, strict=True):
            x, own = layer(x, BEFORE, cache=cache.own)
            kept.append(LayerCache(own))
        return self.output(self.norm(x[:, 0])), Written(tuple(kept)), []

    def select(self, state: Written, rows: Tensor) -> Written:
        """The state of chosen rows of the batch."""
        return Written(tuple(cache.select(rows) for cache in state.layers))


class MaskedModel(Stack):
    """Encoder-only: every token sees all others, and the hidden ones are guessed."""

    def __init__(self, settings: MaskedLanguageModelSettings, vocab: int) -> None:
        super().__init__(settings, vocab, causal=False)

    def features(self, batch: Batch) -> Tensor:
        """(B, T, D): what the final layer sees at each token."""
        return self.read(batch.inputs, Mask.lengths((batch.inputs != PAD).sum(1)))

    @torch.no_grad()
    def fill(self, tokens: Tensor) -> Tensor:
        """Probabilities (B, T, V) of what stands at each token of `tokens` (B, T)."""
        nothing = torch.full_like(tokens, PAD)
        return torch.softmax(self(Batch(None, tokens, nothing)).float(), -1)
