"""Touch attention: the other hand of `record`, explicit and undone on exit."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

from torch import nn

from regard.attention.inspection import observe
from regard.attention.inspection.edit import Edit
from regard.attention.inspection.intercept import intercepted
from regard.attention.inspection.observe import Sight
from regard.attention.inspection.sites import Sites


@contextmanager
def intervene(
    model: nn.Module | None,
    edits: Edit | Iterable[Edit],
    *,
    unused: Callable[[Edit], object] | None = None,
) -> Iterator[None]:
    """Change the attention of what runs inside, on this thread.

    `edits` are `SwitchOff` (heads), `Overwrite` (rows of weights) and `ForceAlignment`, applied in
    order. Rows, heads and sentences that no edit names keep their values to the bit. A `record`
    opened inside shows the changed maps. An edit that met no call is warned of, or handed to
    `unused`. With activation checkpointing, keep the backward pass inside too: it computes the
    layers again.

    >>> import torch
    >>> from regard.attention import MultiHead, SwitchOff, intervene
    >>> layer = MultiHead(8, num_heads=2, bias=False)
    >>> with intervene(layer, SwitchOff(heads=[0, 1])):
    ...     print(layer(torch.randn(1, 3, 8)).context.abs().max().item())
    0.0
    """
    listed = [edits] if isinstance(edits, Edit) else list(edits)
    for edit in listed:
        if not isinstance(edit, Edit):
            raise TypeError(
                f"edits must be SwitchOff, Overwrite or ForceAlignment, but {edit!r} came."
            )
    hand = _Hand(listed, Sites(model), set())
    with hand.sites.watched(), observe.observing(hand), intercepted():
        yield
    for edit in listed:
        if id(edit) in hand.used:
            continue
        if unused is not None:
            unused(edit)
        else:
            warnings.warn(f"{type(edit).__name__} met no call of attention: {edit}", stacklevel=3)


@dataclass
class _Hand:
    """The observer behind `intervene`."""

    edits: list[Edit]
    sites: Sites
    used: set[int]

    def __call__(self, sight: Sight) -> Sight:
        site = self.sites.find(sight)
        if site is None:
            return sight
        sight = replace(sight, place=observe.Place(site.kind, site.offset))
        for edit in self.edits:
            if not edit.means(site.kind, site.layer):
                continue
            changed = edit.apply(sight)
            if changed is None:
                continue
            if sight.fixed:
                raise ValueError(
                    f"the attention of {site.module} is inside nn.MultiheadAttention and cannot be "
                    "changed; load its state dict into a MultiHead."
                )
            self.used.add(id(edit))
            sight = changed
        return sight
