"""A Transformer of ours as a CTranslate2 model folder.

CTranslate2 runs post- and pre-norm Transformers with full softmax attention, and adds any table of
positions to the embeddings. Its decoder returns the attention of one head if asked: the head that
was selected for alignment, which is moved to the front of its layer for that.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor, nn

from regard.config import AlignmentSettings, Run, TransformerSettings
from regard.decoding.ctranslate2_folder import vocabulary
from regard.exchange.requirements import (
    CTRANSLATE2_ACTIVATIONS,
    CTRANSLATE2_POSITIONS,
    exportable,
)
from regard.folder import Tokenizers
from regard.models.embedding import Embedding
from regard.models.transformer import TransformerModel
from regard.text import BOS, EOS, UNK

if TYPE_CHECKING:
    from ctranslate2.specs import TransformerSpec


def convert(
    network: TransformerModel, run: Run, tokenizers: Tokenizers, folder: Path, *, int8: bool = False
) -> None:
    """Write the CTranslate2 model; the folder must not exist yet."""
    exportable(
        run, "ctranslate2", positions=CTRANSLATE2_POSITIONS, activations=CTRANSLATE2_ACTIVATIONS
    )
    spec = _specification(network, run)
    spec.register_source_vocabulary(vocabulary(tokenizers.source))
    spec.register_target_vocabulary(target := vocabulary(tokenizers.target))
    spec.config.unk_token, spec.config.bos_token = target[UNK], target[BOS]
    spec.config.eos_token, spec.config.decoder_start_token = target[EOS], target[BOS]
    spec.validate()
    spec.optimize(quantization="int8" if int8 else None)
    folder.mkdir(parents=True)
    spec.save(str(folder))


def _specification(network: TransformerModel, run: Run) -> TransformerSpec:
    from ctranslate2 import specs

    settings, alignment = run.model, run.alignment or AlignmentSettings(-1)
    assert isinstance(settings, TransformerSettings)
    num_heads = settings.num_heads
    last = settings.num_decoder_layers - 1
    aligned_layer = last if alignment.layer < 0 else alignment.layer
    spec = specs.TransformerSpec.from_config(
        (settings.num_encoder_layers, settings.num_decoder_layers),
        num_heads,
        pre_norm=settings.norm == "pre",
        activation=specs.Activation[CTRANSLATE2_ACTIVATIONS[settings.activation]],
        alignment_layer=aligned_layer,
        alignment_heads=num_heads if alignment.head is None else 1,
    )
    spec.encoder.embeddings[0].weight = _array(network.source.vectors.weight)
    spec.decoder.embeddings.weight = _array(network.target.vectors.weight)
    for target, embedding in (
        (spec.encoder, network.source),
        (spec.decoder, network.target),
    ):
        target.position_encodings.encodings = _positions(embedding, network.max_length)
    for target, side in ((spec.encoder, network.encoder), (spec.decoder, network.decoder)):
        if settings.norm == "pre":
            _norm(target.layer_norm, side.norm)
        for number, (layer_spec, layer) in enumerate(zip(target.layer, side.layers, strict=True)):
            head = alignment.head if number == aligned_layer else None
            _layer(layer_spec, layer, _head_order(num_heads, head))
    _linear(spec.decoder.projection, [network.output])
    return spec


def _head_order(num_heads: int, first: int | None) -> list[int]:
    """All heads, with one of them first."""
    order = list(range(num_heads))
    if first is not None:
        order.insert(0, order.pop(first))
    return order


def _layer(spec: Any, layer: Any, cross_order: Sequence[int]) -> None:
    _norm(spec.self_attention.layer_norm, layer.around_attention.norm)
    own = layer.attention
    _linear(spec.self_attention.linear[0], [own.query_proj, own.key_proj, own.value_proj])
    _linear(spec.self_attention.linear[1], [own.out_proj])
    if layer.cross is not None and layer.around_cross is not None:
        _norm(spec.attention.layer_norm, layer.around_cross.norm)
        _cross(spec.attention.linear, layer.cross, cross_order)
    _norm(spec.ffn.layer_norm, layer.around_feed_forward.norm)
    _feed_forward(spec.ffn, layer.feed_forward)


def _cross(linear: Sequence[Any], cross: Any, order: Sequence[int]) -> None:
    """Cross-attention with its heads in the given order."""
    head_dim = cross.query_proj.out_features // len(order)
    rows = torch.cat([torch.arange(head * head_dim, (head + 1) * head_dim) for head in order])
    _linear(linear[0], [cross.query_proj], rows)
    _linear(linear[1], [cross.key_proj, cross.value_proj], rows)
    _linear(linear[2], [cross.out_proj])
    linear[2].weight = _array(cross.out_proj.weight[:, rows])


def _feed_forward(spec: Any, feed_forward: Any) -> None:
    _linear(spec.linear_0, [feed_forward.inner])
    _linear(spec.linear_1, [feed_forward.outer])


def _linear(spec: Any, layers: Sequence[nn.Linear], rows: Tensor | None = None) -> None:
    """One layer, or several with the same input as one; `rows` selects outputs of each."""
    chosen = slice(None) if rows is None else rows
    spec.weight = _array(torch.cat([layer.weight[chosen] for layer in layers]))
    spec.bias = _array(torch.cat([layer.bias[chosen] for layer in layers]))


def _norm(spec: Any, norm: Any) -> None:
    spec.gamma, spec.beta = _array(norm.weight), _array(norm.bias)


def _positions(embedding: Embedding, max_length: int) -> np.ndarray[Any, Any]:
    """What the embedding adds at each position (max_length, D)."""
    width = embedding.vectors.embedding_dim
    return _array(embedding.place.add(torch.zeros(1, max_length, width), 0)[0])


def _array(tensor: Any) -> np.ndarray[Any, Any]:
    """A copy of a tensor: quantization changes arrays in place."""
    return np.array(tensor.detach().float().cpu().numpy(), order="C")
