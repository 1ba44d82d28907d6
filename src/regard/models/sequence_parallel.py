"""Sequence parallelism: every process computes an equal, consecutive shard of a sentence's tokens.

Used only while a model with ring attention is trained by several processes (`torchrun`); inference
is not sharded.
"""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor, nn
from torch.nn import functional as F

from regard.attention import Mask
from regard.attention.mechanisms.ring import gathered
from regard.models.batch import Batch
from regard.models.lm import TransformerStack
from regard.models.transformer import TransformerModel
from regard.text import PAD


@dataclass(frozen=True)
class SequenceShard:
    """The shard of process `rank` of `num_ranks`."""

    rank: int
    num_ranks: int

    def size(self, length: int) -> int:
        """Tokens per process of a sentence of `length`, padding included."""
        return -(-length // self.num_ranks)

    def offset(self, length: int) -> int:
        """Position of this process's first token."""
        return self.rank * self.size(length)

    def local(self, tokens: Tensor) -> Tensor:
        """Return this process's part of tokens (B, T), padded so that all parts are equal.

        >>> import torch
        >>> SequenceShard(1, 2).local(torch.tensor([[5, 6, 7]]))
        tensor([[7, 0]])
        """
        size = self.size(tokens.shape[1])
        tokens = F.pad(tokens, (0, size * self.num_ranks - tokens.shape[1]), value=PAD)
        return tokens[:, self.rank * size : (self.rank + 1) * size]


class SequenceParallel(nn.Module):
    """A network with ring attention, of whose features this process computes its shard."""

    def __init__(self, network: nn.Module, shard: SequenceShard) -> None:
        super().__init__()
        assert isinstance(network, TransformerModel | TransformerStack)
        self.network, self.shard, self.output = network, shard, network.output

    def features(self, batch: Batch) -> Tensor:
        """Return the features (B, t, D) of this process's shard of the target tokens."""
        network, shard = self.network, self.shard
        offset, inputs = shard.offset(batch.inputs.shape[1]), shard.local(batch.inputs)
        if isinstance(network, TransformerStack):
            return network.encode(inputs, network.attention_mask(batch.inputs), offset)
        assert batch.source is not None
        mask = Mask.lengths(batch.source.lengths)
        x = network.target(inputs, offset)
        return network.decoder(x, self._memory(batch.source.tokens, mask), mask, offset)  # type: ignore[no-any-return]  # modules return Any

    def _memory(self, tokens: Tensor, mask: Mask) -> Tensor:
        """The encoder's whole output (B, S, D), gathered from all processes, differentiably."""
        assert isinstance(self.network, TransformerModel)
        length = tokens.shape[1]
        offset = self.shard.offset(length)
        x = self.network.source(self.shard.local(tokens), offset)
        sequence: Tensor = gathered(self.network.encoder(x, mask, offset), 1)
        return sequence[:, :length]


def local_labels(network: nn.Module, labels: Tensor) -> Tensor:
    """Return this process's part of the labels (B, T); all of them if nothing is sharded."""
    return network.shard.local(labels) if isinstance(network, SequenceParallel) else labels
