"""Reformer: a word looks only at words that a hash finds alike, gathered in chunks.

Shapes: query (B, H, Q, D), key (B, H, K, D), value (B, H, K, Dv); R rounds; bucket and tag
(B, H, R, K). The chunked form works on rows N = B·H of K places, laid out in C chunks of c slots:
(N, R, C, c, …).
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
from regard.attention.mechanisms.full import SCORE, softmax_call
from regard.attention.mechanisms.mechanism import (
    AttentionInput,
    Declared,
    Mechanism,
    NewTokens,
    hidden_keys,
)

SHORT = 64  # words up to which pairs are looked up in one tile
NUMBERS_AT_ONCE = 1 << 20  # sorted numbers held at a time, over rows, rounds, places and width
NEXT_BUCKET = 1 << 32  # tags of different buckets are this far apart: more than chunks there are
ONE_HASH = 64  # buckets up to which each has a direction of its own
HIDDEN = -NEXT_BUCKET  # the tag of a word that nobody sees


@dataclass(frozen=True, eq=False)
class SameChunk(Mask):
    """Pairs that some round brings together; a word that meets no other sees itself.

    tag      (B, H, R, K)  the chunk of each key: a word meets those of its own and the one before
    earlier  whether a word sees only those before it
    offset   the place of the first query among the keys
    """

    tag: Tensor
    earlier: bool
    offset: int

    def tile(self, tile: Tile) -> Tensor:
        rows = tile.rows
        if isinstance(rows, slice):
            rows = torch.arange(rows.start, rows.stop, device=self.tag.device)
        place = (rows + self.offset)[:, None]
        every = torch.arange(self.tag.shape[-1], device=place.device)
        seen = self._met(place[:, 0]) & ((every < place) if self.earlier else (every != place))
        shown = self.tag[:, :, 0].index_select(-1, place[:, 0])[..., None] >= 0
        alone = ~seen.any(dim=-1, keepdim=True) & (every == place)
        return take((seen | alone) & shown, tile.cols, -1)

    @property
    def is_causal(self) -> bool:
        return self.earlier

    def _met(self, place: Tensor) -> Tensor:
        """(B, H, r, K): whether some round brings the pair together."""
        rounds = self.tag.unbind(2)
        met = [near(tag.index_select(-1, place)[..., None], tag[..., None, :]) for tag in rounds]
        return torch.stack(met).any(dim=0)


@dataclass(frozen=True, eq=False)
class HashCache:
    """Keys as they are scored (B, H, T, D), values (B, H, T, Dv), and where they were sorted to.

    tag     (B, H, R, T)  their chunks
    counts  (B, H, R, buckets)  how many words each bucket has
    """

    key: Tensor
    value: Tensor
    tag: Tensor
    counts: Tensor

    @property
    def length(self) -> int:
        """T."""
        return self.key.shape[-2]

    def select(self, rows: Tensor) -> HashCache:
        """The cache of chosen sentences of the batch, in that order."""
        parts = (self.key, self.value, self.tag, self.counts)
        return HashCache(*(x.index_select(0, rows) for x in parts))


class Reformer(Mechanism):
    """softmax over the words of the same bucket, by angular hashing (Kitaev 2020).

    Keys are the queries, scaled to unit length; the score is q·k / |k| (full attention's for keys
    of length √D). In each round words are sorted by bucket and place and cut into chunks; a word
    sees those of its bucket in its own chunk and the one before. A pair that several rounds bring
    together counts once. Itself a word sees only if it sees nothing else. More than 64 buckets are
    those of two hashes taken together, so that hashing stays cheap.

    Every bucket begins a chunk of its own, and there are as many buckets whatever the length. So
    who sees whom does not depend on words to come, and word by word it is the same.

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

    cache_type = HashCache

    def __init__(self, head_dim: int, chunk: int = 16, buckets: int = 8, rounds: int = 4) -> None:
        super().__init__()
        self.head_dim = arguments.positive("head_dim", head_dim)
        self.chunk = arguments.positive("chunk", chunk)
        self.buckets = arguments.positive("buckets", buckets)
        self.rounds = arguments.positive("rounds", rounds)
        if buckets % 2:
            raise ValueError(f"buckets must be an even number, got {buckets}.")
        self.factors = factors(buckets)
        directions = sum(self.factors) // 2
        self.register_buffer("rotations", torch.randn(rounds, head_dim, directions))

    def context(self, call: AttentionInput) -> Tensor:
        hidden = hidden_keys(call)
        key, value = call.key, call.value
        if hidden is not None:
            key, value = key.masked_fill(hidden, 0.0), value.masked_fill(hidden, 0.0)
        key = self.scored_keys(key)
        if key.shape[-2] <= max(self.chunk, SHORT):  # one tile holds all: sorting would cost more
            return attend(call.query, key, value, score=SCORE, mask=self.pattern(call)).context
        self._check(call)
        query = F.pad(call.query, (0, 0, call.offset, 0))
        context = self._chunked(query, key, value, self._buckets(call), call.causal)
        return context[..., call.offset :, :]

    def seen(self, call: AttentionInput) -> AttentionCall:
        return softmax_call(replace(call, key=self.scored_keys(call.key)), self.pattern(call))

    def pattern(self, call: AttentionInput) -> Mask:
        """Who sees whom; full attention over `scored_keys` under this mask is the same."""
        self._check(call)
        bucket = self._buckets(call)
        if bucket.shape[-1] <= self.chunk:
            tag = bucket * NEXT_BUCKET
        else:
            tag = tags(bucket, within(bucket, self.buckets + 1)[0], self.chunk)
        tag = tag.masked_fill(bucket == self.buckets, HIDDEN)
        return SameChunk(tag, call.causal, call.offset)

    def scored_keys(self, key: Tensor) -> Tensor:
        """√D · k / |k|: with these, scaled dot products are q·k / |k|."""
        length: float = self.head_dim**0.5
        return F.normalize(key, dim=-1) * length

    def empty(self, key: Tensor, value: Tensor) -> HashCache:
        rounds = (*key.shape[:2], self.rounds)
        integers = torch.zeros(*rounds, self.buckets, dtype=torch.long, device=key.device)
        return HashCache(key, value, integers[..., :0], integers)

    def step(self, words: NewTokens, cache: Cache, bias: Bias | None, weights: bool) -> Attended:
        assert isinstance(cache, HashCache)
        query, key, value = words
        bucket = self._hashes(key)
        place, counts = within(bucket, self.buckets)
        tag = tags(bucket, place + cache.counts.gather(-1, bucket), self.chunk)
        held = HashCache(
            torch.cat([cache.key, self.scored_keys(key)], -2),
            torch.cat([cache.value, value], -2),
            torch.cat([cache.tag, tag], -1),
            cache.counts + counts,
        )
        if not cache.length and key.shape[-2] > 1:  # a prompt, read at the parallel form's cost
            attended: Attended = self(query, key, value, mask=Mask.causal(), weights=weights)
            return replace(attended, cache=held)
        met = SameChunk(held.tag, True, cache.length)
        few = query.shape[-2] * held.length <= SHORT**2 * 16
        attended = attend(
            query, held.key, held.value, score=SCORE, mask=met, weights=weights,
            engine="auto" if few else "blockwise",
        )  # fmt: skip
        return replace(attended, cache=held)

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
        """(B, H, R, K): the buckets, and one more for hidden keys."""
        bucket, hidden = self._hashes(call.key), hidden_keys(call)
        if hidden is None:
            return bucket
        return bucket.masked_fill(hidden.transpose(-2, -1), self.buckets)

    def _chunked(
        self, query: Tensor, key: Tensor, value: Tensor, bucket: Tensor, causal: bool
    ) -> Tensor:
        """The context (B, H, K, Dv), some rows at a time, each computed again on the way back."""
        flat = [x.flatten(0, 1) for x in (query, key, value, bucket)]
        step = max(1, NUMBERS_AT_ONCE // (self.rounds * query.shape[-2] * self.head_dim))
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
        context: Tensor = torch.cat(found).unflatten(0, query.shape[:2])
        return context

    def extra_repr(self) -> str:
        return f"{self.head_dim}, chunk={self.chunk}, buckets={self.buckets}, rounds={self.rounds}"


def factors(buckets: int) -> tuple[int, ...]:
    """Even numbers whose product is `buckets`: with two, many buckets cost few directions.

    >>> factors(8), factors(512), factors(2 * 127)
    ((8,), (16, 32), (254,))
    """
    pairs = [(n, buckets // n) for n in range(2, buckets, 2) if buckets % (2 * n) == 0]
    small = [pair for pair in pairs if pair[0] <= pair[1]]
    return small[-1] if buckets > ONE_HASH and small else (buckets,)


def within(bucket: Tensor, number: int) -> tuple[Tensor, Tensor]:
    """How many words of its bucket are before each (…, T), and how many each has (…, number)."""
    order = bucket.argsort(dim=-1, stable=True)
    every = torch.arange(order.shape[-1], device=order.device).expand_as(order)
    rank = torch.empty_like(order).scatter_(-1, order, every)
    counts = bucket.new_zeros(*bucket.shape[:-1], number)
    counts.scatter_add_(-1, bucket, torch.ones_like(bucket))
    return rank - (counts.cumsum(-1) - counts).gather(-1, bucket), counts


def tags(bucket: Tensor, place: Tensor, chunk: int) -> Tensor:
    """The number of each word's chunk; from one bucket to the next there is a wide gap."""
    return bucket * NEXT_BUCKET + place // chunk


def near(row: Tensor, col: Tensor) -> Tensor:
    """Whether the key's chunk is the query's or the one before it."""
    return (row == col) | (row == col + 1)


def chunked(
    query: Tensor, key: Tensor, value: Tensor, bucket: Tensor, chunk: int, none: int, causal: bool
) -> Tensor:
    """The context (N, K, Dv) of rows (N, K, D) with buckets (N, R, K); bucket `none` is hidden."""
    with as_given(value.device):
        place, counts = within(bucket, none + 1)
        tag = tags(bucket, place, chunk).masked_fill(bucket == none, HIDDEN)
        chunks = (counts + chunk - 1) // chunk
        slot = (chunks.cumsum(-1) - chunks).gather(-1, bucket) * chunk + place
        words = _words(slot, chunk, chunks)
        sums, mass, level = _rounds(query, key, value, tag, words, causal)
        sums, mass, level = (_by_place(x, slot) for x in (sums, mass, level))
        top = level.amax(dim=1, keepdim=True)
        share = (level - top.masked_fill(top == -math.inf, 0.0)).exp()
        total, weight = (sums * share).sum(dim=1), (mass * share).sum(dim=1)
        alone = (weight == 0) & (tag[:, 0, :, None] >= 0)
        merged = total / weight.masked_fill(weight == 0, 1.0)
        return torch.where(alone, accumulated(value), merged).to(value.dtype)


def _words(slot: Tensor, chunk: int, chunks: Tensor) -> Tensor:
    """(N, R, C, c): the word in each slot; K where there is none."""
    if torch.compiler.is_compiling():  # the most there can be, so that the shape is known
        number = slot.shape[-1] // chunk + chunks.shape[-1]
    else:
        number = int(chunks.sum(-1).max())
    words = slot.new_full((*slot.shape[:-1], number * chunk), slot.shape[-1])
    every = torch.arange(slot.shape[-1], device=slot.device).expand_as(slot)
    words = words.scatter_(-1, slot, every)
    return words.reshape(*slot.shape[:-1], number, chunk)


def _rounds(
    query: Tensor, key: Tensor, value: Tensor, tag: Tensor, words: Tensor, causal: bool
) -> tuple[Tensor, Tensor, Tensor]:
    """Σ e^{s − level} v, Σ e^{s − level} and level (N, R, C, c, ·), of every round."""
    rows, cols = words[..., None], _with_before(words)[..., None, :]
    times, here = _times_met(F.pad(tag, (0, 1), value=HIDDEN), words)
    seen = here & ((cols < rows) if causal else (cols != rows))
    seen[:, :, 0, :, : words.shape[-1]] = False  # nothing is before the first chunk
    asking, keys, values = (_in_slots(accumulated(x), words) for x in (query, key, value))
    scores = (asking * query.shape[-1] ** -0.5) @ _with_before(keys, -2).transpose(-2, -1)
    scores = (scores - times.clamp(min=1).to(scores.dtype).log()).masked_fill(~seen, -math.inf)
    level = scores.detach().amax(dim=-1, keepdim=True)
    parts = (scores - level.masked_fill(level == -math.inf, 0.0)).exp()
    return parts @ _with_before(values, -2), parts.sum(dim=-1, keepdim=True), level


def _times_met(tag: Tensor, words: Tensor) -> tuple[Tensor, Tensor]:
    """(N, R, C, c, 2c): in how many rounds a pair meets, and whether in this one."""
    flat = words.flatten(1)
    times = torch.zeros((), dtype=torch.int16, device=tag.device)
    here = []
    for number, each in enumerate(tag.unbind(1)):
        row = each.gather(1, flat).reshape(words.shape)
        met = near(row[..., None], _with_before(row)[..., None, :]) & (row >= 0)[..., None]
        times = times + met
        here.append(met[:, number])
    return times, torch.stack(here, dim=1)


def _with_before(x: Tensor, dim: int = -1) -> Tensor:
    """Each chunk after the one before it: (N, R, C, 2c, …) of (N, R, C, c, …)."""
    return torch.cat([x.roll(1, dims=2), x], dim=dim)


def _in_slots(x: Tensor, words: Tensor) -> Tensor:
    """(N, R, C, c, D): rows (N, K, D) laid out in slots, zero where there is no word."""
    x = F.pad(x, (0, 0, 0, 1))
    start = torch.arange(x.shape[0], device=x.device)[:, None, None, None] * x.shape[1]
    found = x.flatten(0, 1).index_select(0, (words + start).flatten())
    return found.reshape(*words.shape, x.shape[-1])


def _by_place(x: Tensor, slot: Tensor) -> Tensor:
    """(N, R, K, ·): what was found in the slots (N, R, C, c, ·), word by word."""
    return x.flatten(2, 3).gather(2, slot[..., None].expand(*slot.shape, x.shape[-1]))
