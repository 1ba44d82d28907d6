"""Reformer: a word looks only at words that a hash finds alike, sorted together in chunks.

Shapes: query (B, H, Q, D), key (B, H, K, D), value (B, H, K, Dv); R rounds; bucket and section
(B, H, R, K). The chunked form works on rows N = B·H of T places (K padded to whole chunks), sorted
and cut into C chunks of c: (N, R, C, c, …).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import torch
from torch import Tensor
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint

from regard.attention import arguments
from regard.attention.attend import Attended, attend
from regard.attention.bias import Bias
from regard.attention.cache import Cache
from regard.attention.call import Call
from regard.attention.mask import Mask
from regard.attention.mechanisms.full import SCORE, softmax_call
from regard.attention.mechanisms.mechanism import Asked, Declared, Mechanism, hidden_keys
from regard.attention.precision import accumulated, as_given
from regard.attention.tile import Tile, take

NUMBERS_AT_ONCE = 1 << 20  # sorted numbers held at a time, over rows, rounds, places and width


@dataclass(frozen=True, eq=False)
class SameBucket(Mask):
    """Pairs of different words that share a bucket in some round; alone, a word sees itself.

    bucket   (B, H, R, K)  of every key; `none` is that of a hidden one
    section  (B, H, R, K)  the chunk it was sorted to: a pair must be in the same one, or the key
             in the one before; None: anywhere
    earlier  whether a word sees only those before it
    offset   the place of the first query among the keys
    """

    bucket: Tensor
    section: Tensor | None
    none: int
    earlier: bool
    offset: int

    def tile(self, tile: Tile) -> Tensor:
        rows = tile.rows
        if isinstance(rows, slice):
            rows = torch.arange(rows.start, rows.stop, device=self.bucket.device)
        place = rows + self.offset
        every = torch.arange(self.bucket.shape[-1], device=place.device)
        alike = self._alike(place) & (every != place[:, None])
        if self.earlier:
            alike = alike & (every < place[:, None])
        shown = self.bucket[:, :, 0].index_select(-1, place)[..., None] != self.none
        alone = ~alike.any(dim=-1, keepdim=True) & (every == place[:, None])
        return take((alike | alone) & shown, tile.cols, -1)

    @property
    def is_causal(self) -> bool:
        return self.earlier

    def _alike(self, place: Tensor) -> Tensor:
        """(B, H, r, K): whether some round brings the pair together."""
        found = None
        for number in range(self.bucket.shape[2]):
            bucket = self.bucket[:, :, number]
            pair = bucket.index_select(-1, place)[..., None] == bucket[..., None, :]
            if self.section is not None:
                section = self.section[:, :, number]
                back = section.index_select(-1, place)[..., None] - section[..., None, :]
                pair = pair & ((back == 0) | (back == 1))
            found = pair if found is None else found | pair
        assert found is not None
        return found


@dataclass(frozen=True, eq=False)
class Hashed:
    """Keys as they are scored (B, H, T, D), values (B, H, T, Dv), buckets (B, H, R, T)."""

    key: Tensor
    value: Tensor
    bucket: Tensor

    @property
    def length(self) -> int:
        """T."""
        return self.key.shape[-2]

    def extended(self, key: Tensor, value: Tensor, bucket: Tensor) -> Hashed:
        """These and, after them, those."""
        return Hashed(
            torch.cat([self.key, key], -2),
            torch.cat([self.value, value], -2),
            torch.cat([self.bucket, bucket], -1),
        )

    def select(self, rows: Tensor) -> Hashed:
        """The cache of chosen sentences of the batch, in that order."""
        return Hashed(*(x.index_select(0, rows) for x in (self.key, self.value, self.bucket)))


class Reformer(Mechanism):
    """softmax over the words of the same bucket, by angular hashing (Kitaev 2020).

    Keys are the queries, scaled to unit length; the score is q·k / |k| (full attention's for keys
    of length √D). In each round words are sorted by bucket and place and cut into chunks; a word
    sees those of its bucket in its own chunk and the one before. A pair that several rounds bring
    together counts once. Itself a word sees only if it sees nothing else.

    The buckets do not depend on the length, so that word by word the same words meet; there a word
    sees all earlier ones of its buckets, as it does here while no bucket outgrows a chunk.

    head_dim  D
    chunk     words looked at together
    buckets   of each round, an even number
    rounds    R
    """

    declared = Declared(
        answer="pattern", masks=frozenset({"lengths", "causal"}), map="keys",
        sums_to_one=True, cost="n log n", growth=1.0,
    )  # fmt: skip
    shares_query = True
    rotations: Tensor

    def __init__(self, head_dim: int, chunk: int = 16, buckets: int = 8, rounds: int = 4) -> None:
        super().__init__()
        self.head_dim = arguments.positive("head_dim", head_dim)
        self.chunk = arguments.positive("chunk", chunk)
        self.buckets = arguments.positive("buckets", buckets)
        self.rounds = arguments.positive("rounds", rounds)
        if buckets % 2:
            raise ValueError(f"buckets must be an even number, but {buckets} came.")
        self.register_buffer("rotations", torch.randn(rounds, head_dim, buckets // 2))

    def context(self, asked: Asked) -> Tensor:
        self._check(asked)
        bucket = self._buckets(asked)
        hidden = hidden_keys(asked)
        key, value = self.scored_keys(asked.key), asked.value
        if hidden is not None:
            key, value = key.masked_fill(hidden, 0.0), value.masked_fill(hidden, 0.0)
        if key.shape[-2] <= self.chunk:  # all in one chunk: nothing to sort
            met = SameBucket(bucket, None, self.buckets, asked.causal, asked.offset)
            return attend(asked.query, key, value, score=SCORE, mask=met).context
        query = F.pad(asked.query, (0, 0, asked.offset, 0))
        context = self._chunked(query, key, value, bucket, asked.causal)
        return context[..., asked.offset :, :]

    def seen(self, asked: Asked) -> Call:
        return softmax_call(replace(asked, key=self.scored_keys(asked.key)), self.pattern(asked))

    def pattern(self, asked: Asked) -> Mask:
        """Who sees whom; full attention over `scored_keys` under this mask is the same."""
        self._check(asked)
        bucket = self._buckets(asked)
        section = None
        if bucket.shape[-1] > self.chunk:
            section = ranks(bucket)[1] // self.chunk
        return SameBucket(bucket, section, self.buckets, asked.causal, asked.offset)

    def scored_keys(self, key: Tensor) -> Tensor:
        """√D · k / |k|: with these, scaled dot products are q·k / |k|."""
        length: float = self.head_dim**0.5
        return F.normalize(key, dim=-1) * length

    def empty(self, key: Tensor, value: Tensor) -> Hashed:
        return Hashed(key, value, self._hashes(key))

    def go_on(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        cache: Cache,
        *,
        bias: Bias | None = None,
        weights: bool = False,
    ) -> Attended:
        assert isinstance(cache, Hashed)
        if bias is not None:
            self._asked(query, key, value, None, bias, 0.0)  # says what to do instead
        held = cache.extended(self.scored_keys(key), value, self._hashes(key))
        met = SameBucket(held.bucket, None, self.buckets, True, cache.length)
        attended = attend(query, held.key, held.value, score=SCORE, mask=met, weights=weights)
        return replace(attended, cache=held)

    def _check(self, asked: Asked) -> None:
        arguments.width("heads", asked.key, self.head_dim)
        if asked.offset < 0:
            raise ValueError(
                f"Reformer's queries are among its keys, but {asked.query.shape[-2]} queries and "
                f"{asked.key.shape[-2]} keys came; use attention full."
            )

    @torch.no_grad()
    def _hashes(self, key: Tensor) -> Tensor:
        """(B, H, R, T): the nearest of as many directions as there are buckets."""
        key = accumulated(key)
        with as_given(key.device):
            turned = key[:, :, None] @ self.rotations.to(key.dtype)
        return torch.cat([turned, -turned], dim=-1).argmax(dim=-1)

    def _buckets(self, asked: Asked) -> Tensor:
        """(B, H, R, K): the buckets, those of hidden keys after all others."""
        bucket, hidden = self._hashes(asked.key), hidden_keys(asked)
        if hidden is None:
            return bucket
        return bucket.masked_fill(hidden.transpose(-2, -1), self.buckets)

    def _chunked(
        self, query: Tensor, key: Tensor, value: Tensor, bucket: Tensor, causal: bool
    ) -> Tensor:
        """The context (B, H, K, Dv), some rows at a time, each computed again on the way back."""
        batch, num = query.shape[:2], query.shape[-2]
        wide = -num % self.chunk
        flat = [F.pad(x.flatten(0, 1), (0, 0, 0, wide)) for x in (query, key, value)]
        flat.append(F.pad(bucket.flatten(0, 1), (0, wide), value=self.buckets))
        step = max(1, NUMBERS_AT_ONCE // (self.rounds * (num + wide) * self.head_dim))
        blocks = list(zip(*(x.split(step) for x in flat), strict=True))
        once = len(blocks) == 1 or not torch.is_grad_enabled() or torch.compiler.is_compiling()
        found = []
        for q, k, v, each in blocks:
            plan = (q, k, v, each, self.chunk, self.buckets, causal)
            found.append(
                chunked(*plan)
                if once
                else checkpoint(chunked, *plan, use_reentrant=False, preserve_rng_state=False)
            )
        context: Tensor = torch.cat(found)[:, :num].unflatten(0, batch)
        return context

    def extra_repr(self) -> str:
        return f"{self.head_dim}, chunk={self.chunk}, buckets={self.buckets}, rounds={self.rounds}"


def ranks(bucket: Tensor) -> tuple[Tensor, Tensor]:
    """Places in the order of (bucket, place), and where in that order each place is."""
    order = bucket.argsort(dim=-1, stable=True)
    every = torch.arange(order.shape[-1], device=order.device).expand_as(order)
    return order, torch.empty_like(order).scatter_(-1, order, every)


def chunked(
    query: Tensor, key: Tensor, value: Tensor, bucket: Tensor, chunk: int, none: int, causal: bool
) -> Tensor:
    """The context (N, T, Dv) of rows (N, T, D) with buckets (N, R, T), T a multiple of `chunk`."""
    with as_given(value.device):
        order, rank = ranks(bucket)
        sums, mass, level = _rounds(query, key, value, bucket, order, rank, chunk, none, causal)
        top = level.amax(dim=1, keepdim=True)
        share = (level - top.masked_fill(top == -math.inf, 0.0)).exp()
        total, weight = (sums * share).sum(dim=1), (mass * share).sum(dim=1)
        merged = total / weight.masked_fill(weight == 0, 1.0)
        shown = (bucket[:, 0] != none)[..., None]
        alone = (weight == 0) & shown
        return torch.where(alone, accumulated(value), merged).to(value.dtype)


def _rounds(
    query: Tensor, key: Tensor, value: Tensor, bucket: Tensor, order: Tensor, rank: Tensor,
    chunk: int, none: int, causal: bool,
) -> tuple[Tensor, Tensor, Tensor]:  # fmt: skip
    """Σ e^{s − level} v, Σ e^{s − level} (N, R, T, ·) and level (N, R, T, 1) of every round."""
    size = (*order.shape[:2], -1, chunk)
    place = order.reshape(size)
    rows, cols = place[..., None], _with_before(place)[..., None, :]
    pairs = _times_met(bucket, rank // chunk, order, size)
    seen = (pairs > 0) & (rows != cols)
    own = _taken(bucket, order).reshape(size)  # (N, R, C, c): each word's bucket in this round
    seen &= (own[..., None] == _with_before(own)[..., None, :]) & (own != none)[..., None]
    seen[:, :, 0, :, :chunk] = False  # nothing is before the first chunk
    if causal:
        seen &= cols < rows
    sorted_ = [
        _sorted(accumulated(x), order).unflatten(2, (-1, chunk)) for x in (query, key, value)
    ]
    asking = sorted_[0] * query.shape[-1] ** -0.5
    scores = asking @ _with_before(sorted_[1], -2).transpose(-2, -1)
    scores = (scores - pairs.clamp(min=1).to(scores.dtype).log()).masked_fill(~seen, -math.inf)
    level = scores.detach().amax(dim=-1, keepdim=True)
    parts = (scores - level.masked_fill(level == -math.inf, 0.0)).exp()
    sums = parts @ _with_before(sorted_[2], -2)
    found = torch.cat([sums, parts.sum(dim=-1, keepdim=True)], dim=-1)
    back = found.flatten(2, 3).gather(2, rank[..., None].expand(*rank.shape, found.shape[-1]))
    level = level.flatten(2, 4).gather(2, rank)[..., None]
    return back[..., :-1], back[..., -1:], level


def _times_met(bucket: Tensor, section: Tensor, order: Tensor, size: tuple[int, ...]) -> Tensor:
    """(N, R, C, c, 2c): in how many rounds the pair of words is brought together."""
    times = None
    for number in range(bucket.shape[1]):
        there = []
        for x in (bucket, section):
            each = _taken(x[:, number, None].expand_as(x), order).reshape(size)
            there.append((each[..., None], _with_before(each)[..., None, :]))
        (row, col), (here, other) = there
        met = (row == col) & ((here == other) | (here == other + 1))
        times = met.to(torch.int8) if times is None else times + met
    assert times is not None
    return times


def _with_before(x: Tensor, dim: int = -1) -> Tensor:
    """Each chunk after the one before it: (N, R, C, 2c, …) of (N, R, C, c, …)."""
    return torch.cat([x.roll(1, dims=2), x], dim=dim)


def _taken(x: Tensor, order: Tensor) -> Tensor:
    return x.gather(-1, order)


def _sorted(x: Tensor, order: Tensor) -> Tensor:
    """(N, R, T, D): rows (N, T, D) in each round's order."""
    start = torch.arange(x.shape[0], device=x.device)[:, None, None] * x.shape[1]
    found = x.flatten(0, 1).index_select(0, (order + start).flatten())
    return found.reshape(*order.shape, x.shape[-1])
