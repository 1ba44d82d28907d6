"""A `MultiHead` layer's parameters under other names: torch's, or one matrix per head.

`MultiHead.load_state_dict` takes the state dict of an `nn.MultiheadAttention` as it is.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

if TYPE_CHECKING:
    from regard.attention.layers.multi_head import MultiHead

_PARTS = ("query_proj", "key_proj", "value_proj")
_TORCH_WEIGHTS = ("q_proj_weight", "k_proj_weight", "v_proj_weight")


def translate_torch_names(layer: MultiHead, state: dict[str, Any], prefix: str, *_: object) -> None:
    """Rename, in place, what an `nn.MultiheadAttention` saved under `prefix`."""
    ours = {name.removeprefix(prefix) for name in state if name.startswith(prefix)}
    if not ours & {"in_proj_weight", "q_proj_weight"}:
        return
    if "bias_k" in ours:
        raise ValueError(
            "the state dict comes from an nn.MultiheadAttention with add_bias_kv=True, "
            "which MultiHead does not have."
        )
    if layer.projections == "slice":
        raise ValueError("projections='slice' has no matrices to load from a state dict.")
    if "in_proj_weight" in ours:
        weights = state.pop(prefix + "in_proj_weight").chunk(3)
    else:
        weights = tuple(state.pop(prefix + name) for name in _TORCH_WEIGHTS)
    joint = {f"{part}.weight": w for part, w in zip(_PARTS, weights, strict=True)}
    if "in_proj_bias" in ours:
        biases = state.pop(prefix + "in_proj_bias").chunk(3)
        joint |= {f"{part}.bias": b for part, b in zip(_PARTS, biases, strict=True)}
    if layer.projections == "separate":
        joint = _split(joint, dict.fromkeys(_PARTS, layer.num_heads))
    state.update({prefix + name: x for name, x in joint.items()})


def with_projections(state: Mapping[str, Tensor], layer: MultiHead, to: str) -> dict[str, Tensor]:
    """The state dict of `layer` with joint or with separate projections."""
    if to == layer.projections:
        return dict(state)
    heads = dict(
        zip(_PARTS, (layer.num_heads, layer.num_kv_heads, layer.num_kv_heads), strict=True)
    )
    return _split(state, heads) if to == "separate" else _join(state, heads)


def _split(state: Mapping[str, Tensor], heads: Mapping[str, int]) -> dict[str, Tensor]:
    """`query_proj.weight` (H · D, dim) as `query_proj.heads.0.weight` (D, dim), …"""
    split: dict[str, Tensor] = {}
    for name, x in state.items():
        part, _, kind = name.partition(".")
        if part not in heads:
            split[name] = x
            continue
        for h, piece in enumerate(x.chunk(heads[part])):
            split[f"{part}.heads.{h}.{kind}"] = piece.clone()
    return split


def _join(state: Mapping[str, Tensor], heads: Mapping[str, int]) -> dict[str, Tensor]:
    joined = {name: x for name, x in state.items() if name.partition(".")[0] not in heads}
    for part, number in heads.items():
        for kind in ("weight", "bias"):
            pieces = [state.get(f"{part}.heads.{h}.{kind}") for h in range(number)]
            found = [piece for piece in pieces if piece is not None]
            if found:
                joined[f"{part}.{kind}"] = torch.cat(found)
    return joined
