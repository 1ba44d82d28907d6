"""Reformer: a token attends only to tokens of the same hash, gathered in chunks.

Shapes: query (B, H, Q, D), key (B, H, K, D), value (B, H, K, Dv); R rounds; bucket and tag
(B, H, R, K). The chunked computation works on rows N = B·H of K positions, laid out in C chunks of
c slots: (N, R, C, c, …).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import torch
from torch import Tensor
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint

from regard.attention.attend import Attended, attend
from regard.attention.engines import arguments
from regard.attention.engines.call import AttentionCall
from regard.attention.engines.precision import accumulated, as_given
from regard.attention.engines.tile import Tile, take
from regard.attention.layers.cache import Cache
from regard.attention.masks.bias import Bias
from regard.attention.masks.mask import Mask
from regard.attention.mechanisms.mechanism import AttentionInput, Mechanism, NewTokens
from regard.config.mechanisms import ReformerSettings

SHORT = 64  # tokens up to which one tile costs less than sorting
NUMBERS_AT_ONCE = 1 << 20  # sorted numbers in memory, over rows, rounds, positions and width
NEXT_BUCKET = 1 << 32  # tags of different buckets are this far apart: more than chunks there are
ONE_HASH = 64  # buckets up to which each has a direction of its own
HIDDEN = -NEXT_BUCKET  # the tag of a masked token


@dataclass(frozen=True, eq=False)
class SameChunk(Mask):
    """Pairs that share a chunk in some round; a token that shares none attends to itself.

    tag      (B, H, R, K)  the chunk of each key: a token's pairs are in its own and the one before
    earlier  whether a token attends only to those before it
    offset   the position of the first query among the keys
    """

    tag: Tensor
    earlier: bool
    offset: int

    def tile(self, tile: Tile) -> Tensor:
        rows = tile.rows
        if isinstance(rows, slice):
            rows = torch.arange(rows.start, rows.stop, device=self.tag.device)
        query = (rows + self.offset)[:, None]
        key = torch.arange(self.tag.shape[-1], device=query.device)
        paired = self._paired(query[:, 0]) & ((key < query) if self.earlier else (key != query))
        unmasked = self.tag[:, :, 0].index_select(-1, query[:, 0])[..., None] >= 0
        alone = ~paired.any(dim=-1, keepdim=True) & (key == query)
        return take((paired | alone) & unmasked, tile.cols, -1)

    @property
    def is_causal(self) -> bool:
        return self.earlier

    def _paired(self, query: Tensor) -> Tensor:
        """(B, H, r, K): whether query and key share a chunk in some round."""
        rounds = self.tag.unbind(2)
        near = [
            is_near(tag.index_select(-1, query)[..., None], tag[..., None, :]) for tag in rounds
        ]
        return torch.stack(near).any(dim=0)


@dataclass(frozen=True, eq=False)
class HashCache:
    """Scaled keys (B, H, T, D), values (B, H, T, Dv), and the chunks they belong to.

    tag     (B, H, R, T)  their chunks
    counts  (B, H, R, num_buckets)  the number of tokens in each bucket
    """

    key: Tensor
    value: Tensor
    tag: Tensor
    counts: Tensor

    @property
    def length(self) -> int:
        return self.key.shape[-2]

    def select(self, rows: Tensor) -> HashCache:
        parts = (self.key, self.value, self.tag, self.counts)
        return HashCache(*(x.index_select(0, rows) for x in parts))


class Reformer(Mechanism):
    """softmax over the tokens of the same bucket, by angular hashing (Kitaev 2020).

    Keys are the queries, scaled to unit length; the score is q·k / |k| (full attention's for keys
    of length √D). In each round tokens are sorted by bucket and position and cut into chunks; a
    token attends to those of its bucket in its own chunk and the one before. A pair of several
    rounds counts once. A token attends to itself only if there is no other. More than 64 buckets
    are those of two hashes combined, so that hashing stays cheap.

    Every bucket begins a new chunk, and the number of buckets does not depend on the length. So
    the pairs do not depend on later tokens, and decoding step by step gives the same result.

    head_dim     D
    chunk        tokens compared with each other
    num_buckets  of each round, an even number
    num_rounds   R
    """

    facts = ReformerSettings.facts
    shares_query = True
    cache_type = HashCache
    rotations: Tensor

    def __init__(
        self, head_dim: int, chunk: int = 16, num_buckets: int = 8, num_rounds: int = 4
    ) -> None:
        super().__init__()
        self.head_dim = arguments.positive("head_dim", head_dim)
        self.chunk = arguments.positive("chunk", chunk)
        self.num_buckets = arguments.positive("num_buckets", num_buckets)
        self.num_rounds = arguments.positive("num_rounds", num_rounds)
        if num_buckets % 2:
            raise ValueError(f"num_buckets must be an even number, got {num_buckets}.")
        self.factors = factors(num_buckets)
        directions = sum(self.factors) // 2
        self.register_buffer("rotations", torch.randn(num_rounds, head_dim, directions))

    def context(self, call: AttentionInput) -> Tensor:
        clean = call.without_padding()
        key = self.scaled_keys(clean.key)
        if key.shape[-2] <= max(self.chunk, SHORT):  # one tile holds all: sorting would cost more
            return attend(call.query, key, clean.value, mask=self.pattern(call)).context
        self._check(call)
        query = F.pad(call.query, (0, 0, call.offset, 0))
        context = self._chunked(query, key, clean.value, self._buckets(call), call.causal)
        return context[..., call.offset :, :]

    def weight_source(self, call: AttentionInput) -> AttentionCall:
        scaled = replace(call, key=self.scaled_keys(call.key))
        return scaled.softmax_call(self.pattern(call))

    def pattern(self, call: AttentionInput) -> Mask:
        """Full attention over `scaled_keys` under this mask gives the same result."""
        self._check(call)
        bucket = self._buckets(call)
        if bucket.shape[-1] <= self.chunk:
            tag = bucket * NEXT_BUCKET
        else:
            tag = tags(bucket, ranks(bucket, self.num_buckets + 1)[0], self.chunk)
        tag = tag.masked_fill(bucket == self.num_buckets, HIDDEN)
        return SameChunk(tag, call.causal, call.offset)

    def scaled_keys(self, key: Tensor) -> Tensor:
        """√D · k / |k|: with these, scaled dot products are q·k / |k|."""
        length: float = self.head_dim**0.5
        return F.normalize(key, dim=-1) * length

    def empty(self, key: Tensor, value: Tensor) -> HashCache:
        rounds = (*key.shape[:2], self.num_rounds)
        integers = torch.zeros(*rounds, self.num_buckets, dtype=torch.long, device=key.device)
        return HashCache(key, value, integers[..., :0], integers)

    def _decode(
        self, tokens: NewTokens, cache: Cache, bias: Bias | None, weights: bool
    ) -> Attended:
        assert isinstance(cache, HashCache)
        query, key, value = tokens
        bucket = self._hashes(key)
        rank, counts = ranks(bucket, self.num_buckets)
        tag = tags(bucket, rank + cache.counts.gather(-1, bucket), self.chunk)
        extended = HashCache(
            torch.cat([cache.key, self.scaled_keys(key)], -2),
            torch.cat([cache.value, value], -2),
            torch.cat([cache.tag, tag], -1),
            cache.counts + counts,
        )
        if not cache.length and key.shape[-2] > 1:  # a prompt, at the parallel computation's cost
            attended: Attended = self(query, key, value, mask=Mask.causal(), weights=weights)
            return replace(attended, cache=extended)
        pairs = query.shape[-2] * extended.length
        attended = attend(
            query,
            extended.key,
            extended.value,
            weights=weights,
            mask=SameChunk(extended.tag, True, cache.length),
            engine="auto" if pairs <= SHORT**2 * 16 else "blockwise",
        )
        return replace(attended, cache=extended)

    def _check(self, call: AttentionInput) -> None:
        arguments.width("heads", call.key, self.head_dim)
        if call.offset < 0:
            raise ValueError(
                f"Reformer's queries are among its keys, got {call.query.shape[-2]} queries and "
                f"{call.key.shape[-2]} keys; use attention full."
            )

    @torch.no_grad()
    def _hashes(self, key: Tensor) -> Tensor:
        """(B, H, R, T): the nearest of random directions and their opposites, for each factor."""
        key = accumulated(key)
        with as_given(key.device):
            turned = key[:, :, None] @ self.rotations.to(key.dtype)
        parts = turned.split([factor // 2 for factor in self.factors], dim=-1)
        bucket = torch.zeros((), dtype=torch.long, device=key.device)
        for factor, part in zip(self.factors, parts, strict=True):
            bucket = bucket * factor + torch.cat([part, -part], dim=-1).argmax(dim=-1)
        return bucket

    def _buckets(self, call: AttentionInput) -> Tensor:
        """(B, H, R, K): the buckets, with one more for padding."""
        bucket, padding = self._hashes(call.key), call.padding()
        if padding is None:
            return bucket
        return bucket.masked_fill(padding.transpose(-2, -1), self.num_buckets)

    def _chunked(
        self, query: Tensor, key: Tensor, value: Tensor, bucket: Tensor, causal: bool
    ) -> Tensor:
        """The context (B, H, K, Dv), some rows at a time, each recomputed in the backward pass."""
        flat = [x.flatten(0, 1) for x in (query, key, value, bucket)]
        step = max(1, NUMBERS_AT_ONCE // (self.num_rounds * query.shape[-2] * self.head_dim))
        blocks = list(zip(*(x.split(step) for x in flat), strict=True))
        once = len(blocks) == 1 or not torch.is_grad_enabled() or torch.compiler.is_compiling()
        parts = []
        for block in blocks:
            plan = (*block, self.chunk, self.num_buckets, causal)
            parts.append(
                chunked(*plan)
                if once
                else checkpoint(chunked, *plan, use_reentrant=False, preserve_rng_state=False)
            )
        context: Tensor = torch.cat(parts).unflatten(0, query.shape[:2])
        return context

    def extra_repr(self) -> str:
        sizes = f"num_buckets={self.num_buckets}, num_rounds={self.num_rounds}"
        return f"{self.head_dim}, chunk={self.chunk}, {sizes}"


def factors(num_buckets: int) -> tuple[int, ...]:
    """Even numbers whose product is `num_buckets`: with two, many buckets need few directions.

    >>> factors(8), factors(512), factors(2 * 127)
    ((8,), (16, 32), (254,))
    """
    pairs = [(n, num_buckets // n) for n in range(2, num_buckets, 2) if num_buckets % (2 * n) == 0]
    small = [pair for pair in pairs if pair[0] <= pair[1]]
    return small[-1] if num_buckets > ONE_HASH and small else (num_buckets,)


def ranks(bucket: Tensor, num_buckets: int) -> tuple[Tensor, Tensor]:
    """The rank (…, T) of each token within its bucket, and the buckets' sizes (…, num_buckets)."""
    order = bucket.argsort(dim=-1, stable=True)
    every = torch.arange(order.shape[-1], device=order.device).expand_as(order)
    rank = torch.empty_like(order).scatter_(-1, order, every)
    counts = bucket.new_zeros(*bucket.shape[:-1], num_buckets)
    counts.scatter_add_(-1, bucket, torch.ones_like(bucket))
    return rank - (counts.cumsum(-1) - counts).gather(-1, bucket), counts


def tags(bucket: Tensor, rank: Tensor, chunk: int) -> Tensor:
    """The number of each token's chunk, with a wide gap from one bucket to the next."""
    return bucket * NEXT_BUCKET + rank // chunk


def is_near(row: Tensor, col: Tensor) -> Tensor:
    """Whether the key's chunk is the query's or the one before it."""
    return (row == col) | (row == col + 1)


def chunked(
    query: Tensor, key: Tensor, value: Tensor, bucket: Tensor, chunk: int, none: int, causal: bool
) -> Tensor:
    """The context (N, K, Dv) of rows (N, K, D) with buckets (N, R, K); bucket `none` is padding."""
    with as_given(value.device):
        rank, counts = ranks(bucket, none + 1)
        tag = tags(bucket, rank, chunk).masked_fill(bucket == none, HIDDEN)
        chunks = (counts + chunk - 1) // chunk
        slot = (chunks.cumsum(-1) - chunks).gather(-1, bucket) * chunk + rank
        tokens = _tokens(slot, chunk, chunks)
        sums, mass, level = _rounds(query, key, value, tag, tokens, causal)
        sums, mass, level = (_by_position(x, slot) for x in (sums, mass, level))
        top = level.amax(dim=1, keepdim=True)
        share = (level - top.masked_fill(top == -math.inf, 0.0)).exp()
        total, weight = (sums * share).sum(dim=1), (mass * share).sum(dim=1)
        alone = (weight == 0) & (tag[:, 0, :, None] >= 0)
        merged = total / weight.masked_fill(weight == 0, 1.0)
        return torch.where(alone, accumulated(value), merged).to(value.dtype)


def _tokens(slot: Tensor, chunk: int, chunks: Tensor) -> Tensor:
    """(N, R, C, c): the token in each slot; K where there is none."""
    if torch.compiler.is_compiling():  # the most there can be, so that the shape is known
        num_chunks = slot.shape[-1] // chunk + chunks.shape[-1]
    else:
        num_chunks = int(chunks.sum(-1).max())
    tokens = slot.new_full((*slot.shape[:-1], num_chunks * chunk), slot.shape[-1])
    every = torch.arange(slot.shape[-1], device=slot.device).expand_as(slot)
    tokens = tokens.scatter_(-1, slot, every)
    return tokens.reshape(*slot.shape[:-1], num_chunks, chunk)


def _rounds(
    query: Tensor, key: Tensor, value: Tensor, tag: Tensor, tokens: Tensor, causal: bool
) -> tuple[Tensor, Tensor, Tensor]:
    """Σ e^{s − level} v, Σ e^{s − level} and level (N, R, C, c, ·), of every round."""
    rows, cols = tokens[..., None], _with_before(tokens)[..., None, :]
    times, paired = _times_paired(F.pad(tag, (0, 1), value=HIDDEN), tokens)
    visible = paired & ((cols < rows) if causal else (cols != rows))
    visible[:, :, 0, :, : tokens.shape[-1]] = False  # nothing is before the first chunk
    queries, keys, values = (_in_slots(accumulated(x), tokens) for x in (query, key, value))
    scores = (queries * query.shape[-1] ** -0.5) @ _with_before(keys, -2).transpose(-2, -1)
    scores = (scores - times.clamp(min=1).to(scores.dtype).log()).masked_fill(~visible, -math.inf)
    level = scores.detach().amax(dim=-1, keepdim=True)
    parts = (scores - level.masked_fill(level == -math.inf, 0.0)).exp()
    return parts @ _with_before(values, -2), parts.sum(dim=-1, keepdim=True), level


def _times_paired(tag: Tensor, tokens: Tensor) -> tuple[Tensor, Tensor]:
    """(N, R, C, c, 2c): in how many rounds a pair shares a chunk, and whether in this one."""
    flat = tokens.flatten(1)
    times = torch.zeros((), dtype=torch.int16, device=tag.device)
    own = []
    for number, of_round in enumerate(tag.unbind(1)):
        row = of_round.gather(1, flat).reshape(tokens.shape)
        near = is_near(row[..., None], _with_before(row)[..., None, :]) & (row >= 0)[..., None]
        times = times + near
        own.append(near[:, number])
    return times, torch.stack(own, dim=1)


def _with_before(x: Tensor, dim: int = -1) -> Tensor:
    """Each chunk after the one before it: (N, R, C, 2c, …) of (N, R, C, c, …)."""
    return torch.cat([x.roll(1, dims=2), x], dim=dim)


def _in_slots(x: Tensor, tokens: Tensor) -> Tensor:
    """(N, R, C, c, D): rows (N, K, D) laid out in slots, zero where there is no token."""
    x = F.pad(x, (0, 0, 0, 1))
    start = torch.arange(x.shape[0], device=x.device)[:, None, None, None] * x.shape[1]
    slots = x.flatten(0, 1).index_select(0, (tokens + start).flatten())
    return slots.reshape(*tokens.shape, x.shape[-1])


def _by_position(x: Tensor, slot: Tensor) -> Tensor:
    """(N, R, K, ·): the slots (N, R, C, c, ·) in the order of their tokens."""
    return x.flatten(2, 3).gather(2, slot[..., None].expand(*slot.shape, x.shape[-1]))
