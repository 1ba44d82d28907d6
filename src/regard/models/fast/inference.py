"""From a network to one that searches faster."""

from __future__ import annotations

from typing import Any

from torch import nn

from regard.models.fast.prepared_rnn import PreparedRnn
from regard.models.fast.prepared_transformer import PreparedTransformer
from regard.models.fast.supports import supports
from regard.models.rnn.model import RnnModel
from regard.models.transformer import TransformerModel


def for_inference(network: nn.Module) -> Any:
    """Return the network prepared for inference, or itself if there is no faster way to run it.

    There is no dropout, no gradient and nothing to observe in what was prepared: maps and
    interventions are the network's. Later changes of the network's weights do not reach it.
    """
    if not supports(network, "inference"):
        return network
    if isinstance(network, RnnModel):
        return PreparedRnn(network)
    assert isinstance(network, TransformerModel)
    return PreparedTransformer(network)
