"""Dual attention: positions attend to positions, and channels to channels (Fu 2019).

Shapes: x (B, C, *positions), N positions in all; weights (B, 1, N, N) and (B, 1, C, C).
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from regard.attention.attend import attend
from regard.attention.engines import arguments
from regard.attention.engines.choice import Engine
from regard.attention.feature_maps.gates import check_feature_map, check_mask, without_padding
from regard.attention.feature_maps.non_local import as_rows
from regard.attention.inspection import observe
from regard.attention.masks.mask import Mask
from regard.attention.scores.score import Dot


class PositionAttention(nn.Module):
    """y_i = x_i + α Σ_j softmax_j(W_q x_i · W_k x_j) W_v x_j over all positions j.

    channels   C
    reduction  queries and keys have channels / reduction numbers, at least one
    engine     of `attend`

    α begins at zero, so that adding the layer to a trained network does not change it.
    """

    def __init__(self, channels: int, *, reduction: int = 8, engine: Engine = "auto") -> None:
        super().__init__()
        self.channels = arguments.positive("channels", channels)
        hidden = max(1, channels // arguments.positive("reduction", reduction))
        self.query_proj = nn.Linear(channels, hidden)
        self.key_proj = nn.Linear(channels, hidden)
        self.value_proj = nn.Linear(channels, channels)
        self.scale = nn.Parameter(torch.zeros(()))
        self.engine: Engine = engine

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        """Return x (B, C, *positions) plus the context of each position."""
        check_feature_map(x, self.channels)
        check_mask(x, mask)
        arguments.same_dtype("x", x, self.value_proj.weight)
        rows = as_rows(without_padding(x, mask))
        with observe.describe_calls(observe.CallInfo("self")):
            attended = attend(
                self.query_proj(rows),
                self.key_proj(rows),
                self.value_proj(rows),
                score=Dot(),
                mask=None if mask is None else Mask.keep(mask.flatten(1)[:, None, None]),
                engine=self.engine,
            )
        return x + self.scale * attended.context[:, 0].transpose(1, 2).reshape(x.shape)


class ChannelAttention(nn.Module):
    """y_c = x_c + β Σ_d softmax_d(x_c · x_d) x_d over all channels d; their only parameter is β.

    β begins at zero, so that adding the layer to a trained network does not change it.
    """

    def __init__(self, *, engine: Engine = "auto") -> None:
        super().__init__()
        self.scale = nn.Parameter(torch.zeros(()))
        self.engine: Engine = engine

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        """Return x (B, C, *positions) plus the context of each channel."""
        check_feature_map(x)
        check_mask(x, mask)
        arguments.same_dtype("x", x, self.scale)
        rows = without_padding(x, mask).flatten(2)[:, None]
        with observe.describe_calls(observe.CallInfo("channel")):
            attended = attend(rows, rows, rows, score=Dot(), engine=self.engine)
        return x + self.scale * attended.context[:, 0].reshape(x.shape)


class DualAttention(nn.Module):
    """y = position(x) + channel(x): both kinds of attention side by side.

    channels   C
    reduction  of the queries and keys of the positions
    engine     of `attend`
    """

    sums_to_one = True

    def __init__(self, channels: int, *, reduction: int = 8, engine: Engine = "auto") -> None:
        super().__init__()
        self.position = PositionAttention(channels, reduction=reduction, engine=engine)
        self.channel = ChannelAttention(engine=engine)

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        output: Tensor = self.position(x, mask) + self.channel(x, mask)
        return output
