"""Which networks can be prepared for inference."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from regard.attention import MultiHead, ScaledDot
from regard.attention.mechanisms.full import Full
from regard.attention.normalizers.normalizer import Softmax
from regard.models.inference.rnn import PreparedRnn
from regard.models.inference.transformer import PreparedTransformer
from regard.models.rnn.decoder import BahdanauDecoder
from regard.models.rnn.model import RnnModel
from regard.models.transformer import TransformerModel


def prepared(network: nn.Module) -> Any:
    """Return the network prepared for inference, or itself if there is no faster way to run it.

    Later changes of the network's weights do not reach what was prepared.
    """
    weight = next(network.parameters(), None)
    if weight is None or weight.device.type != "cpu" or weight.dtype != torch.float32:
        return network
    if isinstance(network, TransformerModel) and _full_attention(network):
        return PreparedTransformer(network)
    if isinstance(network, RnnModel) and isinstance(network.decoder, BahdanauDecoder):
        return PreparedRnn(network) if network.decoder.num_layers == 1 else network
    return network


def _full_attention(network: nn.Module) -> bool:
    """Whether every attention is full softmax attention by scaled dot products."""
    return all(
        isinstance(layer.mechanism, Full)
        and type(layer.mechanism.score) is ScaledDot
        and isinstance(layer.mechanism.normalizer, Softmax | None)
        for layer in network.modules()
        if isinstance(layer, MultiHead)
    )
