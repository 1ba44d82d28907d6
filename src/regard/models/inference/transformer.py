"""The Transformer prepared for inference: a `StepModel` whose state is changed in place.

R rows, B sentences, K slots of a sentence, S source tokens, H heads, D features of a head,
W = 2 · H · D, L layers, V tokens of the vocabulary.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention

from regard.models.batch import Source
from regard.models.inference.layers import (
    PreparedEmbedding,
    PreparedLayer,
    PreparedLinear,
    PreparedNorm,
    PreparedPositions,
)
from regard.models.inference.slots import HIDDEN, KeysValues, SlotCache
from regard.models.transformer import TransformerModel


class PreparedTransformer:
    """The same logits as the network's, with its weights as they were when it was prepared."""

    def __init__(self, network: TransformerModel) -> None:
        self.max_length = network.max_length
        self.source, self.target = map(PreparedEmbedding, (network.source, network.target))
        encoder, decoder = list(network.encoder.layers), list(network.decoder.layers)
        self.encoder, self.decoder = [*map(PreparedLayer, encoder)], [*map(PreparedLayer, decoder)]
        self.encoder_norm, self.norm = map(
            PreparedNorm, (network.encoder.norm, network.decoder.norm)
        )
        self.output = PreparedLinear(network.output)
        self.source_positions = PreparedPositions(encoder[0].attention.positions)
        self.positions = PreparedPositions(decoder[0].attention.positions)
        self.num_heads, self.head_dim = (
            decoder[0].attention.num_heads,
            decoder[0].attention.head_dim,
        )
        across = [layer.cross for layer in decoder if layer.cross is not None]
        memory = [PreparedLinear(cross.key_proj, cross.value_proj) for cross in across]
        self.memory_weight = torch.stack([linear.weight for linear in memory])
        self.memory_bias = torch.stack([linear.bias for linear in memory])[:, None]

    @torch.inference_mode()
    def start(self, source: Source | None, batch: int = 1) -> SlotCache:
        """Encode the source and return the state before the first token."""
        assert source is not None
        size, length = source.tokens.shape
        padding = torch.arange(length) >= source.lengths[:, None]
        mask = None
        if bool(padding.any()):
            mask = torch.zeros(size, 1, 1, length).masked_fill_(padding[:, None, None], HIDDEN)
        encoded = self._encode(source.tokens, mask)
        memory = torch.baddbmm(
            self.memory_bias, encoded.expand(len(self.decoder), -1, -1), self.memory_weight
        )
        sizes = len(self.decoder), self.num_heads, self.head_dim
        return SlotCache(sizes, size, memory.unflatten(1, (size, length)), mask)

    def step(
        self, state: SlotCache, tokens: Tensor, attention: bool = False
    ) -> tuple[Tensor, SlotCache, Sequence[Any]]:
        """Return logits (R, V) of the token after `tokens` (R,); the state is changed in place."""
        if attention:
            raise ValueError("a prepared network records no attention; use the network itself.")
        position, width = state.length, self.num_heads * self.head_dim
        places, keys_values, mask = state.next_position()
        mask = self._biased(mask, position, keys_values[0][0].shape[2])
        x = self.target(tokens, position, 1)
        for layer, cache, own, memory in zip(
            self.decoder, state.flat, keys_values, state.memory_heads, strict=True
        ):
            qkv = layer.qkv(layer.own.pre(x))
            query, new = qkv[:, :width], qkv[:, width:]
            if self.positions.rotary is not None:
                heads = qkv[:, : 2 * width].view(qkv.shape[0], 1, -1, self.head_dim)
                turned = self.positions.rotate(heads, position, 1).flatten(1)
                query, new = (
                    turned[:, :width],
                    torch.cat((turned[:, width:], qkv[:, 2 * width :]), 1),
                )
            cache.index_copy_(0, places, new)
            context = self._attend(query, own, mask, state)
            x = layer.own.post(x, layer.own_out(context))
            query = layer.query(layer.across.pre(x))
            context = self._attend(query, memory, state.memory_mask, state)
            x = layer.feed_forward(layer.across.post(x, layer.across_out(context)))
        return self.output(self.norm(x)), state, ()

    def select(self, state: SlotCache, rows: Tensor) -> SlotCache:
        """Return the state of the given rows, which is the given state changed in place."""
        state.select(rows)
        return state

    def _attend(
        self, query: Tensor, keys_values: KeysValues, mask: Tensor | None, state: SlotCache
    ) -> Tensor:
        """(R, H · D): contexts of queries (R, H · D), which attend to their sentence's keys."""
        size, grid = keys_values[0].shape[0], state.grid
        if grid is not None:
            query = query.new_zeros(state.num_slots, query.shape[1]).index_copy_(0, grid, query)
        heads = query.view(size, -1, self.num_heads, self.head_dim).transpose(1, 2)
        keys, values = keys_values
        context = scaled_dot_product_attention(heads, keys, values, attn_mask=mask)
        context = context.transpose(1, 2).reshape(state.num_slots, -1)
        return context if grid is None else context.index_select(0, grid)

    def _biased(self, mask: Tensor | None, position: int, num_keys: int) -> Tensor | None:
        """The mask with the bias of positions, which is the same for all slots of a position."""
        bias = self.positions.bias(position, 1, position + 1)
        if bias is None:
            return mask
        bias = bias.repeat_interleave(num_keys // (position + 1), 2)[None]
        return bias if mask is None else mask + bias

    def _encode(self, tokens: Tensor, mask: Tensor | None) -> Tensor:
        """The encoder's output (B · S, H · D)."""
        size, length = tokens.shape
        bias = self.source_positions.bias(0, length, length)
        if bias is not None:
            mask = bias[None] if mask is None else mask + bias
        x = self.source(tokens, 0, length).flatten(0, 1)
        for layer in self.encoder:
            qkv = layer.qkv(layer.own.pre(x)).view(size, length, 3, self.num_heads, self.head_dim)
            query, key, value = qkv.unbind(2)
            query, key = (self.source_positions.rotate(part, 0, length) for part in (query, key))
            context = scaled_dot_product_attention(
                query.transpose(1, 2), key.transpose(1, 2), value.transpose(1, 2), attn_mask=mask
            )
            x = layer.own.post(x, layer.own_out(context.transpose(1, 2).reshape(size * length, -1)))
            x = layer.feed_forward(x)
        return self.encoder_norm(x)
