"""What each head is good for: how a score changes when the head is switched off."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import SupportsFloat

import numpy as np
import torch
from torch import nn

from regard.attention import Edit, SwitchOff, intervene
from regard.attention.inspection.edit import as_BHQ
from regard.attention.inspection.observe import ObservedCall
from regard.views.maps.layers import KIND_NAMES
from regard.views.maps.summaries import HeadTable


def switch_off_effects(
    model: nn.Module, score: Callable[[], SupportsFloat], *, kinds: Iterable[str] | None = None
) -> list[HeadTable]:
    """For each kind of attention the change of `score()` when one head is switched off.

    `score` runs the model and answers a number, such as a log-probability or BLEU; it is called
    once with all heads and once without each. A value below zero says that the head is needed.
    """
    count = _Counted()
    with torch.no_grad(), intervene(model, count):
        whole = float(score())
    wanted = None if kinds is None else {KIND_NAMES.get(kind, kind) for kind in kinds}
    tables = []
    for kind in dict.fromkeys(kind for kind, _ in count.heads_of):
        name = KIND_NAMES.get(kind, kind)
        if wanted is not None and name not in wanted:
            continue
        layers = sorted(layer for seen, layer in count.heads_of if seen == kind)
        most = max(count.heads_of[kind, layer] for layer in layers)
        values = np.full((len(layers), most), np.nan)
        for place, layer in enumerate(layers):
            for head in range(count.heads_of[kind, layer]):
                off = SwitchOff(kind=kind, layer=layer, heads=head)
                with torch.no_grad(), intervene(model, off):
                    values[place, head] = float(score()) - whole
        tables.append(HeadTable(name, tuple(layers), tuple(range(most)), values))
    if not tables:
        raise ValueError("score must run the model, but no attention of the asked kinds was seen.")
    return tables


@dataclass(frozen=True, eq=False, kw_only=True)
class _Counted(Edit):
    """Changes nothing; notes how many heads each layer has."""

    heads_of: dict[tuple[str, int], int] = field(default_factory=dict)
    _layer: list[tuple[str, int]] = field(default_factory=list)

    def matches(self, kind: str, layer: int) -> bool:
        self._layer[:] = [(kind, layer)]
        return True

    def apply(self, call: ObservedCall) -> ObservedCall | None:
        self.heads_of[self._layer[0]] = as_BHQ(call.context).shape[1]
        return replace(call)
