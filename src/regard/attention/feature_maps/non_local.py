"""Non-local neural networks: every position of a feature map attends to all (Wang 2018).

Shapes: x (B, C, *positions), N positions in all, M keys (all positions, or fewer if subsampled);
query (B, 1, N, D), key and value (B, 1, M, D), weights (B, 1, N, M).
"""

from __future__ import annotations

import math
from typing import Literal

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from regard.attention.attend import attend
from regard.attention.engines import arguments
from regard.attention.engines.choice import Engine
from regard.attention.feature_maps.gates import check_feature_map, check_mask
from regard.attention.inspection import observe
from regard.attention.masks.mask import Mask
from regard.attention.normalizers.normalizer import Normalizer, Softmax
from regard.attention.scores.score import Dot, Score

Pairwise = Literal["embedded", "gaussian", "dot", "concatenation"]
PAIRWISE = ("embedded", "gaussian", "dot", "concatenation")
_POOL = {1: F.max_pool1d, 2: F.max_pool2d, 3: F.max_pool3d}


class Concatenation(Score):
    """s = relu(w · [q; k]), which is relu(w_q·q + w_k·k)."""

    finite = True

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.query_weight = nn.Parameter(torch.empty(dim))
        self.key_weight = nn.Parameter(torch.empty(dim))
        for part in (self.query_weight, self.key_weight):
            nn.init.normal_(part, std=1 / math.sqrt(2 * dim))

    def forward(self, query: Tensor, key: Tensor) -> Tensor:
        return torch.relu(
            (query @ self.query_weight)[..., :, None] + (key @ self.key_weight)[..., None, :]
        )


class ByCount:
    """weight_j = s_j / n, n the number of unmasked keys; weights need not sum to one."""

    engines = frozenset({"dense"})
    sums_to_one = False

    def __call__(
        self, scores: Tensor, keep: Tensor | None = None, *, finite: bool = False
    ) -> Tensor:
        unmasked = scores.detach() > -math.inf
        unmasked = unmasked if keep is None else unmasked & keep
        count = unmasked.sum(dim=-1, keepdim=True).clamp(min=1)
        return torch.where(unmasked, scores, 0.0) / count

    def __repr__(self) -> str:
        return "ByCount()"


class NonLocal(nn.Module):
    """z_i = W_z Σ_j f(x_i, x_j) g(x_j) / C(x) + x_i over all positions j (Wang 2018, §3).

    channels   C
    hidden     width of θ, φ and g, half the channels by default
    pairwise   "embedded": f = exp(θ(x_i)·φ(x_j)) and "gaussian": exp(x_i·x_j), divided by their
               sum, which is softmax; "dot": θ(x_i)·φ(x_j) and "concatenation":
               relu(w·[θ(x_i); φ(x_j)]), divided by the number of positions
    subsample  s: keys and values are the maxima of s × s patches
    engine     of `attend`

    W_z is initialized to zero, so that adding the layer to a trained network does not change it.
    """

    def __init__(
        self,
        channels: int,
        *,
        hidden: int | None = None,
        pairwise: Pairwise = "embedded",
        subsample: int = 1,
        engine: Engine = "auto",
    ) -> None:
        super().__init__()
        self.channels = arguments.positive("channels", channels)
        hidden = max(1, channels // 2) if hidden is None else arguments.positive("hidden", hidden)
        if pairwise not in PAIRWISE:
            names = '", "'.join(PAIRWISE)
            raise ValueError(f'pairwise must be one of "{names}", got {pairwise!r}.')
        self.pairwise = pairwise
        self.subsample = arguments.positive("subsample", subsample)
        self.engine: Engine = engine
        embeds = pairwise != "gaussian"
        self.query_proj = nn.Linear(channels, hidden) if embeds else nn.Identity()
        self.key_proj = nn.Linear(channels, hidden) if embeds else nn.Identity()
        self.value_proj = nn.Linear(channels, hidden)
        self.out_proj = nn.Linear(hidden, channels)
        nn.init.zeros_(self.out_proj.weight)
        nn.init.zeros_(self.out_proj.bias)
        self.score: Score = Concatenation(hidden) if pairwise == "concatenation" else Dot()
        plain = pairwise in ("embedded", "gaussian")
        self.normalizer: Normalizer = Softmax() if plain else ByCount()

    @property
    def sums_to_one(self) -> bool:
        """Whether the weights of a position sum to one."""
        return self.normalizer.sums_to_one

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        """Return x (B, C, *positions) plus the context of each position.

        `mask` (B, *positions) is False at padding, which is not attended to.
        """
        check_feature_map(x, self.channels)
        check_mask(x, mask)
        arguments.same_dtype("x", x, self.out_proj.weight)
        keys, key_mask = self._subsample(x, mask)
        query, key = as_rows(x), as_rows(keys)
        with observe.describe_calls(observe.CallInfo("self")):
            attended = attend(
                self.query_proj(query),
                self.key_proj(key),
                self.value_proj(key),
                score=self.score,
                mask=None if key_mask is None else Mask.keep(key_mask.flatten(1)[:, None, None]),
                normalizer=self.normalizer,
                engine=self.engine,
            )
        context: Tensor = self.out_proj(attended.context)[:, 0]
        return x + context.transpose(1, 2).reshape(x.shape)

    def _subsample(self, x: Tensor, mask: Tensor | None) -> tuple[Tensor, Tensor | None]:
        """Return the positions to attend to, (B, C, *fewer), and their mask."""
        if self.subsample == 1:
            return x, mask
        dims = x.ndim - 2
        if dims not in _POOL:
            raise ValueError(f"x must have 1, 2 or 3 dimensions of positions, got {dims}.")
        if mask is None:
            return _POOL[dims](x, self.subsample, ceil_mode=True), None
        pooled_mask = (
            _POOL[dims](mask[:, None].to(x.dtype), self.subsample, ceil_mode=True)[:, 0] > 0
        )
        low = torch.finfo(x.dtype).min
        pooled = _POOL[dims](x.masked_fill(~mask[:, None], low), self.subsample, ceil_mode=True)
        return pooled.masked_fill(~pooled_mask[:, None], 0.0), pooled_mask

    def extra_repr(self) -> str:
        return f"channels={self.channels}, pairwise={self.pairwise!r}, subsample={self.subsample}"


def as_rows(x: Tensor) -> Tensor:
    """Return (B, C, *positions) as (B, 1, N, C): one head, one row per position."""
    return x.flatten(2).transpose(1, 2)[:, None]
