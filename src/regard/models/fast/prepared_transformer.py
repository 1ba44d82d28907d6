"""The Transformer prepared for inference: a `StepModel` whose state is changed in place.

R rows, B sentences, K slots of a sentence, S source tokens, H heads, D features of a head,
W = 2 · H · D, L layers, V tokens of the vocabulary.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention

from regard.attention import AttentionMap
from regard.models.batch import Batch, Source
from regard.models.fast.prepared_layers import (
    PreparedEmbedding,
    PreparedLayer,
    PreparedLinear,
    PreparedNorm,
    PreparedPositions,
)
from regard.models.fast.slots import HIDDEN, KeysValues, SlotCache
from regard.models.transformer import TransformerModel
from regard.text import PAD


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
        mask = source_mask(source)
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

    @torch.inference_mode()
    def maps(self, batch: Batch) -> list[AttentionMap]:
        """The attention of every layer and head, as the network's `maps` returns it.

        What is behind the weights of the last cross-attention is not computed. Rows of padding hold
        any numbers: targets of sources of one length differ in theirs, so that a third of a batch
        may be padding, which only attention computes.
        """
        assert batch.source is not None
        tokens, inputs = batch.source.tokens, batch.inputs
        size, length = inputs.shape
        mask = source_mask(batch.source)
        weights: list[Tensor] = []
        memory = self._encode(tokens, mask, weights)
        causal = torch.full((length, length), HIDDEN).triu_(1)
        bias = self.positions.bias(0, length, length)
        causal = causal if bias is None else causal + bias
        grid = Grid(inputs != PAD)
        x = grid.packed(self.target(inputs, 0, length).flatten(0, 1))
        last = len(self.decoder) - 1
        width = self.num_heads * self.head_dim
        for number, layer in enumerate(self.decoder):
            query, key, value = self._heads(layer, x, (size, length), self.positions, grid)
            context = grid.packed(attend(query, key, value, causal, weights))
            x = layer.own.post(x, layer.own_out(context))
            (query,) = self._by_head(grid.padded(layer.query(layer.across.pre(x))), size)
            needed = slice(width if number == last else None)  # keys only, or values too
            projected = torch.addmm(
                self.memory_bias[number, :, needed], memory, self.memory_weight[number, :, needed]
            )
            key, *values = self._by_head(projected, size)
            if not values:
                weights.append(attention_weights(query, key, mask))
                break
            context = grid.packed(attend(query, key, values[0], mask, weights))
            x = layer.feed_forward(layer.across.post(x, layer.across_out(context)))
        return [
            AttentionMap(
                w, kind, layer, tuple(range(self.num_heads)), tuple(range(w.shape[2])), name
            )
            for w, (kind, layer, name) in zip(weights, self._sites(), strict=True)
        ]

    def _sites(self) -> Iterator[tuple[str, int, str]]:
        """Kind, layer and name of every attention, in the order of their calls."""
        for number in range(len(self.encoder)):
            yield "self", number, f"encoder.layers.{number}.attention"
        for number in range(len(self.decoder)):
            yield "causal", number, f"decoder.layers.{number}.attention"
            yield "cross", number, f"decoder.layers.{number}.cross"

    def _heads(
        self,
        layer: PreparedLayer,
        x: Tensor,
        shape: tuple[int, int],
        positions: PreparedPositions,
        grid: Grid | None = None,
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Queries, keys and values (B, H, T, D) of a layer's input (B · T, H · D), or (N, H · D).

        With a grid it has the tokens without padding.
        """
        qkv = layer.qkv(layer.own.pre(x))
        qkv = qkv if grid is None else grid.padded(qkv)
        if positions.rotary is not None:
            query, key, value = qkv.view(*shape, 3, self.num_heads, self.head_dim).unbind(2)
            turned = (positions.rotate(part, 0, shape[1]) for part in (query, key))
            qkv = torch.stack((*turned, value), 2).flatten(2).flatten(0, 1)
        query, key, value = self._by_head(qkv, shape[0])
        return query, key, value

    def _by_head(self, x: Tensor, size: int) -> tuple[Tensor, ...]:
        """The parts (B, H, T, D) of x (B · T, parts · H · D), contiguous by one copy of all."""
        heads = x.view(size, x.shape[0] // size, -1, self.num_heads, self.head_dim)
        return heads.permute(2, 0, 3, 1, 4).contiguous().unbind()

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

    def _encode(
        self, tokens: Tensor, mask: Tensor | None, weights: list[Tensor] | None = None
    ) -> Tensor:
        """The encoder's output (B · S, H · D); `weights` receives those of every layer."""
        size, length = tokens.shape
        bias = self.source_positions.bias(0, length, length)
        if bias is not None:
            mask = bias[None] if mask is None else mask + bias
        x = self.source(tokens, 0, length).flatten(0, 1)
        for layer in self.encoder:
            heads = self._heads(layer, x, (size, length), self.source_positions)
            x = layer.own.post(x, layer.own_out(attend(*heads, mask, weights)))
            x = layer.feed_forward(x)
        return self.encoder_norm(x)


class Grid:
    """Which places of a batch (B, T) are tokens, so that padding can be left out of products.

    A sentence's first place is a token.
    """

    def __init__(self, is_token: Tensor) -> None:
        flat = is_token.flatten()
        self.is_full = bool(flat.all())
        self.tokens = flat.nonzero()[:, 0]
        self.rows = flat.cumsum(0) - 1  # of padding, that of the token before it

    def packed(self, x: Tensor) -> Tensor:
        """(N, ·): the rows of tokens of x (B · T, ·)."""
        return x if self.is_full else x.index_select(0, self.tokens)

    def padded(self, x: Tensor) -> Tensor:
        """(B · T, ·): the rows of x (N, ·) at their places; padding repeats some."""
        return x if self.is_full else x.index_select(0, self.rows)


def source_mask(source: Source) -> Tensor | None:
    """(B, 1, 1, S): 0 at source tokens, -inf at padding; None without padding."""
    padding = torch.arange(source.tokens.shape[1]) >= source.lengths[:, None]
    if not bool(padding.any()):
        return None
    return torch.zeros(padding.shape).masked_fill_(padding, HIDDEN)[:, None, None]


def attend(
    query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, weights: list[Tensor] | None
) -> Tensor:
    """(B · Q, H · D): contexts of queries (B, H, Q, D); `weights` receives (B, H, Q, K), if given.

    Without it by torch's fused kernel, which makes no weights.
    """
    if weights is None:
        context = scaled_dot_product_attention(query, key, value, attn_mask=mask)
    else:
        weights.append(attention_weights(query, key, mask))
        context = torch.matmul(weights[-1], value)
    return context.transpose(1, 2).flatten(2).flatten(0, 1)


def attention_weights(query: Tensor, key: Tensor, mask: Tensor | None) -> Tensor:
    """(B, H, Q, K): the weights of queries (B, H, Q, D) and keys (B, H, K, D)."""
    shape, scale = (*query.shape[:3], key.shape[2]), query.shape[-1] ** -0.5
    added = query.new_zeros(()) if mask is None else mask
    if added.dim() > 2:  # else the same for all
        added = added.expand(*shape[:2], -1, -1).flatten(0, 1)
    products = torch.baddbmm(added, query.flatten(0, 1), key.flatten(0, 1).mT, alpha=scale)
    scores = products.view(shape)
    # torch's softmax takes five times as long for rows of a dozen numbers
    powers = scores.sub_(scores.amax(-1, keepdim=True)).exp_()
    return powers.div_(powers.sum(-1, keepdim=True))
