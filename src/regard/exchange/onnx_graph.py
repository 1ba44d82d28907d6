"""A Transformer of ours as two ONNX graphs: the encoder, and one step of the decoder with caches.

B sentences, S source tokens, P tokens before this step, T tokens of either, D features, H heads of
E features, V tokens of the vocabulary, L the longest sentence of the model.

    encoder  tokens (B, S), lengths (B,)
             ▶ memory.0.key, memory.0.value, … (B, H, S, E): the source, projected for each layer
    decoder  tokens (B,), lengths (B,), memory.0.key, …, cache.0.key, cache.0.value, … (B, H, P, E)
             ▶ logits (B, V), present.0.key, present.0.value, … (B, H, P + 1, E)
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import torch

from regard.attention import MultiHead, Rotary
from regard.attention.masks.bias import DistanceBias
from regard.exchange.onnx_builder import GraphBuilder
from regard.models.embedding import Embedding
from regard.models.transformer import FeedForward, Residual, TransformerModel

if TYPE_CHECKING:
    from onnx import ModelProto

ACTIVATIONS = {"relu": "Relu", "gelu": "Gelu", "silu": "Sigmoid", "tanh": "Tanh"}
"""Activations by their name in torch ▶ ONNX's operator; silu is x · sigmoid(x)."""

MASKED = -3.0e38


class KeyValueNames(NamedTuple):
    """The names of keys and values (B, H, T, E)."""

    key: str
    value: str


class Place(NamedTuple):
    """The positions of self-attention: cos and sin (T, E / 2) that rotate; a bias of scores."""

    rotation: tuple[str, str] | None = None
    bias: str | None = None


class TransformerGraph(GraphBuilder):
    """A graph of parts of our Transformer."""

    def __init__(self, network: TransformerModel, activation: str) -> None:
        super().__init__()
        self.network, self.activation = network, activation
        self.num_heads = next(iter(network.decoder.layers)).attention.num_heads
        self.head_dim = next(iter(network.decoder.layers)).attention.head_dim

    def embedded(self, name: str, embedding: Embedding, tokens: str, start: str, end: str) -> str:
        """√D · vector + position, of tokens at the positions from `start` to before `end`."""
        table = embedding.vectors.weight
        tied = self.network.source.vectors is self.network.target.vectors
        vectors = self.weight("vectors" if tied else f"{name}.vectors", table)
        scale = self.number(math.sqrt(table.shape[1]))
        x = self.op("Mul", self.op("Gather", vectors, tokens), scale)
        empty = torch.zeros(1, self.network.max_length, table.shape[1])
        added = embedding.place.add(empty)[0]
        if not added.any():
            return x
        return self.op("Add", x, self.rows(self.weight(f"{name}.positions", added), start, end))

    def place(self, attention: MultiHead, start: str, end: str) -> Place:
        """How positions from `start` to before `end` act, the keys being all before `end`."""
        positions, longest = attention.positions, self.network.max_length
        if isinstance(positions, Rotary):
            unit = torch.zeros(longest, positions.dim)
            unit[:, : positions.dim // 2] = 1  # whose rotation is (cos, sin)
            tables = positions.rotate(unit).chunk(2, dim=1)
            cos, sin = map(self.weight, ("rotary.cos", "rotary.sin"), tables)
            return Place((self.rows(cos, start, end), self.rows(sin, start, end)))
        if not isinstance(positions, DistanceBias):
            return Place()
        distances = torch.arange(1 - longest, longest)[None]
        table = self.weight("distance.bias", positions(distances)[:, 0].float())  # (H, 2 L − 1)
        keys = self.range(end)
        queries = self.op("Unsqueeze", self.rows(keys, start, end), self.ints(1))
        index = self.op("Add", self.op("Sub", keys, queries), self.number(longest - 1))
        return Place(bias=self.op("Gather", table, index, axis=1))

    def mask(self, length: str) -> str:
        """0 at a source token and MASKED at padding, (B, 1, 1, S)."""
        real = self.op("Less", self.range(length), self.op("Unsqueeze", "lengths", self.ints(1)))
        bias = self.op("Where", real, self.number(0.0), self.number(MASKED))
        return self.op("Unsqueeze", bias, self.ints(1, 2))

    def heads(
        self, name: str, attention: MultiHead, x: str, place: Place | None = None
    ) -> KeyValueNames:
        """Keys and values of x (B, T, D)."""
        key, value = (
            self.split(self.linear(f"{name}.{part}", getattr(attention, part), x), self.num_heads)
            for part in ("key_proj", "value_proj")
        )
        return KeyValueNames(self.rotated(key, place), value)

    def rotated(self, x: str, place: Place | None) -> str:
        """(a, b) ▶ (a cos − b sin, a sin + b cos), a and b being the halves of a head."""
        if place is None or place.rotation is None:
            return x
        cos, sin = place.rotation
        half = self.head_dim // 2
        a = self.op("Slice", x, self.ints(0), self.ints(half), self.ints(3))
        b = self.op("Slice", x, self.ints(half), self.ints(self.head_dim), self.ints(3))
        first = self.op("Sub", self.op("Mul", a, cos), self.op("Mul", b, sin))
        second = self.op("Add", self.op("Mul", a, sin), self.op("Mul", b, cos))
        return self.op("Concat", first, second, axis=3)

    def attended(
        self,
        name: str,
        attention: MultiHead,
        x: str,
        heads: KeyValueNames,
        place: Place | None = None,
        mask: str | None = None,
    ) -> str:
        """softmax(Q Kᵀ / √E + bias + mask) V, heads joined and projected."""
        query = self.split(
            self.linear(f"{name}.query_proj", attention.query_proj, x), self.num_heads
        )
        scaled = self.op("Mul", self.rotated(query, place), self.number(self.head_dim**-0.5))
        scores = self.op("MatMul", scaled, self.op("Transpose", heads.key, perm=[0, 1, 3, 2]))
        for bias in (place.bias if place else None, mask):
            scores = self.op("Add", scores, bias) if bias else scores
        context = self.op("MatMul", self.op("Softmax", scores, axis=-1), heads.value)
        joined = self.op("Transpose", context, perm=[0, 2, 1, 3])
        joined = self.op("Reshape", joined, self.ints(0, 0, -1))
        return self.linear(f"{name}.out_proj", attention.out_proj, joined)

    def pre(self, name: str, residual: Residual, x: str) -> str:
        """The input of a sub-layer."""
        return self.norm(f"{name}.norm", residual.norm, x) if residual.pre_norm else x

    def post(self, name: str, residual: Residual, x: str, output: str) -> str:
        """x with the output of a sub-layer."""
        total = self.op("Add", x, output)
        return total if residual.pre_norm else self.norm(f"{name}.norm", residual.norm, total)

    def fed(self, name: str, residual: Residual, feed_forward: FeedForward, x: str) -> str:
        """The feed-forward sub-layer."""
        hidden = self.linear(f"{name}.inner", feed_forward.inner, self.pre(name, residual, x))
        active = self.op(ACTIVATIONS[self.activation], hidden)
        if self.activation == "silu":
            active = self.op("Mul", hidden, active)
        return self.post(
            name, residual, x, self.linear(f"{name}.outer", feed_forward.outer, active)
        )


def encoder_graph(network: TransformerModel, activation: str) -> ModelProto:
    """The source, encoded and projected for the cross-attention of each layer of the decoder."""
    graph = TransformerGraph(network, activation)
    tokens = graph.input("tokens", "batch", "source", whole=True)
    graph.input("lengths", "batch", whole=True)
    start, end = graph.ints(0), graph.size(tokens, 1)
    x = graph.embedded("source", network.source, tokens, start, end)
    place = graph.place(next(iter(network.encoder.layers)).attention, start, end)
    mask = graph.mask(end)
    for number, layer in enumerate(network.encoder.layers):
        own, fed = f"encoder.{number}.attention", f"encoder.{number}.feed_forward"
        inner = graph.pre(own, layer.around_attention, x)
        heads = graph.heads(own, layer.attention, inner, place)
        output = graph.attended(own, layer.attention, inner, heads, place, mask)
        x = graph.post(own, layer.around_attention, x, output)
        x = graph.fed(fed, layer.around_feed_forward, layer.feed_forward, x)
    x = graph.norm("encoder.norm", network.encoder.norm, x)
    for number, layer in enumerate(network.decoder.layers):
        assert layer.cross is not None
        memory = graph.heads(f"decoder.{number}.cross", layer.cross, x)
        for part, value in memory._asdict().items():
            shape = ("batch", graph.num_heads, "source", graph.head_dim)
            graph.output(value, f"memory.{number}.{part}", *shape)
    return graph.model("encoder")


def decoder_graph(network: TransformerModel, activation: str) -> ModelProto:
    """One step: the logits of the token after `tokens`, and the caches with this step."""
    graph = TransformerGraph(network, activation)
    graph.input("tokens", "batch", whole=True)
    graph.input("lengths", "batch", whole=True)
    caches: dict[str, list[KeyValueNames]] = {"memory": [], "cache": []}
    for kind, length in (("memory", "source"), ("cache", "past")):
        for number, _ in enumerate(network.decoder.layers):
            shape = ("batch", graph.num_heads, length, graph.head_dim)
            parts = (graph.input(f"{kind}.{number}.{p}", *shape) for p in KeyValueNames._fields)
            caches[kind].append(KeyValueNames(*parts))
    start = graph.size("cache.0.key", 2)
    end = graph.op("Add", start, graph.ints(1))
    tokens = graph.op("Unsqueeze", "tokens", graph.ints(1))
    x = graph.embedded("target", network.target, tokens, start, end)
    place = graph.place(next(iter(network.decoder.layers)).attention, start, end)
    mask = graph.mask(graph.size("memory.0.key", 2))
    presents = []
    for number, layer in enumerate(network.decoder.layers):
        own, cross, fed = (f"decoder.{number}.{p}" for p in ("attention", "cross", "feed_forward"))
        assert layer.cross is not None and layer.around_cross is not None
        inner = graph.pre(own, layer.around_attention, x)
        new = graph.heads(own, layer.attention, inner, place)
        pairs = zip(caches["cache"][number], new, strict=True)
        present = KeyValueNames(*(graph.op("Concat", *pair, axis=2) for pair in pairs))
        presents.append(present)
        output = graph.attended(own, layer.attention, inner, present, place)
        x = graph.post(own, layer.around_attention, x, output)
        inner = graph.pre(cross, layer.around_cross, x)
        output = graph.attended(cross, layer.cross, inner, caches["memory"][number], mask=mask)
        x = graph.post(cross, layer.around_cross, x, output)
        x = graph.fed(fed, layer.around_feed_forward, layer.feed_forward, x)
    x = graph.op("Squeeze", graph.norm("decoder.norm", network.decoder.norm, x), graph.ints(1))
    weight = network.output.weight
    if weight is network.target.vectors.weight:  # one table in the file
        tied = network.source.vectors is network.target.vectors
        name = graph.weight("vectors" if tied else "target.vectors", weight)
    else:
        name = graph.weight("output.weight", weight)
    bias = graph.weight("output.bias", network.output.bias)
    graph.output(graph.op("Gemm", x, name, bias, transB=1), "logits", "batch", len(weight))
    for number, present in enumerate(presents):
        for part, value in present._asdict().items():
            shape = ("batch", graph.num_heads, "present", graph.head_dim)
            graph.output(value, f"present.{number}.{part}", *shape)
    return graph.model("decoder")
