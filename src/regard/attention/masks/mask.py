"""Masks: which queries may attend to which keys. **True = attend**, everywhere.

Shapes: B batch (first dimension), H heads, Q queries, K keys. A mask is a rule, not a
tensor: an engine that works by tiles evaluates one tile at a time and never builds (Q, K).

>>> import torch
>>> mask = Mask.causal() & Mask.lengths(torch.tensor([2]))
>>> mask.tensor(3, 3, batch=(1,))[0].int()
tensor([[1, 0, 0],
        [1, 1, 0],
        [1, 1, 0]], dtype=torch.int32)
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from regard.attention.engines import arguments
from regard.attention.engines.tile import Tile, take

Corner = Literal["top-left", "bottom-right"]


class Mask(ABC):
    """Which queries may attend to which keys; combine masks with `&` and `|`.

    Build one with `Mask.lengths`, `Mask.causal`, `Mask.window`, `Mask.segments` or `Mask.keep`.
    """

    @staticmethod
    def lengths(lengths: Tensor | Sequence[int] | int) -> Mask:
        """The first `n` keys of each sentence: `(B,)`, or `(B, Q)` with one length per query.

        A length greater than K means all keys.
        """
        n = whole_numbers("lengths", lengths)
        if n.is_floating_point() or n.dtype == torch.bool:
            raise TypeError(f"lengths must be whole numbers, got {n.dtype}.")
        if n.ndim > 2:
            raise ValueError(f"lengths must have shape (B,) or (B, Q), got {arguments.shape(n)}.")
        least = 0 if torch.compiler.is_compiling() or not n.numel() else int(n.min())
        if least < 0:
            raise ValueError(f"lengths must not be negative, got {least}.")
        return _Lengths(n, least)

    @staticmethod
    def causal(offset: int | Tensor = 0, *, corner: Corner | None = None) -> Mask:
        """Query i attends to keys ≤ i + offset.

        A corner gives the offset by the shape: "top-left" is 0, "bottom-right" is K − Q, for
        when the queries are the last of the keys (a cache). A tensor `(B,)` gives each
        sentence its own offset.
        """
        return _Window(None, 0, _offset(offset, corner))

    @staticmethod
    def window(
        left: int | None,
        right: int | None,
        offset: int | Tensor = 0,
        *,
        corner: Corner | None = None,
    ) -> Mask:
        """Query i attends to keys from i + offset − left to i + offset + right; None: no bound."""
        for name, reach in (("left", left), ("right", right)):
            if reach is not None and (isinstance(reach, bool) or not isinstance(reach, int)):
                raise TypeError(f"{name} must be a whole number or None, got {reach!r}.")
            if reach is not None and reach < 0:
                raise ValueError(f"{name} must be at least 0 or None, got {reach}.")
        return _Window(left, right, _offset(offset, corner))

    @staticmethod
    def segments(
        ids: Tensor | Sequence[int], key_ids: Tensor | Sequence[int] | None = None
    ) -> Mask:
        """Positions of the same segment attend to each other: ids `(T,)` or `(B, T)`."""
        ids = whole_numbers("ids", ids)
        key_ids = ids if key_ids is None else whole_numbers("key_ids", key_ids)
        for name, x in (("ids", ids), ("key_ids", key_ids)):
            if x.is_floating_point() or x.ndim not in (1, 2):
                raise ValueError(
                    f"{name} must be whole numbers of shape (T,) or (B, T), "
                    f"got {x.dtype} of shape {arguments.shape(x)}."
                )
        return _Segments(ids, key_ids)

    @staticmethod
    def keep(keep: Tensor) -> Mask:
        """A boolean tensor that broadcasts to the scores `(…, Q, K)`; True = attend.

        As always in torch, dimensions are matched from the right: for scores (B, H, Q, K), one
        mask per sentence is (B, 1, Q, K), not (B, Q, K).
        """
        if not isinstance(keep, Tensor):
            raise TypeError(f"mask must be a boolean tensor, got a {type(keep).__name__}.")
        if keep.dtype != torch.bool:
            raise TypeError(
                f"mask must be a boolean tensor (True = attend), got {keep.dtype}; "
                "write `mask.bool()` if nonzero means attend, `Mask.lengths(mask)` for valid "
                "lengths, or pass an additive tensor as `bias`."
            )
        if keep.ndim < 2:
            raise ValueError(
                f"mask must have shape (…, Q, K), got {arguments.shape(keep)}; "
                "for valid lengths use Mask.lengths."
            )
        return _Keep(keep)

    def __and__(self, other: Mask | Tensor) -> Mask:
        return _Both(self, as_mask(other))

    def __or__(self, other: Mask | Tensor) -> Mask:
        return _Either(self, as_mask(other))

    __rand__ = __and__
    __ror__ = __or__

    def tensor(
        self,
        num_queries: int,
        num_keys: int,
        *,
        batch: Sequence[int] = (),
        device: torch.device | str | None = None,
    ) -> Tensor:
        """The mask as a boolean tensor that broadcasts to `(*batch, Q, K)`."""
        tile = Tile.whole(num_queries, num_keys, tuple(batch), torch.device(device or "cpu"))
        return self.tile(tile)

    @abstractmethod
    def tile(self, tile: Tile) -> Tensor:
        """The part of the mask at the tile's rows and columns, broadcastable to its shape."""

    def key_range(self, rows: range, num_queries: int, num_keys: int) -> range:
        """Keys outside this range are masked in all these rows (a tiled engine skips them)."""
        return range(num_keys)

    def shows_first(self, num_queries: int, num_keys: int) -> bool:
        """Whether every query is known to attend to the first key, so that no row is empty."""
        return False

    @property
    def is_causal(self) -> bool:
        """Whether no query may attend to later keys."""
        return False

    @property
    def by_key(self) -> bool:
        """Whether the mask is the same for every query, so that its tensor is only (…, 1, K)."""
        return False


def as_mask(mask: Mask | Tensor) -> Mask:
    """A mask from a mask or a boolean tensor."""
    return mask if isinstance(mask, Mask) else Mask.keep(mask)


@dataclass(frozen=True, eq=False)
class _Lengths(Mask):
    n: Tensor
    least: int  # of n; 0 if it is not known

    def tile(self, tile: Tile) -> Tensor:
        n = self.n.to(tile.device)
        if n.ndim == 2:
            tile.check_length(n, "lengths", tile.num_queries, "queries")
            n = tile.per_query(take(n, tile.rows, -1), "lengths")
        else:
            n = tile.per_batch(n, "lengths")
        return tile.key_index < n

    def key_range(self, rows: range, num_queries: int, num_keys: int) -> range:
        if torch.compiler.is_compiling() or self.n.numel() == 0:
            return range(num_keys)
        each = self.n.ndim == 2 and self.n.shape[1] > 1
        n = self.n[:, rows.start : rows.stop] if each else self.n
        return range(min(num_keys, int(n.max())))

    def shows_first(self, num_queries: int, num_keys: int) -> bool:
        return self.least > 0 and num_keys > 0

    @property
    def by_key(self) -> bool:
        return self.n.ndim < 2


@dataclass(frozen=True, eq=False)
class _Window(Mask):
    left: int | None
    right: int | None
    offset: int | Tensor | Literal["bottom-right"]

    def tile(self, tile: Tile) -> Tensor:
        offset = self.offset
        if isinstance(offset, str):
            offset = tile.num_keys - tile.num_queries
        elif isinstance(offset, Tensor):
            offset = tile.per_batch(offset.to(tile.device), "offset")
        here = tile.query_index + offset
        seen = torch.ones((1, 1), dtype=torch.bool, device=tile.device)
        if self.right is not None:
            seen = seen & (tile.key_index <= here + self.right)
        if self.left is not None:
            seen = seen & (tile.key_index >= here - self.left)
        return seen

    def key_range(self, rows: range, num_queries: int, num_keys: int) -> range:
        if isinstance(self.offset, Tensor):
            if torch.compiler.is_compiling() or self.offset.numel() == 0:
                return range(num_keys)
            low, high = int(self.offset.min()), int(self.offset.max())
        else:
            low = high = num_keys - num_queries if isinstance(self.offset, str) else self.offset
        start = 0 if self.left is None else max(0, rows.start + low - self.left)
        stop = num_keys if self.right is None else min(num_keys, rows.stop + high + self.right)
        return range(min(start, num_keys), max(stop, 0))

    def shows_first(self, num_queries: int, num_keys: int) -> bool:
        if self.left is not None or isinstance(self.offset, Tensor) or not num_keys:
            return False
        offset = num_keys - num_queries if isinstance(self.offset, str) else self.offset
        return self.right is None or offset + self.right >= 0

    @property
    def is_causal(self) -> bool:
        return self.right == 0


@dataclass(frozen=True, eq=False)
class _Segments(Mask):
    ids: Tensor
    key_ids: Tensor

    def tile(self, tile: Tile) -> Tensor:
        tile.check_length(self.ids, "ids", tile.num_queries, "queries")
        tile.check_length(self.key_ids, "key_ids", tile.num_keys, "keys")
        ids = take(self.ids.to(tile.device), tile.rows, -1)
        key_ids = take(self.key_ids.to(tile.device), tile.cols, -1)
        return tile.per_query(ids, "ids") == tile.per_key(key_ids, "key_ids")


@dataclass(frozen=True, eq=False)
class _Keep(Mask):
    keep_: Tensor

    def tile(self, tile: Tile) -> Tensor:
        tile.check_broadcast(self.keep_, "mask")
        return take(take(self.keep_.to(tile.device), tile.rows, -2), tile.cols, -1)

    @property
    def by_key(self) -> bool:
        return self.keep_.shape[-2] == 1


@dataclass(frozen=True, eq=False)
class _Pair(Mask):
    a: Mask
    b: Mask

    @property
    def by_key(self) -> bool:
        return self.a.by_key and self.b.by_key


class _Both(_Pair):
    def tile(self, tile: Tile) -> Tensor:
        return self.a.tile(tile) & self.b.tile(tile)

    def key_range(self, rows: range, num_queries: int, num_keys: int) -> range:
        a = self.a.key_range(rows, num_queries, num_keys)
        b = self.b.key_range(rows, num_queries, num_keys)
        return range(max(a.start, b.start), min(a.stop, b.stop))

    def shows_first(self, num_queries: int, num_keys: int) -> bool:
        return all(mask.shows_first(num_queries, num_keys) for mask in (self.a, self.b))

    @property
    def is_causal(self) -> bool:
        return self.a.is_causal or self.b.is_causal


class _Either(_Pair):
    def tile(self, tile: Tile) -> Tensor:
        return self.a.tile(tile) | self.b.tile(tile)

    def key_range(self, rows: range, num_queries: int, num_keys: int) -> range:
        a = self.a.key_range(rows, num_queries, num_keys)
        b = self.b.key_range(rows, num_queries, num_keys)
        if not a or not b:
            return a or b
        return range(min(a.start, b.start), max(a.stop, b.stop))

    @property
    def is_causal(self) -> bool:
        return self.a.is_causal and self.b.is_causal


def decompose_mask(
    mask: Mask | None, num_queries: int, num_keys: int
) -> tuple[Tensor | None, bool, Mask | None]:
    """A mask as lengths (B,), whether it is causal, and any other mask (None: no other).

    Causal means here that queries are the last of the keys and attend to none after themselves.
    """
    match mask:
        case None:
            return None, False, None
        case _Lengths(n) if n.ndim < 2:
            return n.reshape(-1), False, None
        case _Window(left=None, right=0, offset=offset):
            last = isinstance(offset, str) or (
                isinstance(offset, int) and offset == num_keys - num_queries
            )
            return (None, True, None) if last else (None, False, mask)
        case _Both(a, b):
            first, second = (decompose_mask(part, num_queries, num_keys) for part in (a, b))
            if first[2] is None and second[2] is None:
                lengths = [n for n in (first[0], second[0]) if n is not None]
                least = None if not lengths else lengths[0]
                for n in lengths[1:]:
                    least = torch.minimum(lengths[0], n)
                return least, first[1] or second[1], None
    return None, False, mask


def whole_numbers(name: str, numbers: object) -> Tensor:
    """Whole numbers as a tensor."""
    if isinstance(numbers, Tensor):
        return numbers
    try:
        given = torch.as_tensor(numbers)
    except (TypeError, ValueError, RuntimeError):
        raise TypeError(f"{name} must be whole numbers, got {numbers!r}.") from None
    return given.long() if given.numel() == 0 else given


def is_triangle(mask: Mask | None, num_queries: int, num_keys: int) -> bool:
    """Whether a mask is the triangle from the top left that torch calls `is_causal`."""
    if not isinstance(mask, _Window) or mask.left is not None or mask.right != 0:
        return False
    if isinstance(mask.offset, str):
        return num_queries == num_keys
    return isinstance(mask.offset, int) and mask.offset == 0


def _offset(offset: int | Tensor, corner: Corner | None) -> int | Tensor | Literal["bottom-right"]:
    if corner is None:
        if isinstance(offset, Tensor) and (offset.is_floating_point() or offset.ndim > 1):
            raise ValueError(
                f"offset must be a whole number or whole numbers of shape (B,), "
                f"got {offset.dtype} of shape {arguments.shape(offset)}."
            )
        if not isinstance(offset, int | Tensor | torch.SymInt) or isinstance(offset, bool):
            raise TypeError(
                f"offset must be a whole number or a tensor of them, got {offset!r}; "
                "a corner is named by corner=."
            )
        return offset
    if isinstance(offset, Tensor) or offset != 0:
        raise ValueError("offset and corner must not both be given; pass one of them.")
    if corner not in ("top-left", "bottom-right"):
        raise ValueError(f'corner must be "top-left" or "bottom-right", got {corner!r}.')
    return 0 if corner == "top-left" else "bottom-right"
