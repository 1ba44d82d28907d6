"""Attention maps of models that are not ours, as `record` would give them.

A model of transformers answers with a tensor (B, H, Q, K) for each layer, or, of a generation, with
such a tuple for each step; an encoder–decoder with three of them by name.

Shapes: B sentences, H heads, Q queries, K keys.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from regard.attention import AttentionMap

_KEYS = {
    "encoder_attentions": "self",
    "decoder_attentions": "causal",
    "cross_attentions": "cross",
    "attentions": "",  # of one stack: whether it is causal is read from the weights
}
ASK = (
    'ask for output_attentions=True of a model loaded with attn_implementation="eager", or take '
    "what regard.attention.record saw"
)
"""What to do where there are none."""


def foreign_maps(maps: Any) -> list[AttentionMap]:
    """Maps of whatever origin, as `record` gives them."""
    named = _named(maps)
    if named is not None:
        return [
            one
            for key, kind in _KEYS.items()
            if named.get(key) is not None
            for one in _layers(named[key], kind)
        ]
    if hasattr(maps, "kind") and hasattr(maps, "weights"):
        return [maps]
    listed = list(maps) if not _is_tensor(maps) else [maps]
    if all(hasattr(one, "kind") and hasattr(one, "weights") for one in listed):
        return listed
    return list(_layers(listed, ""))


def _named(maps: Any) -> Mapping[str, Any] | None:
    """An output or a dict with attentions, as a mapping of those it has."""
    if isinstance(maps, Mapping):
        given: Mapping[str, Any] = maps
    elif any(hasattr(maps, key) for key in _KEYS):
        given = {key: getattr(maps, key, None) for key in _KEYS}
    else:
        return None
    known = {key: given[key] for key in _KEYS if key in given and given[key] is not None}
    if not known:
        raise ValueError(f"there are no attentions in what the model answered; {ASK}.")
    return known


def _layers(layers: Any, kind: str) -> Iterator[AttentionMap]:
    """One tensor for each layer, or a tuple of those for each step of a generation."""
    listed = [layers] if _is_tensor(layers) else list(layers)
    steps = listed if listed and all(isinstance(one, (tuple, list)) for one in listed) else [listed]
    done = 0
    for step in steps:
        rows = 0
        for layer, weights in enumerate(step):
            if weights is None:
                continue
            found = _weights(weights, layer)
            rows = found.shape[2]
            yield _map(found, kind or _kind(found, done), layer, done)
        done += rows


def _map(weights: Any, kind: str, layer: int, first: int) -> AttentionMap:
    from regard.attention import AttentionMap

    rows = tuple(range(first, first + weights.shape[2]))
    return AttentionMap(
        weights, kind, layer, tuple(range(weights.shape[1])), rows, f"layer {layer}"
    )


def _weights(given: Any, layer: int) -> Any:
    import torch

    found = torch.as_tensor(given).detach()
    if found.ndim != 4:
        raise ValueError(
            f"the attention of layer {layer} must be of shape (sentences, heads, queries, keys), "
            f"but {tuple(found.shape)} came."
        )
    return found


def _kind(weights_BHQK: Any, done: int) -> str:
    """ "causal" if no row looks beyond its own place, else "self"."""
    queries, keys = weights_BHQK.shape[2:]
    if done or queries < keys or keys == 1:  # one step after another, or nothing to tell it by
        return "causal" if done or queries < keys else "self"
    return "self" if bool(weights_BHQK.triu(1).any()) else "causal"


def _is_tensor(given: Any) -> bool:
    return hasattr(given, "shape") and hasattr(given, "ndim")
