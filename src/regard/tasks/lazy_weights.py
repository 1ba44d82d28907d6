"""A model's reading of one text, run again for each layer that somebody looks at.

The maps of 4,000 tokens are 64 MB a head. Here only the layer that was looked at last is held, so
that a page of many layers is made in the memory of one.

Shapes: H heads, R rows, C columns.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, cast
from weakref import WeakSet

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from regard.attention import AttentionMap, record
from regard.views import HeadMaps

LONG = 1024
"""Tokens from which on layers are recorded one at a time."""
KINDS = {"self": "encoder", "causal": "decoder", "cross": "cross"}

Weights = NDArray[np.float32]
Tokens = tuple[str, ...]


_HOLDING: WeakSet[Pass] = WeakSet()


class Pass:
    """A network and how it is run over one text; each run gives the same maps."""

    def __init__(self, network: nn.Module, run: Callable[[], object]) -> None:
        self.network = network
        self._run = run
        self._held: tuple[tuple[str, int], Weights] | None = None

    def all(self) -> list[AttentionMap]:
        """Every map over words, whole."""
        with torch.no_grad(), _quietly(), record(self.network) as recording:
            self._run()
        return [one for one in recording if one.over == "keys"]

    def found(self) -> list[AttentionMap]:
        """One row of every map there is: kinds, layers, heads and columns, at little cost."""
        with torch.no_grad(), _quietly(), record(self.network, rows=0) as recording:
            self._run()
        return [one for one in recording if one.over == "keys"]

    def weights(self, kind: str, layer: int) -> Weights:
        """The weights (H, R, C) of one layer; those looked at before, of any text, are let go."""
        held = self._held
        if held is None or held[0] != (kind, layer):
            held = None
            for other in list(_HOLDING):  # before the next ones are made
                other._held = None
            with torch.no_grad(), record(self.network, kinds=kind, layers=layer) as recording:
                self._run()
            held = self._held = (kind, layer), recording[0].weights[0].float().cpu().numpy()
            _HOLDING.add(self)
        return held[1]


@contextmanager
def _quietly() -> Iterator[None]:
    """A model whose attention has no weights to show is no reason for a warning here."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "record saw")
        yield


class Waiting:
    """An array (H, R, C) of weights that is recorded when it is first asked for a number."""

    def __init__(self, source: Pass, kind: str, layer: int, shape: tuple[int, int, int]) -> None:
        self._source, self._key = source, (kind, layer)
        self.shape, self.ndim, self.dtype = shape, len(shape), np.dtype(np.float32)

    def __len__(self) -> int:
        return self.shape[0]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        found = np.asarray(self._source.weights(*self._key), dtype)
        return found.copy() if copy else found

    def __getitem__(self, index: Any) -> Any:
        return self._source.weights(*self._key)[index]

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self._source.weights(*self._key), name)


def waiting_maps(source: Pass, axes: Mapping[str, tuple[Tokens, Tokens]]) -> tuple[HeadMaps, ...]:
    """Every layer's heads, each recorded when it is looked at.

    `axes` has the tokens of the rows and of the columns of each kind as the page names it.
    """
    made = []
    for one in source.found():
        rows, columns = axes[KINDS[one.kind]]
        shape = len(one.heads), len(rows), len(columns)
        weights = cast("Weights", Waiting(source, one.kind, one.layer, shape))
        made.append(HeadMaps(KINDS[one.kind], one.layer, one.heads, weights, rows, columns))
    order = ("cross", "encoder", "decoder")
    return tuple(sorted(made, key=lambda maps: (order.index(maps.kind), maps.layer)))
