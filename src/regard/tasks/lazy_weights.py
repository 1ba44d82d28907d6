"""Attention maps of long texts, recorded again for each layer when it is shown.

The maps of 4,000 tokens take 64 MB a head. Only the layer that was shown last stays in memory, so
that a page of many layers needs the memory of one.

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


_CACHING: WeakSet[RepeatedForward] = WeakSet()


class RepeatedForward:
    """A network and a forward pass over one text, which gives the same maps each time."""

    def __init__(self, network: nn.Module, forward: Callable[[], object]) -> None:
        self.network = network
        self._forward = forward
        self._cached: tuple[tuple[str, int], Weights] | None = None

    def maps(self, rows: int | None = None) -> list[AttentionMap]:
        """Every map over tokens, whole or of one row (which tells kinds, layers and heads)."""
        with torch.no_grad(), _ignore_missing(), record(self.network, rows=rows) as recording:
            self._forward()
        return [layer_map for layer_map in recording if layer_map.over == "keys"]

    def weights(self, kind: str, layer: int) -> Weights:
        """The weights (H, R, C) of one layer; those of the layer before, of any text, are freed."""
        if self._cached is None or self._cached[0] != (kind, layer):
            for other in list(_CACHING):  # before the next ones are made
                other._cached = None
            with torch.no_grad(), record(self.network, kinds=kind, layers=layer) as recording:
                self._forward()
            self._cached = (kind, layer), recording[0].weights[0].float().cpu().numpy()
            _CACHING.add(self)
        return self._cached[1]


@contextmanager
def _ignore_missing() -> Iterator[None]:
    """Do not warn of a model whose attention has no weights to show."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "record saw")
        yield


class LazyWeights:
    """An array (H, R, C) of weights that is recorded when its values are first needed."""

    def __init__(
        self, source: RepeatedForward, kind: str, layer: int, shape: tuple[int, int, int]
    ) -> None:
        self._source, self._key = source, (kind, layer)
        self.shape, self.ndim, self.dtype = shape, len(shape), np.dtype(np.float32)

    def __len__(self) -> int:
        return self.shape[0]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        weights = np.asarray(self._source.weights(*self._key), dtype)
        return weights.copy() if copy else weights

    def __getitem__(self, index: Any) -> Any:
        return self._source.weights(*self._key)[index]

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self._source.weights(*self._key), name)


def lazy_maps(
    source: RepeatedForward, axes: Mapping[str, tuple[Tokens, Tokens]]
) -> tuple[HeadMaps, ...]:
    """The maps of every layer, each recorded when it is shown.

    `axes` has the tokens of the rows and of the columns of each kind, by the page's names.
    """
    maps = []
    for layer_map in source.maps(rows=0):
        kind = KINDS[layer_map.kind]
        rows, columns = axes[kind]
        shape = len(layer_map.heads), len(rows), len(columns)
        weights = cast("Weights", LazyWeights(source, layer_map.kind, layer_map.layer, shape))
        maps.append(HeadMaps(kind, layer_map.layer, layer_map.heads, weights, rows, columns))
    order = ("cross", "encoder", "decoder")
    return tuple(sorted(maps, key=lambda maps: (order.index(maps.kind), maps.layer)))
