"""External attention: positions attend to a small learned memory that all images share (Guo 2021).

Shapes: x (B, C, *positions), N positions in all, S slots of memory; weights (B, 1, N, S).
"""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from regard.attention.attend import attend
from regard.attention.engines import arguments
from regard.attention.feature_maps.gates import check_feature_map, check_mask, without_padding
from regard.attention.feature_maps.non_local import as_rows
from regard.attention.inspection import observe
from regard.attention.masks.mask import Mask
from regard.attention.scores.score import Dot


class DoubleNormalizer:
    """weight_ij = e_ij / Σ_k e_ik with e_·j = softmax over the queries i of the scores s_·j.

    The softmax over queries makes the weights independent of the norms of the keys.
    """

    engines = frozenset({"dense"})
    sums_to_one = True

    def __call__(
        self, scores: Tensor, keep: Tensor | None = None, *, finite: bool = False
    ) -> Tensor:
        masked = torch.isneginf(scores.detach())
        masked = masked if keep is None else masked | ~keep
        scores = scores.masked_fill(masked, -math.inf)
        empty = masked.all(dim=-2, keepdim=True)  # a key that no query may attend to
        shares = torch.softmax(scores.masked_fill(empty, 0.0), dim=-2).masked_fill(masked, 0.0)
        return shares / shares.sum(dim=-1, keepdim=True).clamp(min=torch.finfo(shares.dtype).tiny)

    def __repr__(self) -> str:
        return "DoubleNormalizer()"


class ExternalAttention(nn.Module):
    """y_i = x_i + Σ_j a_ij v_j over S learned slots j, a = the x_i · k_j normalized twice.

    channels   C
    num_slots  S; the cost grows with N · S instead of N²

    The values v begin at zero, so that adding the layer to a trained network does not change it.
    """

    def __init__(self, channels: int, *, num_slots: int = 64) -> None:
        super().__init__()
        self.channels = arguments.positive("channels", channels)
        self.num_slots = arguments.positive("num_slots", num_slots)
        self.keys = nn.Parameter(torch.randn(num_slots, channels) / math.sqrt(channels))
        self.values = nn.Parameter(torch.zeros(num_slots, channels))
        self.normalizer = DoubleNormalizer()

    @property
    def sums_to_one(self) -> bool:
        """Whether the weights of a position sum to one."""
        return self.normalizer.sums_to_one

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        """Return x (B, C, *positions) plus the context of each position."""
        check_feature_map(x, self.channels)
        check_mask(x, mask)
        arguments.same_dtype("x", x, self.keys)
        size = x.shape[0], 1, self.num_slots, self.channels
        with observe.describe_calls(observe.CallInfo("cross")):
            attended = attend(
                as_rows(without_padding(x, mask)),
                self.keys.expand(size),
                self.values.expand(size),
                score=Dot(),
                mask=None if mask is None else Mask.keep(mask.flatten(1)[:, None, :, None]),
                normalizer=self.normalizer,
            )
        return x + attended.context[:, 0].transpose(1, 2).reshape(x.shape)

    def extra_repr(self) -> str:
        return f"channels={self.channels}, num_slots={self.num_slots}"
