"""Trace a computation: every number on the way from a token's vector to the next word.

A `Step` is one named tensor with its equation. Of an attention call the steps are

    query q, keys k, values v       raw scores q·k ▶ scaled ▶ biased ▶ masked ▶ weights a
    weighted values a_j v_j         context Σ_j a_j v_j

those that the call has; around it a layer emits its own (`probe`): token, position, input, norm,
heads joined, output projection, residual, hidden, feed-forward, next input; recurrent decoders
previous state, energies, state, joined; and at the end logits, probabilities, word.

Shapes: B sentences, r chosen queries, K keys.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

import torch
from torch import Tensor, nn

from regard.attention.inspection import observe, probe
from regard.attention.inspection.intercept import intercepted
from regard.attention.inspection.observe import ObservedCall, WeightSource
from regard.attention.inspection.record import Choice, chosen_heads, chosen_numbers, in_backward
from regard.attention.inspection.sites import Sites

SIDES = {"self": "encoder", "causal": "decoder", "cross": "decoder"}
"""The side that a kind of attention is on, where no layer says it."""

AXES = {
    "query": ("query", "feature"),
    "keys": ("key", "feature"),
    "values": ("key", "feature"),
    "weighted values": ("query", "key", "feature"),
    "context": ("query", "feature"),
}
"""The dimensions of an attention call's steps, if not ("query", "key")."""


@dataclass(frozen=True, eq=False)
class Step:
    """One tensor of a computation.

    name      as "query", "scaled", "residual"
    equation  how it is made of those before
    tensor    its numbers; the dimensions are named by `axes`
    axes      "batch", "query" (the chosen positions `rows`), "key" ("slot" of Linformer),
              "feature", "vocabulary"
    side      "encoder", "decoder"; "pooling" of a classifier, "regression"
    part      "embedding", "self-attention", "cross-attention", "feed-forward", "recurrence",
              "output"
    layer     index of the layer on its side; None outside of layers
    head      index of the head; None where heads are together
    rows      absolute positions of the queries; none of a step without them (keys, values)
    """

    name: str
    equation: str
    tensor: Tensor
    axes: tuple[str, ...]
    side: str
    part: str
    layer: int | None
    head: int | None
    rows: tuple[int, ...]

    def __repr__(self) -> str:
        place = f"{self.side} {self.part}"
        place += "" if self.layer is None else f" layer {self.layer}"
        place += "" if self.head is None else f" head {self.head}"
        sizes = ", ".join(f"{a} {n}" for a, n in zip(self.axes, self.tensor.shape, strict=True))
        return f"Step({self.name!r}, {place}: {sizes})"


@dataclass
class Trace:
    """The steps, in the order of the computation."""

    steps: list[Step] = field(default_factory=list)

    def __iter__(self) -> Iterator[Step]:
        return iter(self.steps)

    def __len__(self) -> int:
        return len(self.steps)

    def __getitem__(self, index: int) -> Step:
        return self.steps[index]

    def of(
        self,
        name: str | None = None,
        *,
        side: str | None = None,
        part: str | None = None,
        layer: int | None = None,
        head: int | None = None,
    ) -> list[Step]:
        """Return the steps of that name and place; None is any."""
        wanted = {"name": name, "side": side, "part": part, "layer": layer, "head": head}
        given = {key: value for key, value in wanted.items() if value is not None}
        return [s for s in self.steps if all(getattr(s, k) == v for k, v in given.items())]


@contextmanager
def trace(
    model: nn.Module | None = None,
    *,
    rows: Choice | Mapping[str, Choice] = None,
    layers: Choice = None,
    heads: Choice = None,
    sides: str | Iterable[str] | None = None,
    steps: str | Iterable[str] | None = None,
    without: str | Iterable[str] = (),
) -> Iterator[Trace]:
    """Collect the steps of what runs inside, on this thread; outputs do not change, to the bit.

    Only what is selected is computed and copied: `rows`, absolute positions of queries (for each
    side if it is a mapping, as `{"encoder": 3, "decoder": [4, 5]}`; a side that it leaves out is
    not traced), `layers`, `heads`, `sides`, and `steps` by name, `without` some of them. Of a model
    that is not ours the attention calls are traced, as `record` sees them. The steps are there when
    the block ends.

    >>> from regard.attention import Mask, MultiHead, trace
    >>> layer = MultiHead(8, num_heads=2)
    >>> with trace(layer, rows=2, heads=1) as traced:
    ...     _ = layer(torch.randn(1, 3, 8), mask=Mask.causal())
    >>> [step.name for step in traced][:6]
    ['query', 'keys', 'values', 'raw scores', 'scaled', 'masked']
    >>> traced.of("weights")
    [Step('weights', decoder self-attention layer 0 head 1: batch 1, query 1, key 3)]
    """
    by_side = rows if isinstance(rows, Mapping) else None
    tracer = _Tracer(
        Trace(),
        Sites(model),
        chosen_numbers("rows", None if isinstance(rows, Mapping) else rows),
        None if by_side is None else {s: chosen_numbers("rows", r) for s, r in by_side.items()},
        chosen_numbers("layers", layers),
        chosen_numbers("heads", heads),
        _names(sides),
        _names(steps),
        _names(without) or set(),
    )
    with tracer.sites.tracked(), observe.observing(tracer), probe.probing(tracer), intercepted():
        yield tracer.trace
    tracer.trace.steps = _merged(tracer.trace.steps)
    if not tracer.trace.steps:
        warnings.warn("trace saw no step that matches rows, layers, sides and steps.", stacklevel=3)


@dataclass(frozen=True)
class _Place:
    side: str
    part: str
    layer: int | None
    offset: int


@dataclass
class _Tracer:
    """The observer of attention calls and the probe of layers behind `trace`."""

    trace: Trace
    sites: Sites
    rows: set[int] | None
    rows_of: Mapping[str, set[int] | None] | None
    layers: set[int] | None
    heads: set[int] | None
    sides: set[str] | None
    names: set[str] | None
    unwanted: set[str]
    place: _Place | None = None
    awaits_call: bool = False  # whether a layer has given the place of the next attention call
    known: dict[str, list[object]] = field(default_factory=dict)  # layers of each side, as numbered

    def scope(self, side: str, part: str, layer: object, offset: int) -> bool:
        number = None
        if layer is not None:
            known = self.known.setdefault(side, [])
            number = next((i for i, other in enumerate(known) if other is layer), len(known))
            if number == len(known):
                known.append(layer)
        self.place = _Place(side, part, number, offset)
        self.awaits_call = part.endswith("attention")
        return True

    def needs_weights(self) -> bool:
        return False  # it takes them from the call, of the chosen rows and heads

    def emit(self, name: str, equation: str, x: Tensor, axis: str, make: probe.Make | None) -> None:
        place = self.place
        if place is None or in_backward() or not self._wants(name):
            return
        rows = self._positions(place, x.shape[1])
        if not rows:
            return
        index = torch.tensor(rows, device=x.device) - place.offset
        with torch.no_grad():
            part = x.index_select(1, index) if make is None else make(index)
        self._add(place, None, rows, name, equation, part, ("batch", "query", axis)[: part.ndim])

    def __call__(self, call: ObservedCall) -> ObservedCall:
        site = None if in_backward() else self.sites.find(call)
        if site is None or site.kind not in SIDES:
            return call
        place = self.place
        if place is None or not self.awaits_call:
            part = "cross-attention" if site.kind == "cross" else "self-attention"
            place = _Place(SIDES[site.kind], part, site.layer, site.offset)
        self.place, self.awaits_call = place, False
        rows = self._positions(place, call.source.num_queries)
        if not rows:
            return call
        index = torch.tensor(rows, device=call.context.device) - place.offset
        with torch.no_grad():
            for head in chosen_heads(self.heads, call.source.batch):
                self._trace_head(call, place, rows, index, head)
        return call

    def _trace_head(
        self, call: ObservedCall, place: _Place, rows: list[int], index: Tensor, head: int
    ) -> None:
        """Add the steps of one head of an attention call."""
        single = len(call.source.batch) < 2  # no dimension of heads
        heads = None if single else torch.tensor([head], device=index.device)
        over = getattr(call.source, "over", "keys")
        steps = list(call.source.steps(index, heads))
        if over != "none":
            weights = call.weights(index, heads)
            steps.append(("weights", weights_equation(call.source), weights))
            values = next(x for name, _, x in steps if name == "values")
            if self._wants("weighted values"):
                # a weight of exactly zero takes nothing, even of what is not finite
                taken = values[..., None, :, :].masked_fill(weights[..., None] == 0, 0.0)
                steps.append(("weighted values", "a_ij v_j", weights[..., None] * taken))
        if call.read_only:  # inside nn.MultiheadAttention, which returns the projected heads
            context = weights @ values
        else:
            context = call.context if heads is None else call.context.index_select(-3, heads)
            context = context.index_select(-2, index)
        steps.append(("context", "c_i = Σ_j a_ij v_j", context))
        for name, equation, x in steps:
            if not self._wants(name):
                continue
            axes = AXES.get(name, ("query", "key"))
            x = x.reshape(-1, *x.shape[-len(axes) :])
            if over == "projected":
                axes = tuple("slot" if axis == "key" else axis for axis in axes)
            equation = call.info.equations.get(name, equation)
            self._add(place, None if single else head, rows, name, equation, x, ("batch", *axes))

    def _add(
        self,
        place: _Place,
        head: int | None,
        rows: list[int],
        name: str,
        equation: str,
        x: Tensor,
        axes: tuple[str, ...],
    ) -> None:
        step = Step(
            name,
            equation,
            x.detach().clone(),
            axes,
            place.side,
            place.part,
            place.layer,
            head,
            tuple(rows) if "query" in axes else (),
        )
        self.trace.steps.append(step)

    def _wants(self, name: str) -> bool:
        return name not in self.unwanted and (self.names is None or name in self.names)

    def _positions(self, place: _Place, count: int) -> list[int]:
        """The chosen positions among `count` from the place's offset on; none if not selected."""
        if self.sides is not None and place.side not in self.sides:
            return []
        if place.layer is not None and self.layers is not None and place.layer not in self.layers:
            return []
        rows = self.rows
        if self.rows_of is not None:
            if place.side not in self.rows_of:
                return []
            rows = self.rows_of[place.side]
        if place.side == "pooling":  # one query, of no position in the text
            rows = None
        every = range(place.offset, place.offset + count)
        return [row for row in every if rows is None or row in rows]


def weights_equation(source: WeightSource) -> str:
    """How the weights are made of the scores."""
    normalizer = getattr(source, "normalizer", None)
    name = "normalize" if normalizer is None else type(normalizer).__name__.lower()
    return f"a_i = {name}(s_i)"


def _merged(steps: list[Step]) -> list[Step]:
    """One step in place of those of successive calls (a recurrent decoder), if they fit together.

    Keys and values that did not change are kept once.
    """
    merged: dict[tuple[object, ...], Step] = {}
    for number, step in enumerate(steps):
        key: tuple[object, ...] = (
            step.name,
            step.side,
            step.part,
            step.layer,
            step.head,
            step.axes,
        )
        before = merged.get(key)
        if before is None:
            merged[key] = step
        elif "query" not in step.axes and torch.equal(before.tensor, step.tensor):
            continue
        elif "query" in step.axes and _fits(before, step):
            tensor = torch.cat([before.tensor, step.tensor], step.axes.index("query"))
            merged[key] = replace(before, tensor=tensor, rows=before.rows + step.rows)
        else:
            merged[(*key, number)] = step
    return list(merged.values())


def _fits(before: Step, step: Step) -> bool:
    """Whether a step continues another: later rows, and otherwise the same sizes."""
    sizes = [
        [n for axis, n in zip(s.axes, s.tensor.shape, strict=True) if axis != "query"]
        for s in (before, step)
    ]
    return before.rows[-1] < step.rows[0] and sizes[0] == sizes[1]


def _names(choice: str | Iterable[str] | None) -> set[str] | None:
    return None if choice is None else {choice} if isinstance(choice, str) else set(choice)
