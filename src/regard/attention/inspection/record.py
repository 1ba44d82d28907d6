"""Look at attention: collect exact maps, per head, from any engine and any torch model.

Shapes: weights (B, H, r, K): the chosen heads and rows.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import torch
from torch import Tensor, nn

from regard.attention.engines.arguments import known_kind, whole_numbers
from regard.attention.inspection import observe
from regard.attention.inspection.intercept import intercepted
from regard.attention.inspection.observe import Sight
from regard.attention.inspection.sites import Sites

Choice = int | Iterable[int] | None


@dataclass(frozen=True, eq=False)
class AttentionMap:
    """The weights of one call of attention.

    weights  (B, H, r, K)  before dropout; a softmax row sums to one, or to zero if it sees nothing
    kind     "self", "causal" or "cross"; "channel" or "spatial" of a feature map's gate
    layer    number of the layer within its kind, from 0 in the order of first calls
    heads    which heads these are
    rows     absolute positions of the queries these are
    module   name of the module that attended
    over     what a column is: one of the "keys", or one "projected" from all of them (Linformer)
    """

    weights: Tensor
    kind: str
    layer: int
    heads: tuple[int, ...]
    rows: tuple[int, ...]
    module: str
    over: str = "keys"

    def __repr__(self) -> str:
        size = "×".join(map(str, self.weights.shape))
        return f"AttentionMap({self.kind} layer {self.layer}, {size}, module={self.module!r})"


@dataclass
class Recording:
    """The maps collected so far, in the order of the calls."""

    maps: list[AttentionMap] = field(default_factory=list)

    def __iter__(self) -> Iterator[AttentionMap]:
        return iter(self.maps)

    def __len__(self) -> int:
        return len(self.maps)

    def __getitem__(self, index: int) -> AttentionMap:
        return self.maps[index]

    def of(self, kind: str | None = None, layer: int | None = None) -> list[AttentionMap]:
        """The maps of one kind, one layer, or both."""
        return [m for m in self.maps if kind in (None, m.kind) and layer in (None, m.layer)]


@contextmanager
def record(
    model: nn.Module | None = None,
    *,
    kinds: str | Iterable[str] | None = None,
    layers: Choice = None,
    heads: Choice = None,
    rows: Choice = None,
) -> Iterator[Recording]:
    """Collect the attention maps of what runs inside, on this thread; the answers do not change.

    Only what is asked for is computed and kept: `kinds` ("self", "causal", "cross"), `layers`,
    `heads`, and `rows` (absolute positions of queries). With a `model`, only its calls are seen,
    and maps carry its modules' names. Torch's own attention functions are seen too, so a model
    that is not ours needs no change (`nn.TransformerEncoder` leaves its inference fast path, which
    rounds differently). Inside an `intervene` the changed maps are seen, outside of it the plain
    ones. What a checkpointed layer computes again on the way back is not seen twice.

    >>> from regard.attention import MultiHead, record
    >>> layer = MultiHead(8, num_heads=2)
    >>> with record(layer, heads=[1]) as recording:
    ...     _ = layer(torch.randn(1, 3, 8))
    >>> recording[0]
    AttentionMap(self layer 0, 1×1×3×3, module='MultiHead')
    """
    watcher = _Watcher(
        Recording(),
        Sites(model),
        _kinds(kinds),
        _chosen("layers", layers),
        _chosen("heads", heads),
        _chosen("rows", rows),
    )
    with watcher.sites.watched(), observe.observing(watcher), intercepted():
        yield watcher.recording
    if not watcher.recording.maps:
        warnings.warn(
            f"record saw {watcher.seen} calls of attention, and none was asked for by its kinds, "
            "layers and rows." if watcher.seen else "record saw no call of attention; one that is "
            "written out in matrix products cannot be seen (a model of transformers: load it with "
            'attn_implementation="sdpa").',
            stacklevel=3,
        )  # fmt: skip


@dataclass
class _Watcher:
    """The observer behind `record`."""

    recording: Recording
    sites: Sites
    kinds: set[str] | None
    layers: set[int] | None
    heads: set[int] | None
    rows: set[int] | None
    seen: int = 0

    def __call__(self, sight: Sight) -> Sight:
        site = None if _in_backward() else self.sites.find(sight)
        if site is None or getattr(sight.call, "over", "keys") == "none":
            return sight
        self.seen += 1
        if self.kinds is not None and site.kind not in self.kinds:
            return sight
        if self.layers is not None and site.layer not in self.layers:
            return sight
        heads = self._heads(sight)
        offset = site.offset
        here = range(offset, offset + sight.call.num_queries)
        rows = [p for p in here if p in self.rows] if self.rows is not None else list(here)
        if not rows and self.rows is not None:
            return sight
        device = sight.context.device
        one = len(sight.call.batch) < 2  # no dimension of heads
        with torch.no_grad():
            weights = sight.weights(
                None if self.rows is None else torch.tensor(rows, device=device) - offset,
                None if self.heads is None or one else torch.tensor(heads, device=device),
            )
        weights = weights.detach()
        lead = math.prod(sight.call.batch[:-1] if len(sight.call.batch) > 1 else sight.call.batch)
        weights = weights.reshape(lead, len(heads), *weights.shape[-2:])
        over = getattr(sight.call, "over", "keys")
        found = AttentionMap(
            weights, site.kind, site.layer, tuple(heads), tuple(rows), site.module, over
        )
        self.recording.maps.append(found)
        return sight

    def _heads(self, sight: Sight) -> list[int]:
        batch = sight.call.batch
        number = batch[-1] if len(batch) > 1 else 1
        if self.heads is None:
            return list(range(number))
        beyond = [h for h in sorted(self.heads) if h >= number]
        if beyond:
            raise ValueError(
                f"heads must be below {number}, the heads there are, but {beyond[0]} came."
            )
        return sorted(self.heads)


def _chosen(name: str, choice: Choice) -> set[int] | None:
    if choice is None:
        return None
    chosen = whole_numbers(name, choice)
    if any(n < 0 for n in chosen):
        raise ValueError(f"{name} must be whole numbers from 0, but {sorted(chosen)} came.")
    return set(chosen)


def _kinds(kinds: str | Iterable[str] | None) -> set[str] | None:
    if kinds is None:
        return None
    chosen = {kinds} if isinstance(kinds, str) else set(kinds)
    for kind in chosen:
        known_kind("kinds", kind)
    return chosen


def _in_backward() -> bool:
    """Whether autograd is running: a checkpointed layer computes again what was seen before."""
    return torch._C._current_graph_task_id() != -1
