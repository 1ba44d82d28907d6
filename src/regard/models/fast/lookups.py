"""Lookups in tables of vectors whose gradients are added to the table's at the end.

The gradient of a lookup is as large as the whole table and nearly all zero. A table that is also
the output layer's weight has a gradient of that size anyway: the rows are added to it, without a
second one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import NamedTuple

import torch
from torch import Tensor, nn


class Lookup(NamedTuple):
    """Rows (…, D) of a table (V, D) at some ids (…,)."""

    table: Tensor
    ids: Tensor
    rows: Tensor


_LOOKUPS: ContextVar[list[Lookup] | None] = ContextVar("regard_lookups", default=None)


@contextmanager
def collected_lookups() -> Iterator[list[Lookup]]:
    """Collect the lookups inside, on this thread; `gradients_of` gives the tables their share."""
    lookups: list[Lookup] = []
    token = _LOOKUPS.set(lookups)
    try:
        yield lookups
    finally:
        _LOOKUPS.reset(token)


class CollectedEmbedding(nn.Embedding):
    """A table whose lookups are collected inside `collected_lookups`."""

    def forward(self, ids: Tensor) -> Tensor:
        """Return the vectors (…, D) of ids (…,)."""
        lookups, table = _LOOKUPS.get(), self.weight
        if lookups is None or not table.requires_grad or not torch.is_grad_enabled():
            return super().forward(ids)
        rows = table.detach().index_select(0, ids.flatten()).view(*ids.shape, -1).requires_grad_()
        lookups.append(Lookup(table, ids, rows))
        return rows


def gradients_of(
    loss: Tensor, parameters: Sequence[Tensor], lookups: Sequence[Lookup]
) -> list[Tensor | None]:
    """Return the gradients of the parameters; None for those that have no part in the loss."""
    inputs = [*parameters, *(lookup.rows for lookup in lookups)]
    computed: list[Tensor | None] = list(torch.autograd.grad(loss, inputs, allow_unused=True))
    gradients, of_rows = computed[: len(parameters)], computed[len(parameters) :]
    index = {id(parameter): n for n, parameter in enumerate(parameters)}
    for (table, ids, _), rows in zip(lookups, of_rows, strict=True):
        if rows is None:
            continue
        gradient = gradients[index[id(table)]]
        if gradient is None:
            gradient = gradients[index[id(table)]] = torch.zeros_like(table)
        gradient.index_add_(0, ids.flatten(), rows.flatten(0, -2).to(gradient.dtype))
    return gradients
