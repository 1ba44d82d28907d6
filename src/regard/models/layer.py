"""One Transformer layer: attention and feed-forward, each with a residual connection and a norm.

B sentences, T tokens, S tokens of the memory (the encoder's output), D features.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from regard.attention import (
    Alibi,
    Attended,
    KeyValue,
    Learned,
    Mask,
    MultiHead,
    Position,
    RelativeBias,
    Rotary,
    Sinusoidal,
)
from regard.attention.inspection import parts
from regard.attention.layers.cache import Cache
from regard.attention.mechanisms.mechanism import Mechanism
from regard.attention.normalizers.normalizer import NORMALIZERS
from regard.config import LanguageModelSettings, TransformerSettings
from regard.dropout import add_dropout, dropout, relu_dropout
from regard.errors import InputError
from regard.models.blocks import choice as blocks
from regard.models.mechanism import self_attention

NORM = "γ (x − mean) / √(variance + ε) + β"
Settings = TransformerSettings | LanguageModelSettings


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
        total = add_dropout(x, output, self.p) if self.training else x + output
        parts.tell("residual", "x + output", total)
        return total if self.pre_norm else self._normed(total)

    def _normed(self, x: Tensor) -> Tensor:
        normed: Tensor = self.norm(x)
        parts.tell("norm", NORM, normed)
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
        hidden = self.inner(x)
        p = self.p if self.training else 0.0
        if self.activation is F.relu:  # one pass together with its dropout
            hidden = relu_dropout(hidden, p)
        else:
            hidden = dropout(self.activation(hidden), p)
        output: Tensor = self.outer(hidden)
        parts.tell("hidden", f"{self.activation.__name__}(W₁ x + b₁)", hidden)
        parts.tell("feed-forward", "W₂ hidden + b₂", output)
        return output


@dataclass(frozen=True)
class LayerCache:
    """State of a layer between steps: its self-attention cache, and the projected memory."""

    own: Cache
    memory: KeyValue | None = None

    def select(self, rows: Tensor, *, same_sources: bool = False) -> LayerCache:
        """Return the cache of the given rows; the memory is kept if their sources stay the same."""
        if same_sources or self.memory is None:
            return LayerCache(self.own.select(rows), self.memory)
        return LayerCache(self.own.select(rows), self.memory.select(rows))


class LayerOutput(NamedTuple):
    """A layer's output.

    x        (B, T, D)
    cache    of its self-attention
    weights  (B, H, T, K) of the attention that was asked for: self, cross
    """

    x: Tensor
    cache: Cache | None
    weights: Mapping[str, Tensor]


class Layer(nn.Module):
    """Self-attention, cross-attention to the memory if `cross`, and feed-forward."""

    def __init__(
        self, settings: Settings, positions: Position, *, cross: bool, causal: bool = False
    ) -> None:
        super().__init__()
        self.side = "decoder" if causal else "encoder"
        self.around_attention = Residual(settings)
        self.attention = _attention(settings, positions, self_attention(settings, causal=causal))
        self.around_cross = Residual(settings) if cross else None
        self.cross = _attention(settings, None) if cross else None
        self.around_feed_forward = Residual(settings)
        self.feed_forward = FeedForward(settings)
        self._in_blocks = (
            blocks.is_plain(self.attention)
            and (self.cross is None or blocks.is_plain(self.cross))
            and self.feed_forward.activation in (F.relu, F.gelu)
        )

    def forward(
        self,
        x: Tensor,
        mask: Mask | None,
        memory: Tensor | KeyValue | None = None,
        memory_mask: Mask | None = None,
        cache: Cache | None = None,
        offset: int = 0,
        weights: Collection[str] = (),
    ) -> LayerOutput:
        """Return the layer's output (B, T, D) for x (B, T, D), and its self-attention cache.

        `memory` is the encoder's output (B, S, D) or its result of `project_memory`. `offset` is
        the position of x in its sentence; with a cache, x follows the tokens in it. `weights` names
        the attention (self, cross) whose weights are returned.
        """
        in_blocks = self._in_blocks and self.training and cache is None and blocks.runs_in_blocks(x)
        offset = offset if cache is None else cache.length
        own = self._attend("self", x, None, mask, cache, offset, in_blocks, weights)
        x, maps = own.x, {**own.weights}
        if self.cross is not None:
            across = self._attend("cross", x, memory, memory_mask, None, offset, in_blocks, weights)
            x, maps = across.x, {**maps, **across.weights}
        if in_blocks:
            x = blocks.feed_forward_block(self.around_feed_forward, self.feed_forward, x)
            return LayerOutput(x, None, maps)
        parts.enter(self.side, "feed-forward", self, offset)
        parts.tell("input", "x", x)
        x = self.around_feed_forward.post(x, self.feed_forward(self.around_feed_forward.pre(x)))
        parts.tell("next input", "x of the next layer", x)
        return LayerOutput(x, own.cache, maps)

    def _attend(
        self,
        name: str,
        x: Tensor,
        memory: Tensor | KeyValue | None,
        mask: Mask | None,
        cache: Cache | None,
        offset: int,
        in_blocks: bool,
        weights: Collection[str],
    ) -> LayerOutput:
        """Run an attention sub-layer: as a block if that is possible, which has no weights."""
        attention, around = self.attention, self.around_attention
        if name == "cross":
            assert self.cross is not None and self.around_cross is not None
            attention, around = self.cross, self.around_cross
        if in_blocks and not isinstance(memory, KeyValue) and name not in weights:
            output = blocks.attention_block(around, attention, x, mask, memory, offset)
            if output is not None:
                return LayerOutput(output, None, {})
        projected = isinstance(memory, KeyValue)
        parts.enter(self.side, f"{name}-attention", self, offset)
        parts.tell("input", "x", x)
        attended: Attended = attention(
            around.pre(x),
            key=None if projected else memory,
            memory=memory if projected else None,
            mask=mask,
            cache=cache,
            offset=offset,
            weights=name in weights,
        )
        maps = {} if attended.weights is None else {name: attended.weights}
        return LayerOutput(around.post(x, attended.context), attended.cache, maps)

    def project_memory(self, memory: Tensor) -> KeyValue:
        """Project the encoder's output (B, S, D) to keys and values, once for all steps."""
        assert self.cross is not None
        return self.cross.memory(memory)


def activation(name: str) -> Callable[[Tensor], Tensor]:
    """Return the function of `torch.nn.functional` of that name."""
    function: Callable[[Tensor], Tensor] | None = getattr(F, name, None)
    try:
        assert function is not None
        fits = function(torch.zeros(1, 2)).shape == (1, 2)
    except Exception:  # anything else that torch.nn.functional has under a name
        fits = False
    if function is None or not fits:
        raise InputError(
            f"model.activation must be a function of torch.nn.functional such as relu, gelu or "
            f"silu, got {name!r}."
        )
    return function


def input_positions(settings: Settings) -> Position:
    """Return the positional encoding that is added to token embeddings, if it is of that kind."""
    if settings.positions == "sinusoidal":
        return Sinusoidal(settings.dim)
    if settings.positions == "learned":
        return Learned(settings.max_length, settings.dim)
    return Position()


def attention_positions(settings: Settings, *, causal: bool) -> Position:
    """Return the positional encoding that acts within self-attention, if it is of that kind."""
    if settings.positions == "rotary":
        return Rotary(settings.dim // settings.num_heads)
    if settings.positions == "alibi":
        return Alibi(settings.num_heads)
    if settings.positions == "relative":
        return RelativeBias(settings.num_heads, bidirectional=not causal)
    return Position()


def final_norm(settings: Settings) -> nn.Module:
    """Return the norm after the last layer; post-norm layers need none."""
    return nn.LayerNorm(settings.dim) if settings.norm == "pre" else nn.Identity()


def normed(norm: nn.Module, x: Tensor, side: str, offset: int = 0) -> Tensor:
    """Return x (B, T, D) after the `final_norm` of a stack of layers."""
    x = norm(x)
    if not isinstance(norm, nn.Identity):
        parts.enter(side, "output", offset=offset)
        parts.tell("norm", NORM, x)
    return x


def _attention(
    settings: Settings, positions: Position | None, mechanism: Mechanism | None = None
) -> MultiHead:
    softmax = settings.normalizer == "softmax"
    return MultiHead(
        settings.dim,
        settings.num_heads,
        positions=positions,
        dropout=settings.attention_dropout,
        mechanism=mechanism,
        normalizer=None if softmax else NORMALIZERS[settings.normalizer](),
    )
