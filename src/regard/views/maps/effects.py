"""What heads and weights do to a score: heads switched off, and gradient × attention.

Shapes: B sentences, H heads, Q queries, K keys.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, SupportsFloat

import numpy as np
import torch
from torch import Tensor, nn

from regard.attention import AttentionMap, Edit, SwitchOff, intervene
from regard.attention.engines.tile import as_BHQ
from regard.attention.inspection.observe import ObservedCall
from regard.views.figures.figure import Figure
from regard.views.figures.heatmap import heatmap
from regard.views.maps.arrays import KIND_NAMES
from regard.views.maps.layers import layer_at, layers_of
from regard.views.maps.summaries import HeadTable

if TYPE_CHECKING:
    from regard.views.maps.layers import Maps


def switch_off_effects(
    model: nn.Module, score: Callable[[], SupportsFloat], *, kinds: Iterable[str] | None = None
) -> list[HeadTable]:
    """For each kind of attention, the change of `score()` when one head is switched off.

    `score` runs the model and returns a number, such as a log-probability or BLEU; it is called
    once with all heads and once without each. A negative value means that the head is needed.
    """
    counter = _HeadCounter()
    with torch.no_grad(), intervene(model, counter):
        baseline = float(score())
    names = None if kinds is None else {KIND_NAMES.get(kind, kind) for kind in kinds}
    tables = []
    for kind in dict.fromkeys(kind for kind, _ in counter.num_heads):
        name = KIND_NAMES.get(kind, kind)
        if names is not None and name not in names:
            continue
        layers = sorted(layer for head_kind, layer in counter.num_heads if head_kind == kind)
        max_heads = max(counter.num_heads[kind, layer] for layer in layers)
        values = np.full((len(layers), max_heads), np.nan)
        for number, layer in enumerate(layers):
            for head in range(counter.num_heads[kind, layer]):
                edit = SwitchOff(kind=kind, layer=layer, heads=head)
                with torch.no_grad(), intervene(model, edit):
                    values[number, head] = float(score()) - baseline
        tables.append(HeadTable(name, tuple(layers), tuple(range(max_heads)), values))
    if not tables:
        raise ValueError("score must run the model, got no attention of the given kinds.")
    return tables


def gradient_times_attention(
    model: nn.Module,
    batch: Any,
    target: Callable[[Any], Tensor],
    *,
    kind: str | None = None,
    times: bool = True,
) -> list[AttentionMap]:
    """Maps of A ⊙ ∂s/∂A, for the score s = target(model(batch)); `times=False` gives ∂s/∂A alone.

    `target` maps the model's output to one number, or one per sentence (which are added: sentences
    are independent). The derivative is total: it includes the effect of a weight on later layers
    and their attention. A positive value means that the weight raises the score. `kind` ("self",
    "causal", "cross") limits the maps.

    It is exact and needs no weights from the engine: with A + P for A the context is
    context + P · value, and ∂s/∂A is ∂s/∂P at P = 0.
    """
    if model.training:
        raise ValueError("model must be in eval mode, because dropout would distort its gradient.")
    edit = _Perturbation(kind=kind)
    with torch.enable_grad():
        with intervene(model, edit):
            output = model(**batch) if isinstance(batch, Mapping) else model(batch)
        score = target(output)
        if not isinstance(score, Tensor) or score.ndim > 1:
            raise TypeError("target must return a tensor: one number, or one per sentence.")
        perturbations = [perturbation for perturbation, _ in edit.maps]
        gradients = torch.autograd.grad(score.sum(), perturbations, allow_unused=True)
    maps = []
    for gradient, (perturbation, recorded) in zip(gradients, edit.maps, strict=True):
        gradient = torch.zeros_like(perturbation) if gradient is None else gradient
        maps.append(replace(recorded, weights=recorded.weights * gradient if times else gradient))
    return maps


def token_scores(batch: Any) -> Callable[[Tensor], Tensor]:
    """A target: the log-probability (B, T) of each label (B, T) under logits (B, T, V).

    Labels of 0, which is padding, have 0. One row of labels is for all rows of logits.
    """

    def score(logits: Tensor) -> Tensor:
        labels = batch.labels.expand(len(logits), -1)
        scores = logits.log_softmax(-1).gather(-1, labels[..., None])[..., 0]
        return scores.masked_fill(labels == 0, 0.0)

    return score


def label_score(batch: Any) -> Callable[[Tensor], Tensor]:
    """A target: the log-probability (B,) of all labels, the sum of `token_scores`."""
    score = token_scores(batch)
    return lambda logits: score(logits).sum(-1)


def gradient_figure(
    maps: Maps,
    rows: Sequence[str],
    columns: Sequence[str],
    kind: str | None = None,
    *,
    layer: int = -1,
    head: int | None = None,
    row: int = 0,
    mask: Any = None,
) -> Figure:
    """Draw a map of `gradient_times_attention`, of a head or the sum: blue raises the score."""
    selected = layer_at(layers_of(maps, kind, row=row, mask=mask), layer)
    matrix = selected.weights.sum(0) if head is None else selected.matrix(head)
    name = "sum of heads" if head is None else f"head {head}"
    inside = slice(len(rows)), slice(len(columns))
    return heatmap(
        matrix[inside],
        rows,
        columns,
        selected.visible[inside],
        unit="gradient × attention",
        title=f"{selected.kind} attention, layer {selected.layer}, {name}",
    )


@dataclass(frozen=True, eq=False, kw_only=True)
class _LayerObserver(Edit):
    """Remembers the kind and layer of the call that it is applied to."""

    site: list[tuple[str, int]] = field(default_factory=list)

    def matches(self, kind: str, layer: int) -> bool:
        self.site[:] = [(kind, layer)]
        return super().matches(kind, layer)


@dataclass(frozen=True, eq=False, kw_only=True)
class _HeadCounter(_LayerObserver):
    """Changes nothing, and counts the heads of each layer."""

    num_heads: dict[tuple[str, int], int] = field(default_factory=dict)

    def apply(self, call: ObservedCall) -> ObservedCall | None:
        self.num_heads[self.site[0]] = as_BHQ(call.context).shape[1]
        return replace(call)


@dataclass(frozen=True, eq=False, kw_only=True)
class _Perturbation(_LayerObserver):
    """Adds P · value to each context, with P = 0, so that P has a gradient."""

    maps: list[tuple[Tensor, AttentionMap]] = field(default_factory=list)

    def apply(self, call: ObservedCall) -> ObservedCall | None:
        if getattr(call.source, "over", "keys") == "none":
            return None
        (kind, layer), start = self.site[0], call.info.offset
        with torch.no_grad():
            weights = as_BHQ(call.weights()).clone()
        perturbation = torch.zeros_like(weights, requires_grad=True)
        value_BHKD = as_BHQ(call.source.spread().value)
        context = as_BHQ(call.context) + perturbation @ value_BHKD
        recorded = AttentionMap(
            weights,
            kind,
            layer,
            tuple(range(weights.shape[1])),
            tuple(range(start, start + call.source.num_queries)),
            f"{kind} {layer}",
            getattr(call.source, "over", "keys"),
        )
        self.maps.append((perturbation, recorded))
        return replace(call, context=context.reshape(call.context.shape))
