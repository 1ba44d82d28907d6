"""One layer of a Transformer: attention and feed-forward, a residual and a norm around each.

B sentences, T tokens here, S tokens of the memory, D features.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

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
    dropout,
)
from regard.attention.layers.cache import Cache
from regard.attention.mechanisms.mechanism import Mechanism
from regard.attention.normalizers.normalizer import NORMALIZERS
from regard.config import LanguageModelSettings, TransformerSettings
from regard.dropout import added, relu_dropout
from regard.errors import InputError
from regard.models.mechanism import self_attention

Settings = TransformerSettings | LanguageModelSettings


class Residual(nn.Module):
    """x + dropout(f(norm(x))), or norm(x + dropout(f(x))) as in the paper."""

    def __init__(self, settings: Settings) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(settings.dim)
        self.rate = settings.dropout
        self.before = settings.norm == "pre"

    def entered(self, x: Tensor) -> Tensor:
        """What the sub-layer is given."""
        return self.norm(x) if self.before else x

    def left(self, x: Tensor, answer: Tensor) -> Tensor:
        """What goes on after the sub-layer's `answer`."""
        total = added(x, answer, self.rate) if self.training else x + answer
        return total if self.before else self.norm(total)


class FeedForward(nn.Module):
    """W₂ dropout(activation(W₁ x)), for each token by itself."""

    def __init__(self, settings: Settings) -> None:
        super().__init__()
        self.inner = nn.Linear(settings.dim, settings.ff)
        self.outer = nn.Linear(settings.ff, settings.dim)
        self.activation = activation(settings.activation)
        self.rate = settings.activation_dropout
        for linear in (self.inner, self.outer):
            nn.init.xavier_uniform_(linear.weight)
            nn.init.zeros_(linear.bias)

    def forward(self, x: Tensor) -> Tensor:
        hidden = self.inner(x)
        rate = self.rate if self.training else 0.0
        if self.activation is F.relu:  # the usual one, and one pass with its dropout
            hidden = relu_dropout(hidden, rate)
        else:
            hidden = dropout(self.activation(hidden), rate)
        answer: Tensor = self.outer(hidden)
        return answer


@dataclass(frozen=True)
class LayerCache:
    """What a layer keeps between steps: its own words, and the encoder's, projected once."""

    own: Cache
    memory: KeyValue | None = None

    def select(self, rows: Tensor, *, same_sources: bool = False) -> LayerCache:
        """The cache of chosen rows of the batch; if their sources stay, so does the memory."""
        if same_sources or self.memory is None:
            return LayerCache(self.own.select(rows), self.memory)
        return LayerCache(self.own.select(rows), self.memory.select(rows))


class Layer(nn.Module):
    """Self-attention, attention to the encoder's output if `cross`, and feed-forward."""

    def __init__(
        self, settings: Settings, positions: Position, *, cross: bool, causal: bool = False
    ) -> None:
        super().__init__()
        self.around_attention = Residual(settings)
        self.attention = _attention(settings, positions, self_attention(settings, causal=causal))
        self.around_cross = Residual(settings) if cross else None
        self.cross = _attention(settings, None) if cross else None
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
        """x (B, T, D) and what this layer's own attention holds of it.

        `memory` is the encoder's output (B, S, D), or its keys and values projected before.
        `offset` is where x begins in its sentence; with a cache, after the words in it.
        """
        offset = offset if cache is None else cache.length
        attended: Attended = self.attention(
            self.around_attention.entered(x), mask=mask, cache=cache, offset=offset
        )
        x = self.around_attention.left(x, attended.context)
        if self.cross is not None and self.around_cross is not None:
            x = self._look_across(x, memory, memory_mask, offset)
        return self.around_feed_forward.left(
            x, self.feed_forward(self.around_feed_forward.entered(x))
        ), attended.cache

    def asked(self, memory: Tensor) -> KeyValue:
        """The encoder's output (B, S, D) projected once, to be asked at every step."""
        assert self.cross is not None
        return self.cross.memory(memory)

    def _look_across(
        self, x: Tensor, memory: Tensor | KeyValue | None, mask: Mask | None, offset: int
    ) -> Tensor:
        """Queries from the decoder, keys and values from the encoder's output."""
        assert self.cross is not None
        assert self.around_cross is not None
        asked = self.around_cross.entered(x)
        held: dict[str, Any] = (
            {"memory": memory} if isinstance(memory, KeyValue) else {"key": memory}
        )
        attended: Attended = self.cross(asked, mask=mask, offset=offset, **held)
        return self.around_cross.left(x, attended.context)


def activation(name: str) -> Callable[[Tensor], Tensor]:
    """The function of `torch.nn.functional` of that name."""
    found: Callable[[Tensor], Tensor] | None = getattr(F, name, None)
    try:
        assert found is not None
        fits = found(torch.zeros(1, 2)).shape == (1, 2)
    except Exception:  # whatever else torch.nn.functional holds under a name
        fits = False
    if found is None or not fits:
        raise InputError(
            f"model.activation must be a function of torch.nn.functional such as relu, gelu or "
            f"silu, but {name!r} came."
        )
    return found


def added_place(settings: Settings) -> Position:
    """The position that is added to words' vectors, if it is of that sort."""
    if settings.positions == "sinusoidal":
        return Sinusoidal(settings.dim)
    if settings.positions == "learned":
        return Learned(settings.max_length, settings.dim)
    return Position()


def attended_place(settings: Settings, *, causal: bool) -> Position:
    """The position that acts within self-attention, if it is of that sort."""
    if settings.positions == "rotary":
        return Rotary(settings.dim // settings.heads)
    if settings.positions == "alibi":
        return Alibi(settings.heads)
    if settings.positions == "relative":
        return RelativeBias(settings.heads, bidirectional=not causal)
    return Position()


def final_norm(settings: Settings) -> nn.Module:
    """After the last layer: with norms before the sub-layers the sum itself needs one."""
    return nn.LayerNorm(settings.dim) if settings.norm == "pre" else nn.Identity()


def _attention(
    settings: Settings, positions: Position | None, mechanism: Mechanism | None = None
) -> MultiHead:
    plain = settings.normalizer == "softmax"
    return MultiHead(
        settings.dim,
        settings.heads,
        positions=positions,
        dropout=settings.attention_dropout,
        mechanism=mechanism,
        normalizer=None if plain else NORMALIZERS[settings.normalizer](),
    )
