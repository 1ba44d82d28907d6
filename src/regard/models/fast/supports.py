"""What runs faster than the reference: one function that says it."""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from regard.attention import MultiHead, Position, Rotary, ScaledDot
from regard.attention.inspection import observe
from regard.attention.mechanisms.full import Full
from regard.attention.normalizers.normalizer import Softmax
from regard.dropout import current_stream
from regard.models.rnn.decoder import BahdanauDecoder
from regard.models.rnn.model import RnnModel
from regard.models.transformer import Layer, TransformerModel

Use = Literal["training", "inference"]


def supports(module: nn.Module, use: Use) -> bool:
    """Whether a layer trains in blocks, or a network can be prepared for inference.

    training   a `Layer` of full attention by softmax of scaled dot products, whose positions act on
               the embeddings or rotate, with relu or gelu (where it `can_run_blocks`)
    inference  a Transformer of full attention by softmax of scaled dot products, with any
               positions; a recurrent network with Bahdanau's decoder of one layer; in single
               precision on a CPU
    """
    if use == "training":
        return isinstance(module, Layer) and _has_blocks(module)
    weight = next(module.parameters(), None)
    if weight is None or weight.device.type != "cpu" or weight.dtype != torch.float32:
        return False
    if isinstance(module, RnnModel):
        return isinstance(module.decoder, BahdanauDecoder) and module.decoder.num_layers == 1
    attentions = [part for part in module.modules() if isinstance(part, MultiHead)]
    return isinstance(module, TransformerModel) and all(map(_is_plain, attentions))


def can_run_blocks(x: Tensor) -> bool:
    """Whether blocks can take x (B, T, D) here and now.

    On a CPU, in single or double precision, with gradients and a stream of dropout, while nobody
    observes attention.
    """
    return (
        x.device.type == "cpu"
        and current_stream() is not None
        and x.dtype in (torch.float32, torch.float64)
        and torch.is_grad_enabled()
        and not torch.is_autocast_enabled("cpu")
        and not torch.compiler.is_compiling()
        and not observe.OBSERVERS.get()
    )


def _has_blocks(layer: Layer) -> bool:
    attentions = [layer.attention, *([] if layer.cross is None else [layer.cross])]
    return layer.feed_forward.activation in (F.relu, F.gelu) and all(
        _is_plain(attention)
        and type(attention.mechanism) is Full
        and attention.mechanism.engine == "auto"
        and (type(attention.positions) is Position or _rotates_halves(attention.positions))
        for attention in attentions
    )


def _rotates_halves(positions: Position) -> bool:
    return isinstance(positions, Rotary) and not positions.interleaved


def _is_plain(attention: MultiHead) -> bool:
    """Whether it is softmax(q kᵀ / √E) v with one matrix for each of q, k, v and the output."""
    mechanism = attention.mechanism
    linear = (attention.query_proj, attention.key_proj, attention.value_proj, attention.out_proj)
    return (
        isinstance(mechanism, Full)
        and type(mechanism.score) is ScaledDot
        and mechanism.score.scale is None
        and mechanism.score.softcap is None
        and isinstance(mechanism.normalizer, Softmax | None)
        and attention.num_kv_heads == attention.num_heads
        and all(isinstance(part, nn.Linear) and part.bias is not None for part in linear)
    )
