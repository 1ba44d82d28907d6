"""Edits of a model's attention: heads switched off, rows of weights overwritten.

An edit selects calls by `kind` ("self", "causal", "cross"), `layer`, `heads` and `batch` (indices
of sentences); None selects all. Rows are absolute positions of queries.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from regard.attention.engines import arguments
from regard.attention.engines.tile import as_BHQ
from regard.attention.inspection.observe import ObservedCall

Which = int | Sequence[int] | None


@dataclass(frozen=True, eq=False, kw_only=True)
class Edit:
    """Base of all edits: the selected calls, heads and sentences."""

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

    def matches(self, kind: str, layer: int) -> bool:
        """Whether a call of this kind and layer is selected."""
        layers = self.layer
        return self.kind in (None, kind) and (layers is None or layer in _as_list(layers))

    def apply(self, call: ObservedCall) -> ObservedCall | None:
        """Return the changed call, or None if nothing in it is selected."""
        raise NotImplementedError(f"{type(self).__name__} must define apply(call).")

    def _selected(self, call: ObservedCall) -> tuple[list[int], list[int]]:
        """Return the selected sentences and heads, as indices of (B, H, Q, ·)."""
        shape = as_BHQ(call.context).shape
        return _indices("batch", self.batch, shape[0]), _indices("heads", self.heads, shape[1])


@dataclass(frozen=True, eq=False, kw_only=True)
class SwitchOff(Edit):
    """Scale the output of heads by `scale`, 0 by default; the maps do not change."""

    scale: float = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        arguments.real("scale", self.scale)

    def apply(self, call: ObservedCall) -> ObservedCall | None:
        sentences, heads = self._selected(call)
        if not sentences or not heads:
            return None
        context = as_BHQ(call.context).clone()
        index = _grid(sentences, heads, context.device)
        context[index] = context[index] * self.scale if self.scale else 0.0
        return replace(call, context=context.reshape(call.context.shape))


@dataclass(frozen=True, eq=False, kw_only=True)
class Overwrite(Edit):
    """Replace whole rows of weights.

    rows         absolute positions of queries
    weights      (K,) for all the rows, or (r, K), one for each
    renormalize  True divides the given weights by their sum; False takes them as they are

    A decoder has as many keys as tokens so far, so in causal calls weights may be shorter than the
    keys (the rest is zero), or longer if the excess is zero.
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
            raise TypeError(f"weights must be numbers, got {self.weights!r}.") from None
        if given.ndim not in (1, 2) or (given.ndim == 2 and given.shape[0] != len(rows)):
            raise ValueError(
                f"weights must have shape (K,) or ({len(rows)}, K), one row for each of rows, "
                f"got {tuple(given.shape)}."
            )
        if not bool(torch.isfinite(given).all()):
            raise ValueError("weights must be finite numbers.")
        if self.renormalize and (bool((given < 0).any()) or bool((given.sum(-1) <= 0).any())):
            raise ValueError(
                "weights to be renormalized must not be negative and must have a sum above zero."
            )

    def apply(self, call: ObservedCall) -> ObservedCall | None:
        sentences, heads = self._selected(call)
        rows = [(i, p - call.info.offset) for i, p in enumerate(_as_list(self.rows))]
        rows = [(i, row) for i, row in rows if 0 <= row < call.source.num_queries]
        if not (sentences and heads and rows):
            return None
        new_rK = self._new_weights(call, [i for i, _ in rows])
        value_BHKD = as_BHQ(call.source.spread().value)
        context = as_BHQ(call.context).clone()
        device = context.device
        b, h = _grid(sentences, heads, device)
        row = torch.tensor([row for _, row in rows], device=device)
        # one matrix product for every selected sentence and head: (b, h, r, K) · (b, h, K, D)
        changed = new_rK.to(value_BHKD.dtype) @ value_BHKD[b, h]
        context[b[..., None], h[..., None], row] = changed.to(context.dtype)
        overlay = _OverwrittenRows(sentences, heads, row, new_rK)
        return replace(
            call,
            context=context.reshape(call.context.shape),
            overlay=(*call.overlay, overlay),
        )

    def _new_weights(self, call: ObservedCall, indices: list[int]) -> Tensor:
        value = call.source.value
        given = torch.as_tensor(self.weights, dtype=value.dtype, device=value.device)
        if call.info.kind == "causal":
            given = _fit(given, call.source.num_keys)
        if given.shape[-1] != call.source.num_keys:
            raise ValueError(
                f"weights must have one number for each of the {call.source.num_keys} keys, "
                f"got {given.shape[-1]}."
            )
        if self.renormalize:
            given = given / given.sum(-1, keepdim=True)
        return given.expand(len(indices), -1) if given.ndim == 1 else given[indices]


@dataclass(frozen=True, eq=False, kw_only=True)
class ForceAlignment(Edit):
    """Make queries attend to one key each: `links` maps a query's absolute position to a key."""

    links: Mapping[int, int] | Iterable[tuple[int, int]]

    def __post_init__(self) -> None:
        super().__post_init__()
        try:
            links = {
                operator.index(row): operator.index(key) for row, key in dict(self.links).items()
            }
        except (TypeError, ValueError):
            raise TypeError(
                f"links must map positions of queries to keys, got {self.links!r}."
            ) from None
        object.__setattr__(self, "links", links)

    def apply(self, call: ObservedCall) -> ObservedCall | None:
        changed = None
        for row, key in dict(self.links).items():
            num_keys = call.source.num_keys
            if not call.info.offset <= row < call.info.offset + call.source.num_queries:
                continue
            if not 0 <= key < num_keys:
                raise ValueError(f"links must point to keys below {num_keys}, got {key}.")
            weights = torch.zeros(num_keys)
            weights[key] = 1.0
            edit = Overwrite(
                rows=row, weights=weights, renormalize=False, heads=self.heads, batch=self.batch
            )
            changed = edit.apply(changed or call) or changed
        return changed


@dataclass(frozen=True, eq=False)
class _OverwrittenRows:
    """Puts overwritten rows into the maps."""

    sentences: list[int]
    heads: list[int]
    rows: Tensor
    new_rK: Tensor

    def __call__(self, weights: Tensor, rows: Tensor | None, heads: Tensor | None) -> Tensor:
        out = as_BHQ(weights).clone()
        map_heads = list(range(out.shape[1])) if heads is None else heads.tolist()
        map_rows = list(range(out.shape[2])) if rows is None else rows.tolist()
        for i, row in enumerate(self.rows.tolist()):
            if row not in map_rows:
                continue
            for head in self.heads:
                if head in map_heads:
                    index = (self.sentences, map_heads.index(head), map_rows.index(row))
                    out[index] = self.new_rK[i].to(out.dtype)
        return out.reshape(weights.shape)


def _fit(weights: Tensor, num_keys: int) -> Tensor:
    """Pad weights (…, K) with zeros to the number of keys, or cut excess zeros off.

    >>> _fit(torch.tensor([0.5, 0.5]), 3), _fit(torch.tensor([0.5, 0.5, 0.0]), 2)
    (tensor([0.5000, 0.5000, 0.0000]), tensor([0.5000, 0.5000]))
    """
    if weights.shape[-1] > num_keys and not bool(weights[..., num_keys:].any()):
        return weights[..., :num_keys]
    return torch.nn.functional.pad(weights, (0, max(num_keys - weights.shape[-1], 0)))


def _grid(sentences: list[int], heads: list[int], device: torch.device) -> tuple[Tensor, Tensor]:
    """Return indices (b, h) of every selected head of every selected sentence."""
    b, h = torch.tensor(sentences, device=device), torch.tensor(heads, device=device)
    b, h = torch.meshgrid(b, h, indexing="ij")
    return b, h


def _as_list(which: int | Sequence[int]) -> Sequence[int]:
    return [which] if isinstance(which, int) else which


def _indices(name: str, which: Which, size: int) -> list[int]:
    if which is None:
        return list(range(size))
    indices = list(_as_list(which))
    beyond = [index for index in indices if not 0 <= index < size]
    if beyond:
        raise ValueError(f"{name} must be from 0 to {size - 1} in this call, got {beyond[0]}.")
    return indices
