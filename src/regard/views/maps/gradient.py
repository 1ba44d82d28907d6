"""Gradient × attention: which weights a score hangs on, and in which direction.

Shapes: B sentences, H heads, Q queries, K keys.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import torch
from torch import Tensor, nn

from regard.attention import AttentionMap, Edit, intervene
from regard.attention.inspection.edit import as_BHQ
from regard.attention.inspection.observe import ObservedCall
from regard.views.figures.figure import Figure
from regard.views.figures.heatmap import heatmap
from regard.views.maps.layers import Maps, layers_of


def gradient_times_attention(
    model: nn.Module,
    batch: Any,
    target: Callable[[Any], Tensor],
    *,
    kind: str | None = None,
    times: bool = True,
) -> list[AttentionMap]:
    """Maps of A ⊙ ∂s/∂A, for the score s = target(model(batch)); `times=False` gives ∂s/∂A alone.

    `target` takes what the model answers and gives one number, or one for each sentence (which are
    added: no sentence sees another's weights). The derivative is the whole one: what a weight
    changes in later layers, their attention included, is counted. A positive value says that the
    weight speaks for the score. `kind` ("self", "causal", "cross") limits the maps.

    It is exact and needs no weights from the engine: with A + P in place of A the context is
    context + P · value, and ∂s/∂A is ∂s/∂P at P = 0.
    """
    if model.training:
        raise ValueError("model must be in eval mode, so that no dropout blurs its gradient.")
    loose = _Loosened(kind=kind)
    with torch.enable_grad():
        with intervene(model, loose):
            answer = model(**batch) if isinstance(batch, Mapping) else model(batch)
        score = target(answer)
        if not isinstance(score, Tensor) or score.ndim > 1:
            raise TypeError("target must answer a tensor: one number, or one for each sentence.")
        nudges = [nudge for nudge, _ in loose.found]
        slopes = torch.autograd.grad(score.sum(), nudges, allow_unused=True)
    maps = []
    for slope, (nudge, seen) in zip(slopes, loose.found, strict=True):
        slope = torch.zeros_like(nudge) if slope is None else slope
        maps.append(replace(seen, weights=seen.weights * slope if times else slope))
    return maps


def label_score(batch: Any) -> Callable[[Tensor], Tensor]:
    """A target: the log-probability that logits (B, T, V) give the labels (B, T), per sentence.

    Labels of 0, which is padding, do not count.
    """

    def score(logits: Tensor) -> Tensor:
        labels = batch.labels
        found = logits.log_softmax(-1).gather(-1, labels[..., None])[..., 0]
        return found.masked_fill(labels == 0, 0.0).sum(-1)

    return score


@dataclass(frozen=True, eq=False, kw_only=True)
class _Loosened(Edit):
    """Adds P · value to each context, P = 0: nothing changes, but P has a gradient."""

    found: list[tuple[Tensor, AttentionMap]] = field(default_factory=list)
    _layer: list[tuple[str, int]] = field(default_factory=list)

    def matches(self, kind: str, layer: int) -> bool:
        self._layer[:] = [(kind, layer)]
        return super().matches(kind, layer)

    def apply(self, call: ObservedCall) -> ObservedCall | None:
        if getattr(call.source, "over", "keys") == "none":
            return None
        (kind, layer), start = self._layer[0], call.info.offset
        with torch.no_grad():
            weights = as_BHQ(call.weights()).clone()
        nudge = torch.zeros_like(weights, requires_grad=True)
        value_BHKD = as_BHQ(call.source.spread().value)
        context = as_BHQ(call.context) + nudge @ value_BHKD
        seen = AttentionMap(
            weights, kind, layer, tuple(range(weights.shape[1])),
            tuple(range(start, start + call.source.num_queries)), f"{kind} {layer}",
            getattr(call.source, "over", "keys"),
        )  # fmt: skip
        self.found.append((nudge, seen))
        return replace(call, context=context.reshape(call.context.shape))


def gradient_figure(
    maps: Maps | AttentionMap,
    rows: Sequence[str],
    columns: Sequence[str],
    kind: str | None = None,
    *,
    layer: int = -1,
    head: int | None = None,
    row: int = 0,
    mask: Any = None,
) -> Figure:
    """One map of `gradient_times_attention`, of a head or summed over heads: blue speaks for."""
    layers = layers_of(maps, kind, row=row, mask=mask)
    if not -len(layers) <= layer < len(layers):
        raise ValueError(f"layer must be below {len(layers)}, but {layer} came.")
    one = layers[layer]
    if head is not None and head not in one.heads:
        raise ValueError(f"layer {one.layer} has the heads {one.heads}, but {head} came.")
    plane = one.weights.sum(0) if head is None else one.weights[one.heads.index(head)]
    name = "sum of heads" if head is None else f"head {head}"
    plane, visible = plane[: len(rows), : len(columns)], one.visible[: len(rows), : len(columns)]
    return heatmap(
        plane, rows, columns, visible, unit="gradient × attention",
        title=f"{one.kind} attention, layer {one.layer}, {name}",
    )  # fmt: skip
