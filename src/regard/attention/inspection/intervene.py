"""Change attention while a model runs; the counterpart of `record`, undone on exit."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

from torch import nn

from regard.attention.inspection import observe
from regard.attention.inspection.edit import Edit
from regard.attention.inspection.intercept import intercepted
from regard.attention.inspection.observe import ObservedCall
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
    order. Rows, heads and sentences that no edit names stay bit-identical. A `record` opened inside
    returns the changed maps. An edit that matched no call is passed to `unused`, or warned of. With
    activation checkpointing, keep the backward pass inside too: it recomputes the layers.

    >>> import torch
    >>> from regard.attention import MultiHead, SwitchOff, intervene
    >>> layer = MultiHead(8, num_heads=2, bias=False)
    >>> with intervene(layer, SwitchOff(heads=[0, 1])):
    ...     print(layer(torch.randn(1, 3, 8)).context.abs().max().item())
    0.0
    """
    edits = [edits] if isinstance(edits, Edit) else list(edits)
    for edit in edits:
        if not isinstance(edit, Edit):
            raise TypeError(f"edits must be SwitchOff, Overwrite or ForceAlignment, got {edit!r}.")
    editor = _Editor(edits, Sites(model), set())
    with editor.sites.tracked(), observe.observing(editor), intercepted():
        yield
    for edit in edits:
        if id(edit) in editor.used:
            continue
        if unused is not None:
            unused(edit)
        else:
            warnings.warn(f"{type(edit).__name__} matched no attention call: {edit}", stacklevel=3)


@dataclass
class _Editor:
    """The observer behind `intervene`."""

    edits: list[Edit]
    sites: Sites
    used: set[int]

    def __call__(self, call: ObservedCall) -> ObservedCall:
        site = self.sites.find(call)
        if site is None:
            return call
        info = replace(call.info, kind=site.kind, offset=site.offset, guessed=False)
        call = replace(call, info=info)
        for edit in self.edits:
            if not edit.matches(site.kind, site.layer):
                continue
            changed = edit.apply(call)
            if changed is None:
                continue
            if call.read_only:
                raise ValueError(
                    f"the attention of {site.module} is inside nn.MultiheadAttention and cannot be "
                    "changed; load its state dict into a MultiHead."
                )
            self.used.add(id(edit))
            call = changed
        return call
