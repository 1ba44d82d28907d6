"""The effect of each head: how a score changes when the head is switched off."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import SupportsFloat

import numpy as np
import torch
from torch import nn

from regard.attention import Edit, SwitchOff, intervene
from regard.attention.engines.tile import as_BHQ
from regard.attention.inspection.observe import ObservedCall
from regard.views.maps.arrays import KIND_NAMES
from regard.views.maps.summaries import HeadTable


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
        layers = sorted(layer for other, layer in counter.num_heads if other == kind)
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


@dataclass(frozen=True, eq=False, kw_only=True)
class _HeadCounter(Edit):
    """Changes nothing, and counts the heads of each layer."""

    num_heads: dict[tuple[str, int], int] = field(default_factory=dict)
    _layer: list[tuple[str, int]] = field(default_factory=list)

    def matches(self, kind: str, layer: int) -> bool:
        self._layer[:] = [(kind, layer)]
        return True

    def apply(self, call: ObservedCall) -> ObservedCall | None:
        self.num_heads[self._layer[0]] = as_BHQ(call.context).shape[1]
        return replace(call)
