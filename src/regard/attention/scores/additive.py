"""Additive attention (Bahdanau 2015) in memory linear in length.

s = v·tanh(W_q q + W_k k), which equals the concatenated form v·tanh(W [q; k]).

The sum W_q q + W_k k is a tensor (…, Q, K, H) that does not fit into memory for long sequences.
Here it exists only in tiles small enough for the processor's cache, and is recomputed in the
backward pass. With t = tanh(…) and g the gradient of a score,

    ∂q_h = v_h Σ_k g (1 − t_h²)      ∂k_h = v_h Σ_q g (1 − t_h²)      ∂v_h = Σ_qk g t_h

Shapes: Q queries, K keys, H hidden features, N = product of the leading dimensions.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Self

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from regard.attention.engines import arguments
from regard.attention.engines.precision import HALF, accumulated, as_given
from regard.attention.engines.tile import Index
from regard.attention.scores.prepared import Cell, GradOf, PreparedScore, take_rows
from regard.attention.scores.score import Score

CACHE_ELEMENTS = 1 << 20  # numbers of a tile of tanh that fit into the processor's cache
SAVED_ELEMENTS = 1 << 20  # so few are saved for the backward pass instead of recomputed


class Additive(Score):
    """s = v·tanh(W_q q + W_k k); queries and keys may differ in width.

    Parameters: `query_proj.weight` (hidden_dim, query_dim), `key_proj.weight` (hidden_dim,
    key_dim), `v` (hidden_dim,). A decoder that attends to the same keys at every step projects
    them once: `attend(query, score.key_proj(key), value, score=score.on_projected())`.
    """

    finite = True

    def __init__(self, query_dim: int, key_dim: int, hidden_dim: int) -> None:
        super().__init__()
        self.query_dim = arguments.positive("query_dim", query_dim)
        self.key_dim = arguments.positive("key_dim", key_dim)
        self.hidden_dim = arguments.positive("hidden_dim", hidden_dim)
        self.query_proj = nn.Linear(query_dim, hidden_dim, bias=False)
        self.key_proj = nn.Linear(key_dim, hidden_dim, bias=False)
        self.v = nn.Parameter(torch.empty(hidden_dim))
        nn.init.xavier_uniform_(self.query_proj.weight)
        nn.init.xavier_uniform_(self.key_proj.weight)
        nn.init.uniform_(self.v, -(hidden_dim**-0.5), hidden_dim**-0.5)

    def forward(self, query: Tensor, key: Tensor) -> Tensor:
        prepared = self.prepare(query, key)
        if query.shape[-2] != 1 or prepared.key.dtype in HALF:
            return plain_scores(prepared)
        # a decoding step: the projected keys are used only here, and become the sums in place
        if prepared.key.shape[:-2] != prepared.query.shape[:-2]:
            return plain_scores(prepared)
        sums = prepared.key.add_(prepared.query).tanh_()
        return (sums @ prepared.v)[..., None, :]

    def prepare(self, query: Tensor, key: Tensor) -> PreparedAdditive:
        v = self.v
        arguments.width("query", query, self.query_dim)
        arguments.width("key", key, self.key_dim)
        if query.dtype != v.dtype or key.dtype != v.dtype:
            arguments.same_dtype("query", query, v)
            arguments.same_dtype("key", key, v)
        return PreparedAdditive(self.query_proj(query), self.key_proj(key), v)

    def steps(self, query: Tensor, key: Tensor) -> Iterator[tuple[str, str, Tensor]]:
        yield "energies", "e_ij = v · tanh(W_q q_i + W_k k_j)", self(query, key)

    @property
    def numbers_per_score(self) -> int:
        return self.hidden_dim

    def on_projected(self) -> ProjectedAdditive:
        """The same score, over keys that `key_proj` has projected."""
        return ProjectedAdditive(self)

    def extra_repr(self) -> str:
        return f"query_dim={self.query_dim}, key_dim={self.key_dim}, hidden_dim={self.hidden_dim}"


class ProjectedAdditive(Score):
    """An `Additive` score whose keys are projected already; it shares the parameters."""

    finite = True

    def __init__(self, additive: Additive) -> None:
        super().__init__()
        self.additive = additive

    def forward(self, query: Tensor, key: Tensor) -> Tensor:
        return plain_scores(self.prepare(query, key))

    def prepare(self, query: Tensor, key: Tensor) -> PreparedAdditive:
        arguments.width("query", query, self.additive.query_dim)
        arguments.width("key", key, self.additive.hidden_dim)
        return PreparedAdditive(self.additive.query_proj(query), key, self.additive.v)

    def steps(self, query: Tensor, key: Tensor) -> Iterator[tuple[str, str, Tensor]]:
        yield "energies", "e_ij = v · tanh(W_q q_i + k_j)", self(query, key)

    @property
    def numbers_per_score(self) -> int:
        return self.additive.hidden_dim


@dataclass(frozen=True)
class PreparedAdditive(PreparedScore):
    """v·tanh(q + k) of projected queries (…, Q, H) and keys (…, K, H)."""

    query: Tensor
    key: Tensor
    v: Tensor

    @property
    def inputs(self) -> tuple[Tensor, ...]:
        return self.query, self.key, self.v

    def with_inputs(self, inputs: tuple[Tensor, ...]) -> Self:
        return replace(self, query=inputs[0], key=inputs[1], v=inputs[2])

    def scores(self) -> Tensor:
        few = math.prod(self.query.shape) * self.key.shape[-2] <= SAVED_ELEMENTS
        if few and not torch.is_grad_enabled():
            return plain_scores(self)
        function = _SavedScores if few else _TiledScores
        scores: Tensor = function.apply(*self.inputs)  # type: ignore[no-untyped-call]  # untyped in torch
        return scores

    def tile(self, rows: Index, cols: Index) -> Tensor:
        query, key = take_rows(self.query, rows), take_rows(self.key, cols)
        return self.with_inputs((query, key, self.v)).scores()

    def steps(self, rows: Index, cols: Index) -> Iterator[tuple[str, str, Tensor]]:
        yield "energies", "e_ij = v · tanh(q_i + k_j)", self.tile(rows, cols)

    def tile_backward(
        self, rows: slice, cols: slice, grad_of: GradOf, into: tuple[Tensor | None, ...]
    ) -> None:
        query, key = take_rows(self.query, rows), take_rows(self.key, cols)
        wanted = tuple(g is not None for g in into)
        grads = additive_scores_backward(query, key, self.v, grad_of, wanted)
        for target, grad, index in zip(into, grads, (rows, cols, None), strict=True):
            if target is not None and grad is not None:
                (target if index is None else take_rows(target, index)).add_(grad)


def plain_scores(prepared: PreparedAdditive) -> Tensor:
    """All scores as the formula reads, through the (…, Q, K, H) tensor."""
    query, key = accumulated(prepared.query), accumulated(prepared.key)
    with as_given(query.device):
        sums = query[..., :, None, :] + key[..., None, :, :]
        return sums.tanh_() @ accumulated(prepared.v)


class _SavedScores(torch.autograd.Function):
    """The scores of few queries and keys, whose tanh is saved for the backward pass."""

    @staticmethod
    def forward(ctx: Any, query: Tensor, key: Tensor, v: Tensor) -> Tensor:
        sums = accumulated(query)[..., :, None, :] + accumulated(key)[..., None, :, :]
        tanh = sums.tanh_()
        ctx.save_for_backward(tanh, v)
        ctx.dtypes = query.dtype, key.dtype, v.dtype
        with as_given(tanh.device):
            return tanh @ accumulated(v)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        tanh, v = ctx.saved_tensors
        wanted = ctx.needs_input_grad
        with as_given(tanh.device):
            for_v = grad.reshape(-1) @ tanh.reshape(-1, tanh.shape[-1]) if wanted[2] else None
        slope = grad[..., None] * accumulated(v)
        torch.ops.aten.tanh_backward.grad_input(slope, tanh, grad_input=slope)  # · (1 − tanh²)
        for_query = slope.sum(dim=-2) if wanted[0] else None
        single = slope.shape[-3] == 1
        for_key = (slope.squeeze(-3) if single else slope.sum(dim=-3)) if wanted[1] else None
        grads = (for_query, for_key, for_v)
        return tuple(
            None if g is None else g.to(dtype) for g, dtype in zip(grads, ctx.dtypes, strict=True)
        )


class _TiledScores(torch.autograd.Function):
    """`additive_scores` with its own backward, so that no tile of tanh is saved."""

    @staticmethod
    def forward(ctx: Any, query: Tensor, key: Tensor, v: Tensor) -> Tensor:
        ctx.save_for_backward(query, key, v)
        return additive_scores(query, key, v)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        query, key, v = ctx.saved_tensors
        grad_NQK = grad.reshape(-1, *grad.shape[-2:])
        grads = additive_scores_backward(
            query, key, v, lambda _, cell=None: grad_NQK[cell], ctx.needs_input_grad
        )
        return tuple(
            None if g is None else g.to(x.dtype)
            for g, x in zip(grads, (query, key, v), strict=True)
        )


def additive_scores(query: Tensor, key: Tensor, v: Tensor) -> Tensor:
    """v·tanh(q + k), (…, Q, K), of query (…, Q, H), key (…, K, H) and v (H,), tile by tile."""
    cells = _TanhCells(query, key)
    scores_NQK = cells.query_NQH.new_empty(cells.num_scores)
    v = accumulated(v)
    with as_given(v.device):
        for n, i, j in cells:
            scores_NQK[n, i, j] = cells.tanh(n, i, j) @ v
    return scores_NQK.reshape(*query.shape[:-1], key.shape[-2])


def additive_scores_backward(
    query: Tensor, key: Tensor, v: Tensor, grad_of: GradOf, wanted: tuple[bool, ...]
) -> tuple[Tensor | None, Tensor | None, Tensor | None]:
    """Gradients of query, key and v (those wanted), given that of the scores, cell by cell.

    Σ g (1 − t²) is taken as Σ g − Σ g t²: the first sums are cheap, the second are matrix products.
    """
    cells = _TanhCells(query, key)
    hidden = v.shape[0]
    v = accumulated(v)
    for_query = torch.zeros_like(cells.query_NQH) if wanted[0] else None
    for_key = torch.zeros_like(cells.key_NKH) if wanted[1] else None
    for_v = torch.zeros_like(v) if wanted[2] else None
    with as_given(v.device):
        for n, i, j in cells:
            tanh = cells.tanh(n, i, j)
            g = grad_of(tanh @ v, (n, i, j))
            if for_v is not None:
                for_v += g.reshape(-1) @ tanh.view(-1, hidden)
            square = tanh.square_()
            if for_query is not None:
                for_query[n, i] += g.sum(-1, keepdim=True) - (g[:, :, None, :] @ square)[:, :, 0]
            if for_key is not None:
                for_key[n, j] += g.sum(1)[..., None] - square.mul_(g[..., None]).sum(dim=1)
    return (
        None if for_query is None else for_query.mul_(v).reshape(query.shape),
        None if for_key is None else for_key.mul_(v).reshape(key.shape),
        for_v,
    )


class _TanhCells:
    """The scores' matrix cut into cells whose tanh (n, q, k, H) fits into a core's cache."""

    def __init__(self, query: Tensor, key: Tensor) -> None:
        lead = math.prod(query.shape[:-2])
        self.query_NQH = accumulated(query).reshape(lead, *query.shape[-2:])
        self.key_NKH = accumulated(key).reshape(lead, *key.shape[-2:])
        self.buffer = self.query_NQH.new_empty(0)

    @property
    def num_scores(self) -> tuple[int, int, int]:
        """(N, Q, K)."""
        return *self.query_NQH.shape[:2], self.key_NKH.shape[1]

    def __iter__(self) -> Iterator[Cell]:
        num, num_queries, num_keys = self.num_scores
        room = max(1, CACHE_ELEMENTS // max(1, self.query_NQH.shape[-1]))  # scores in a cell
        keys = min(num_keys, max(64, room // max(1, num_queries)))
        queries = max(1, min(num_queries, room // max(1, keys)))
        rows = max(1, room // max(1, queries * keys)) if queries == num_queries else 1
        for n in range(0, num, rows):
            for i in range(0, num_queries, queries):
                for j in range(0, num_keys, max(1, keys)):
                    yield slice(n, n + rows), slice(i, i + queries), slice(j, j + keys)

    def tanh(self, n: slice, i: slice, j: slice) -> Tensor:
        """tanh(q + k) of a cell, (n, q, k, H), in memory that the next cell overwrites."""
        query, key = self.query_NQH[n, i, None, :], self.key_NKH[n, None, j, :]
        if torch.compiler.is_compiling():  # the compiler plans memory
            return torch.tanh(query + key)
        shape = torch.broadcast_shapes(query.shape, key.shape)
        size = math.prod(shape)
        if self.buffer.numel() < size:
            self.buffer = self.buffer.new_empty(size)
        return torch.add(query, key, out=self.buffer[:size].view(shape)).tanh_()
