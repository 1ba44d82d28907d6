"""Scoring functions: the similarity of a query and a key.

Shapes: query (…, Q, Dq), key (…, K, Dk), scores (…, Q, K), all of one leading shape.
A score is called as `score(query, key)`. One that is a dot product of mapped queries and keys
(`as_dot`) runs on every engine. `Additive` and `Gaussian` have files of their own.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from regard.attention.engines import arguments
from regard.attention.engines.precision import accumulated
from regard.attention.scores.prepared import PreparedDot, PreparedPlain, PreparedScore

_WITHOUT_FUSED = frozenset({"dense", "blockwise"})
_ALL_ENGINES = _WITHOUT_FUSED | {"fused"}


class Score(nn.Module):
    """Base of all scores; a new one only needs `forward` and runs on dense and blockwise.

    The score of a key must not depend on other keys, since engines compute scores by tiles.
    """

    finite = False  # whether finite queries and keys always get finite scores
    centers_keys = False  # whether `as_dot` uses `visible`
    equation = "score(q_i, k_j)"  # for `trace`

    def forward(self, query: Tensor, key: Tensor) -> Tensor:
        """Scores (…, Q, K)."""
        raise NotImplementedError(f"{type(self).__name__} must define forward(query, key).")

    def as_dot(
        self, query: Tensor, key: Tensor, visible: Tensor | None = None
    ) -> PreparedDot | None:
        """The score as a dot product of mapped queries and keys, or None if it is not one.

        `visible` (…, K, 1) is True where some query may attend to the key.
        """
        return None

    def rounds_as_dot(self, query: Tensor, key: Tensor) -> bool:
        """Whether the dot product would be less exact than the formula: `auto` then avoids it."""
        return False

    def prepare(self, query: Tensor, key: Tensor) -> PreparedScore:
        """The score prepared for tiled engines: projections done, nothing (Q, K) yet."""
        return self.as_dot(query, key) or PreparedPlain.of(self, query, key)

    def steps(self, query: Tensor, key: Tensor) -> Iterator[tuple[str, str, Tensor]]:
        """Name, equation and scores (…, Q, K) of every step of the formula, for `trace`."""
        yield "raw scores", f"s_ij = {self.equation}", accumulated(self(query, key))

    @property
    def numbers_per_score(self) -> int:
        """The size of the plain formula's largest tensor for each pair of query and key."""
        return 1

    @property
    def engines(self) -> frozenset[str]:
        """The engines that can run this score."""
        return _WITHOUT_FUSED if type(self).as_dot is Score.as_dot else _ALL_ENGINES


class _DotScore(Score):
    """A score that is a dot product of mapped queries and keys."""

    finite = True

    def forward(self, query: Tensor, key: Tensor) -> Tensor:
        prepared = self.as_dot(query, key)
        assert prepared is not None
        return prepared.scores()


class Uniform(_DotScore):
    """s = 0 for every key, so that attention is average pooling."""

    equation = "0"

    def as_dot(self, query: Tensor, key: Tensor, visible: Tensor | None = None) -> PreparedDot:
        return PreparedDot(
            query.new_zeros((*query.shape[:-1], 1)), key.new_zeros((*key.shape[:-1], 1))
        )


class ScaledDot(_DotScore):
    """s = scale · q·k, with scale 1/√D unless given (Vaswani 2017, §3.2.1).

    Entries of mean 0 and variance 1 give dot products of variance D; dividing by √D keeps it 1.
    `softcap` bounds the scores softly: cap · tanh(s / cap).
    """

    def __init__(self, scale: float | None = None, softcap: float | None = None) -> None:
        super().__init__()
        if softcap is not None and arguments.real("softcap", softcap) <= 0:
            raise ValueError(f"softcap must be above zero or None, got {softcap}.")
        if scale is not None:
            arguments.real("scale", scale)
        self.scale = scale
        self.softcap = softcap

    def as_dot(self, query: Tensor, key: Tensor, visible: Tensor | None = None) -> PreparedDot:
        same_width(self, query, key)
        scale = 1 / math.sqrt(max(query.shape[-1], 1)) if self.scale is None else self.scale
        return PreparedDot(query, key, scale, self.softcap)

    def steps(self, query: Tensor, key: Tensor) -> Iterator[tuple[str, str, Tensor]]:
        rows, cols = slice(0, query.shape[-2]), slice(0, key.shape[-2])
        yield from self.as_dot(query, key).steps(rows, cols)

    @property
    def engines(self) -> frozenset[str]:
        return _ALL_ENGINES if self.softcap is None else _WITHOUT_FUSED

    def extra_repr(self) -> str:
        return f"scale={self.scale}, softcap={self.softcap}"


class Dot(ScaledDot):
    """s = q·k (Luong 2015, "dot")."""

    def __init__(self, softcap: float | None = None) -> None:
        super().__init__(1.0, softcap)


class General(_DotScore):
    """s = qᵀ W k (Luong 2015, "general"); queries and keys may differ in width.

    `weight` is (query_dim, key_dim).
    """

    equation = "q_iᵀ W k_j"

    def __init__(self, query_dim: int, key_dim: int) -> None:
        super().__init__()
        self.query_dim = arguments.positive("query_dim", query_dim)
        self.key_dim = arguments.positive("key_dim", key_dim)
        self.weight = nn.Parameter(torch.empty(query_dim, key_dim))
        nn.init.xavier_uniform_(self.weight)

    def as_dot(self, query: Tensor, key: Tensor, visible: Tensor | None = None) -> PreparedDot:
        arguments.width("query", query, self.query_dim)
        arguments.width("key", key, self.key_dim)
        arguments.same_dtype("query", query, self.weight)
        return PreparedDot(*_one_dtype(F.linear(query, self.weight.t()), key))

    def extra_repr(self) -> str:
        return f"query_dim={self.query_dim}, key_dim={self.key_dim}"


class Cosine(_DotScore):
    """s = scale · q·k / (|q| |k|): only the direction matters, and scores are within ±scale."""

    equation = "scale · q_i · k_j / |q_i| |k_j|"

    def __init__(self, scale: float = 1.0, eps: float = 1e-8) -> None:
        super().__init__()
        self.scale = scale
        self.eps = eps

    def as_dot(self, query: Tensor, key: Tensor, visible: Tensor | None = None) -> PreparedDot:
        same_width(self, query, key)
        query, key = accumulated(query), accumulated(key)
        return PreparedDot(
            F.normalize(query, dim=-1, eps=self.eps),
            F.normalize(key, dim=-1, eps=self.eps),
            self.scale,
        )

    def extra_repr(self) -> str:
        return f"scale={self.scale}"


class Location(_DotScore):
    """s = W q: from the query alone, one number per key position (Luong 2015, "location").

    `weight` is (max_keys, query_dim); fewer keys use its first rows.
    """

    equation = "(W q_i)_j"

    def __init__(self, query_dim: int, max_keys: int) -> None:
        super().__init__()
        self.query_dim = arguments.positive("query_dim", query_dim)
        self.max_keys = arguments.positive("max_keys", max_keys)
        self.weight = nn.Parameter(torch.empty(max_keys, query_dim))
        nn.init.xavier_uniform_(self.weight)

    def as_dot(self, query: Tensor, key: Tensor, visible: Tensor | None = None) -> PreparedDot:
        arguments.width("query", query, self.query_dim)
        num_keys = key.shape[-2]
        if num_keys > self.max_keys:
            raise ValueError(
                f"Location scores at most {self.max_keys} keys (max_keys), got {num_keys}."
            )
        rows = self.weight[:num_keys].expand(*key.shape[:-2], num_keys, self.query_dim)
        return PreparedDot(*_one_dtype(query, rows))

    def extra_repr(self) -> str:
        return f"query_dim={self.query_dim}, max_keys={self.max_keys}"


def same_width(score: Score, query: Tensor, key: Tensor) -> None:
    """Check that queries and keys can be compared feature by feature."""
    if query.shape[-1] != key.shape[-1]:
        raise ValueError(
            f"{type(score).__name__} needs queries and keys of one width, got query of shape "
            f"{arguments.shape(query)} and key of shape {arguments.shape(key)}; "
            "Additive and General take different widths."
        )


def _one_dtype(query: Tensor, key: Tensor) -> tuple[Tensor, Tensor]:
    """Both in the wider of their dtypes: under autocast a projection may come out narrower."""
    dtype = torch.promote_types(query.dtype, key.dtype)
    return query.to(dtype), key.to(dtype)
