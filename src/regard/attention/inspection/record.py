"""Record attention: exact maps, per head, from any engine and any torch model.

Shapes: weights (B, H, r, K) of the chosen heads and rows.
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
from regard.attention.inspection.observe import ObservedCall
from regard.attention.inspection.sites import Sites

Choice = int | Iterable[int] | None


@dataclass(frozen=True, eq=False)
class AttentionMap:
    """The weights of one attention call.

    weights  (B, H, r, K)  before dropout; softmax rows sum to one, or to zero if fully masked
    kind     "self", "causal" or "cross"; "channel" or "spatial" for a gate of a feature map
    layer    index of the layer within its kind, in the order of first calls
    heads    indices of the heads
    rows     absolute positions of the queries
    module   name of the module
    over     what a column is: one of the "keys", or "projected" from all of them (Linformer)
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
        """Return the maps of a kind, a layer, or both."""
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
    """Collect the attention maps of what runs inside, on this thread; outputs do not change.

    Only the selected maps are computed: `kinds` ("self", "causal", "cross"), `layers`, `heads`, and
    `rows` (absolute positions of queries). With a `model`, only its calls are recorded, with its
    modules' names. Torch's own attention functions are recorded too, so a model that is not ours
    needs no change (`nn.TransformerEncoder` leaves its inference fast path, which rounds
    differently). Inside an `intervene` the changed maps are recorded, outside of it the original
    ones. What a checkpointed layer recomputes in the backward pass is not recorded again.

    >>> from regard.attention import MultiHead, record
    >>> layer = MultiHead(8, num_heads=2)
    >>> with record(layer, heads=[1]) as recording:
    ...     _ = layer(torch.randn(1, 3, 8))
    >>> recording[0]
    AttentionMap(self layer 0, 1×1×3×3, module='MultiHead')
    """
    recorder = _Recorder(
        Recording(),
        Sites(model),
        _kinds(kinds),
        chosen_numbers("layers", layers),
        chosen_numbers("heads", heads),
        chosen_numbers("rows", rows),
    )
    with recorder.sites.tracked(), observe.observing(recorder), intercepted():
        yield recorder.recording
    if not recorder.recording.maps:
        warnings.warn(
            f"record saw {recorder.num_calls} attention calls, none of which matches kinds, layers "
            "and rows."
            if recorder.num_calls
            else "record saw no attention call; one written as "
            "matrix products cannot be recorded (a model of transformers: load it with "
            'attn_implementation="sdpa").',
            stacklevel=3,
        )


@dataclass
class _Recorder:
    """The observer behind `record`."""

    recording: Recording
    sites: Sites
    kinds: set[str] | None
    layers: set[int] | None
    heads: set[int] | None
    rows: set[int] | None
    num_calls: int = 0

    def __call__(self, call: ObservedCall) -> ObservedCall:
        over = getattr(call.source, "over", "keys")
        site = None if in_backward() else self.sites.find(call)
        if site is None or over == "none":
            return call
        self.num_calls += 1
        if self.kinds is not None and site.kind not in self.kinds:
            return call
        if self.layers is not None and site.layer not in self.layers:
            return call
        batch, offset, device = call.source.batch, site.offset, call.context.device
        heads = chosen_heads(self.heads, batch)
        positions = range(offset, offset + call.source.num_queries)
        rows = [p for p in positions if self.rows is None or p in self.rows]
        if not rows and self.rows is not None:
            return call
        all_heads = self.heads is None or len(batch) < 2  # or no dimension of heads
        with torch.no_grad():
            weights = call.weights(
                None if self.rows is None else torch.tensor(rows, device=device) - offset,
                None if all_heads else torch.tensor(heads, device=device),
            ).detach()
        size = math.prod(batch[:-1] if len(batch) > 1 else batch)
        weights = weights.reshape(size, len(heads), *weights.shape[-2:])
        self.recording.maps.append(
            AttentionMap(
                weights, site.kind, site.layer, tuple(heads), tuple(rows), site.module, over
            )
        )
        return call


def chosen_heads(heads: set[int] | None, batch: tuple[int, ...]) -> list[int]:
    """The chosen heads of a call with these leading dimensions; None is all of them."""
    num_heads = batch[-1] if len(batch) > 1 else 1
    if heads is None:
        return list(range(num_heads))
    beyond = [head for head in sorted(heads) if head >= num_heads]
    if beyond:
        raise ValueError(f"heads must be below {num_heads}, the number of heads, got {beyond[0]}.")
    return sorted(heads)


def chosen_numbers(name: str, choice: Choice) -> set[int] | None:
    """The chosen numbers from 0 as a set; None is all of them."""
    if choice is None:
        return None
    chosen = whole_numbers(name, choice)
    if any(n < 0 for n in chosen):
        raise ValueError(f"{name} must be integers from 0, got {sorted(chosen)}.")
    return set(chosen)


def _kinds(kinds: str | Iterable[str] | None) -> set[str] | None:
    if kinds is None:
        return None
    chosen = {kinds} if isinstance(kinds, str) else set(kinds)
    for kind in chosen:
        known_kind("kinds", kind)
    return chosen


def in_backward() -> bool:
    """Whether autograd is running: a checkpointed layer recomputes what was recorded before."""
    return torch._C._current_graph_task_id() != -1
