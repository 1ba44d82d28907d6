"""The parameters of our Transformer under the names of `transformers`, and back.

MarianMT (post-norm) and Pegasus (pre-norm, with a norm after the last layer) are our Transformer
with sinusoidal positions, but for the order of features: their positions are all sines, then all
cosines, where ours alternate. A permutation of the features in every weight that reads or writes
them gives the same network. D features.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

import torch
from torch import Tensor

LAYER = {
    "attention.query_proj": "self_attn.q_proj",
    "attention.key_proj": "self_attn.k_proj",
    "attention.value_proj": "self_attn.v_proj",
    "attention.out_proj": "self_attn.out_proj",
    "around_attention.norm": "self_attn_layer_norm",
    "cross.query_proj": "encoder_attn.q_proj",
    "cross.key_proj": "encoder_attn.k_proj",
    "cross.value_proj": "encoder_attn.v_proj",
    "cross.out_proj": "encoder_attn.out_proj",
    "around_cross.norm": "encoder_attn_layer_norm",
    "feed_forward.inner": "fc1",
    "feed_forward.outer": "fc2",
    "around_feed_forward.norm": "final_layer_norm",
}
"""Parts of a layer: ours ▶ theirs."""

READS = ("query_proj.weight", "key_proj.weight", "value_proj.weight", "inner.weight")
WRITES = tuple(
    f"{layer}.{part}" for layer in ("out_proj", "outer", "norm") for part in ("weight", "bias")
)
"""Parameters of ours whose last axis, or whose first axis, is the features."""


def their_name(name: str) -> str:
    """The name of a parameter of a layer, or of a final norm.

    >>> their_name("encoder.layers.0.feed_forward.inner.bias"), their_name("decoder.norm.weight")
    ('model.encoder.layers.0.fc1.bias', 'model.decoder.layer_norm.weight')
    """
    layer = re.fullmatch(r"(\w+\.layers\.\d+)\.(.+)\.(weight|bias)", name)
    if layer:
        return f"model.{layer[1]}.{LAYER[layer[2]]}.{layer[3]}"
    return f"model.{name.replace('.norm.', '.layer_norm.')}"


def permuted(name: str, tensor: Tensor, order: Tensor) -> Tensor:
    """A parameter of ours with its features in another order."""
    if name.endswith(READS):
        return tensor[..., order]
    return tensor[order] if name.endswith(WRITES) else tensor


def sines_first(dim: int) -> Tensor:
    """The order 0, 2, 4, …, 1, 3, … of our features in theirs (D,)."""
    return torch.cat([torch.arange(0, dim, 2), torch.arange(1, dim, 2)])


def to_transformers(weights: Mapping[str, Tensor], dim: int) -> dict[str, Tensor]:
    """Layers and final norms of ours under their names; embeddings are left to the caller."""
    order = sines_first(dim)
    return {
        their_name(name): permuted(name, tensor, order).contiguous()
        for name, tensor in weights.items()
        if name.startswith(("encoder.", "decoder."))
    }


def from_transformers(
    weights: Mapping[str, Tensor], names: Mapping[str, Tensor], dim: int
) -> dict[str, Tensor]:
    """Layers and final norms under our `names`, from theirs; one that is missing is a KeyError."""
    order = sines_first(dim).argsort()
    return {
        name: permuted(name, weights[their_name(name)].float(), order).contiguous()
        for name in names
        if name.startswith(("encoder.", "decoder."))
    }
