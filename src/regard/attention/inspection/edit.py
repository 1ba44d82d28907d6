"""What can be changed in a model's attention: heads switched off, rows of weights overwritten.

An edit says which calls it means by `kind` ("self", "causal", "cross"), `layer`, `heads` and
`batch` (sentences of the batch); None means all. Rows are absolute positions of queries.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from regard.attention.engines import arguments
from regard.attention.inspection.observe import Sight

Which = int | Sequence[int] | None


@dataclass(frozen=True, eq=False, kw_only=True)
class Edit:
    """Base of all edits: the calls, heads and sentences that are meant."""

    kind: str | None = None
    layer: Which = None
    heads: Which = None
    batch: Which = None

    def __post_init__(self) -> None:
        arguments.known_kind("kind", self.kind)
        for name in ("layer", "heads", "batch"):
            given = getattr(self, name)
            if given is not None:
                object.__setattr__(self, name, tuple(arguments.whole_numbers(name, given)))

    def means(self, kind: str, layer: int) -> bool:
        """Whether a call of this kind and layer is meant."""
        layers = self.layer
        return self.kind in (None, kind) and (layers is None or layer in _several(layers))

    def apply(self, sight: Sight) -> Sight | None:
        """The changed call, or None where nothing in it is meant."""
        raise NotImplementedError(f"{type(self).__name__} must define apply(sight).")

    def _chosen(self, sight: Sight) -> tuple[list[int], list[int]]:
        """The sentences and heads that are meant, as indices of (B, H, Q, ·)."""
        shape = as_BHQ(sight.context).shape
        return _listed("batch", self.batch, shape[0]), _listed("heads", self.heads, shape[1])


@dataclass(frozen=True, eq=False, kw_only=True)
class SwitchOff(Edit):
    """Scale the output of heads by `scale`, 0 by default; the maps stay as they are."""

    scale: float = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        arguments.real("scale", self.scale)

    def apply(self, sight: Sight) -> Sight | None:
        sentences, heads = self._chosen(sight)
        if not sentences or not heads:
            return None
        context = as_BHQ(sight.context).clone()
        place = _grid(sentences, heads, context.device)
        context[place] = context[place] * self.scale if self.scale else 0.0
        return replace(sight, context=context.reshape(sight.context.shape))


@dataclass(frozen=True, eq=False, kw_only=True)
class Overwrite(Edit):
    """Put other weights in place of whole rows.

    rows         absolute positions of queries
    weights      (K,) for all the rows, or (r, K), one for each
    renormalize  True divides the given weights by their sum; False takes them as they are

    A decoder has as many keys as words so far, so in causal calls weights may be shorter than the
    keys (the rest is zero), or longer where what lies behind the keys is zero.
    """

    rows: int | Sequence[int]
    weights: Tensor | Sequence[float] | Sequence[Sequence[float]]
    renormalize: bool

    def __post_init__(self) -> None:
        super().__post_init__()
        rows = arguments.whole_numbers("rows", self.rows)
        object.__setattr__(self, "rows", rows)
        try:
            given = torch.as_tensor(self.weights)
        except (TypeError, ValueError, RuntimeError):
            raise TypeError(f"weights must be numbers, but {self.weights!r} came.") from None
        number = len(rows)
        if given.ndim not in (1, 2) or (given.ndim == 2 and given.shape[0] != number):
            raise ValueError(
                f"weights must have shape (K,) or ({number}, K), one row for each of rows, "
                f"but {tuple(given.shape)} came."
            )
        if not bool(torch.isfinite(given).all()):
            raise ValueError("weights must be finite numbers.")
        if self.renormalize and (bool((given < 0).any()) or bool((given.sum(-1) <= 0).any())):
            raise ValueError(
                "weights to be renormalised must not be negative and must have a sum above zero."
            )

    def apply(self, sight: Sight) -> Sight | None:
        sentences, heads = self._chosen(sight)
        here = [(i, p - sight.place.offset) for i, p in enumerate(_several(self.rows))]
        here = [(i, row) for i, row in here if 0 <= row < sight.call.num_queries]
        if not (sentences and heads and here):
            return None
        new_rK = self._new_weights(sight, [i for i, _ in here])
        value_BHKD = as_BHQ(sight.call.spread().value)
        context = as_BHQ(sight.context).clone()
        device = context.device
        b, h = _grid(sentences, heads, device)
        row = torch.tensor([row for _, row in here], device=device)
        # one matrix product for every addressed sentence and head: (b, h, r, K) · (b, h, K, D)
        changed = new_rK.to(value_BHKD.dtype) @ value_BHKD[b, h]
        context[b[..., None], h[..., None], row] = changed.to(context.dtype)
        overlay = _Rewritten(sentences, heads, row, new_rK)
        return replace(
            sight,
            context=context.reshape(sight.context.shape),
            overlay=(*sight.overlay, overlay),
        )

    def _new_weights(self, sight: Sight, which: list[int]) -> Tensor:
        value = sight.call.value
        given = torch.as_tensor(self.weights, dtype=value.dtype, device=value.device)
        if sight.place.kind == "causal":
            given = _fitted(given, sight.call.num_keys)
        if given.shape[-1] != sight.call.num_keys:
            raise ValueError(
                f"weights must have one number for each of the {sight.call.num_keys} keys, "
                f"but {given.shape[-1]} came."
            )
        if self.renormalize:
            given = given / given.sum(-1, keepdim=True)
        return given.expand(len(which), -1) if given.ndim == 1 else given[which]


@dataclass(frozen=True, eq=False, kw_only=True)
class ForceAlignment(Edit):
    """Make queries look at one key each: `links` maps a query's absolute position to a key."""

    links: Mapping[int, int] | Iterable[tuple[int, int]]

    def __post_init__(self) -> None:
        super().__post_init__()
        try:
            links = {
                operator.index(row): operator.index(key) for row, key in dict(self.links).items()
            }
        except (TypeError, ValueError):
            raise TypeError(
                f"links must map whole positions of queries to keys, but {self.links!r} came."
            ) from None
        object.__setattr__(self, "links", links)

    def apply(self, sight: Sight) -> Sight | None:
        changed = None
        for row, key in dict(self.links).items():
            num_keys = sight.call.num_keys
            if not sight.place.offset <= row < sight.place.offset + sight.call.num_queries:
                continue
            if not 0 <= key < num_keys:
                raise ValueError(f"links must point to keys below {num_keys}, but {key} came.")
            one = torch.zeros(num_keys)
            one[key] = 1.0
            edit = Overwrite(
                rows=row, weights=one, renormalize=False, heads=self.heads, batch=self.batch
            )
            changed = edit.apply(changed or sight) or changed
        return changed


@dataclass(frozen=True, eq=False)
class _Rewritten:
    """Shows overwritten rows in the maps."""

    sentences: list[int]
    heads: list[int]
    rows: Tensor
    new_rK: Tensor

    def __call__(self, weights: Tensor, rows: Tensor | None, heads: Tensor | None) -> Tensor:
        out = as_BHQ(weights).clone()
        shown_heads = list(range(out.shape[1])) if heads is None else heads.tolist()
        shown_rows = list(range(out.shape[2])) if rows is None else rows.tolist()
        for i, row in enumerate(self.rows.tolist()):
            if row not in shown_rows:
                continue
            for head in self.heads:
                if head in shown_heads:
                    place = (self.sentences, shown_heads.index(head), shown_rows.index(row))
                    out[place] = self.new_rK[i].to(out.dtype)
        return out.reshape(weights.shape)


def _fitted(given: Tensor, num_keys: int) -> Tensor:
    """Weights (…, K) as long as the keys there are; what is not zero is never cut off.

    >>> _fitted(torch.tensor([0.5, 0.5]), 3), _fitted(torch.tensor([0.5, 0.5, 0.0]), 2)
    (tensor([0.5000, 0.5000, 0.0000]), tensor([0.5000, 0.5000]))
    """
    if given.shape[-1] > num_keys and not bool(given[..., num_keys:].any()):
        return given[..., :num_keys]
    return torch.nn.functional.pad(given, (0, max(num_keys - given.shape[-1], 0)))


def as_BHQ(x: Tensor) -> Tensor:
    """(…, Q, D) as (B, H, Q, D): three dimensions have one head, two also one sentence."""
    if x.ndim == 2:
        return x[None, None]
    return x[:, None] if x.ndim == 3 else x.reshape(math.prod(x.shape[:-3]), *x.shape[-3:])


def _grid(sentences: list[int], heads: list[int], device: torch.device) -> tuple[Tensor, Tensor]:
    """Indices that pick every chosen head of every chosen sentence, (b, h)."""
    b, h = torch.tensor(sentences, device=device), torch.tensor(heads, device=device)
    b, h = torch.meshgrid(b, h, indexing="ij")
    return b, h


def _several(which: int | Sequence[int]) -> Sequence[int]:
    return [which] if isinstance(which, int) else which


def _listed(name: str, which: Which, number: int) -> list[int]:
    if which is None:
        return list(range(number))
    chosen = list(_several(which))
    beyond = [n for n in chosen if not 0 <= n < number]
    if beyond:
        raise ValueError(
            f"{name} must be from 0 to {number - 1} in this call, but {beyond[0]} came."
        )
    return chosen
