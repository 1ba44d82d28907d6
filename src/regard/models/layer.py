"""One Transformer layer: attention and feed-forward, each with a residual connection and a norm.

B sentences, T tokens, S tokens of the memory (the encoder's output), D features.
"""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor, nn

from regard.attention import KeyValue, Mask, MultiHead, Position
from regard.attention.inspection import probe
from regard.attention.layers.cache import Cache
from regard.dropout import dropout
from regard.models.parts import Settings, activation, multi_head, self_attention

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
