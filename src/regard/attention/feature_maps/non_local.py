"""Non-local means that learn: every place of a feature map looks at every other (Wang 2018).

Shapes: x (B, C, *places), N places in all, M of them looked at (all, or fewer when subsampled);
query (B, 1, N, D), key and value (B, 1, M, D), weights (B, 1, N, M).
"""

from __future__ import annotations

import math
from contextlib import nullcontext
from typing import Literal

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from regard.attention.attend import attend
from regard.attention.engines import arguments
from regard.attention.engines.choice import Engine
from regard.attention.feature_maps.gate import check_feature_map, check_there
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
    """weight_j = s_j / n, n the keys that a query may see: no exponential, and no sum to one."""

    engines = frozenset({"dense"})
    sums_to_one = False

    def __call__(
        self, scores: Tensor, keep: Tensor | None = None, *, finite: bool = False
    ) -> Tensor:
        seen = scores.detach() > -math.inf
        seen = seen if keep is None else seen & keep
        number = seen.sum(dim=-1, keepdim=True).clamp(min=1)
        return torch.where(seen, scores, 0.0) / number

    def __repr__(self) -> str:
        return "ByCount()"


class NonLocal(nn.Module):
    """z_i = W_z Σ_j f(x_i, x_j) g(x_j) / C(x) + x_i over all places j (Wang 2018, §3).

    channels   C
    hidden     width of θ, φ and g, half the channels by default
    pairwise   "embedded": f = exp(θ(x_i)·φ(x_j)) and "gaussian": exp(x_i·x_j), divided by their
               sum, which is softmax; "dot": θ(x_i)·φ(x_j) and "concatenation":
               relu(w·[θ(x_i); φ(x_j)]), divided by the number of places
    subsample  places that are looked at: the largest of each s × s patch
    engine     of `attend`

    W_z begins at zero, so that the layer can be put into a trained network and changes nothing yet.
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
            raise ValueError(f'pairwise must be one of "{names}", but {pairwise!r} came.')
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
        """Whether a place's weights sum to one."""
        return self.normalizer.sums_to_one

    def forward(self, x: Tensor, there: Tensor | None = None) -> Tensor:
        """x (B, C, *places) with what each place found elsewhere added; the same shape.

        `there` (B, *places) is True where there is something and not padding: only that is seen.
        """
        check_feature_map(x, self.channels)
        check_there(x, there)
        arguments.same_dtype("x", x, self.out_proj.weight)
        seen, kept = self._subsampled(x, there)
        query, key = _as_rows(x), _as_rows(seen)
        compiling = torch.compiler.is_compiling()  # then nobody looks
        with nullcontext() if compiling else observe.describe_calls(observe.CallInfo("self")):
            attended = attend(
                self.query_proj(query),
                self.key_proj(key),
                self.value_proj(key),
                score=self.score,
                mask=None if kept is None else Mask.keep(kept.flatten(1)[:, None, None]),
                normalizer=self.normalizer,
                engine=self.engine,
            )
        found: Tensor = self.out_proj(attended.context)[:, 0]
        return x + found.transpose(1, 2).reshape(x.shape)

    def _subsampled(self, x: Tensor, there: Tensor | None) -> tuple[Tensor, Tensor | None]:
        """The places that are looked at, (B, C, *fewer), and which of them are there."""
        if self.subsample == 1:
            return x, there
        dims = x.ndim - 2
        if dims not in _POOL:
            raise ValueError(f"x must have 1, 2 or 3 dimensions of places, but {dims} came.")
        if there is None:
            return _POOL[dims](x, self.subsample, ceil_mode=True), None
        kept = _POOL[dims](there[:, None].to(x.dtype), self.subsample, ceil_mode=True)[:, 0] > 0
        low = torch.finfo(x.dtype).min
        pooled = _POOL[dims](x.masked_fill(~there[:, None], low), self.subsample, ceil_mode=True)
        return pooled.masked_fill(~kept[:, None], 0.0), kept

    def extra_repr(self) -> str:
        return f"channels={self.channels}, pairwise={self.pairwise!r}, subsample={self.subsample}"


def _as_rows(x: Tensor) -> Tensor:
    """(B, C, *places) as (B, 1, N, C): one head, a row for each place."""
    return x.flatten(2).transpose(1, 2)[:, None]
