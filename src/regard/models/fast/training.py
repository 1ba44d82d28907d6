"""From a network to one that trains faster, on the same weights.

The copy has the reference's modules, with faster ones in the place of some. A module of the copy
shares the dictionaries of its parameters, buffers and hooks with its original, so that neither can
have others than the other.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from regard.attention import KeyValue, Mask
from regard.attention.inspection import probe
from regard.attention.layers.cache import Cache
from regard.dropout import current_stream, dropout, dropout_factors, scale_of
from regard.models.fast.attention_block import attention_block
from regard.models.fast.feed_forward_block import feed_forward_block
from regard.models.fast.lookups import CollectedEmbedding
from regard.models.fast.supports import can_run_blocks, supports
from regard.models.transformer import FeedForward, Layer, Residual

Network = TypeVar("Network", bound=nn.Module)


def for_training(network: Network) -> Network:
    """Return the network as it trains fastest, in training mode; the given one stays as it is."""
    return _copy(network, {}).train()


class FastResidual(Residual):
    """A residual connection that adds and drops in one pass."""

    def add(self, x: Tensor, output: Tensor) -> Tensor:
        return add_dropout(x, output, self.p if self.training else 0.0)


class FastFeedForward(FeedForward):
    """A feed-forward network whose relu and dropout are one pass."""

    def activate(self, hidden: Tensor) -> Tensor:
        if self.activation is not F.relu:
            return super().activate(hidden)
        return relu_dropout(hidden, self.p if self.training else 0.0)


class BlockLayer(Layer):
    """A layer whose sub-layers run as blocks, each a function with its own backward pass.

    A sub-layer is left to its modules where blocks cannot run, where somebody looks at
    what it computes, and where it attends to what was projected before.
    """

    def attend(
        self,
        name: str,
        x: Tensor,
        memory: Tensor | KeyValue | None,
        mask: Mask | None,
        cache: Cache | None,
        offset: int,
    ) -> tuple[Tensor, Cache | None]:
        looked_at = probe.scope(self.side, f"{name}-attention", self, offset)
        in_block = not looked_at and cache is None and self.training and can_run_blocks(x)
        if in_block and not isinstance(memory, KeyValue):
            around, attention = self.sub_layer(name)
            output = attention_block(around, attention, x, mask, memory, offset)
            if output is not None:
                return output, None
        return super().attend(name, x, memory, mask, cache, offset)

    def feed(self, x: Tensor, offset: int) -> Tensor:
        looked_at = probe.scope(self.side, "feed-forward", self, offset)
        if looked_at or not (self.training and can_run_blocks(x)):
            return super().feed(x, offset)
        return feed_forward_block(self.around_feed_forward, self.feed_forward, x)


FASTER: Mapping[type[nn.Module], type[nn.Module]] = {
    nn.Embedding: CollectedEmbedding,
    Residual: FastResidual,
    FeedForward: FastFeedForward,
    Layer: BlockLayer,
}
"""What takes the place of a module of exactly this class; of a `Layer`, where it is supported."""


def _copy(module: Network, copies: dict[nn.Module, Any]) -> Network:
    """The module with its parts copied, each of them once."""
    if module not in copies:
        kind = FASTER.get(type(module), type(module))
        if isinstance(module, Layer) and not supports(module, "training"):
            kind = type(module)
        copy = copies[module] = kind.__new__(kind)
        copy.__dict__.update(module.__dict__)
        copy._modules = {
            name: None if part is None else _copy(part, copies)
            for name, part in module._modules.items()
        }
    copied: Network = copies[module]
    return copied


def add_dropout(x: Tensor, output: Tensor, p: float) -> Tensor:
    """x + dropout(output), in one pass if possible."""
    stream = current_stream()
    if not p or stream is None or x.device.type != "cpu" or x.dtype != output.dtype:
        return x + dropout(output, p)
    return torch.addcmul(x, output, dropout_factors(stream, output, p))


class _ReluDropout(torch.autograd.Function):
    """dropout(relu(x)), whose backward pass needs only where the result is positive."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, p: float) -> Tensor:
        stream = current_stream()
        assert stream is not None
        output = x.clamp_min(0).mul_(dropout_factors(stream, x, p))
        ctx.save_for_backward(output)
        ctx.factor = scale_of(p)
        return output

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None]:
        (output,) = ctx.saved_tensors
        passed = torch.ops.aten.threshold_backward(gradients[0], output, 0)
        return passed.mul_(ctx.factor), None


def relu_dropout(x: Tensor, p: float) -> Tensor:
    """dropout(relu(x)), in fewer passes if possible."""
    if current_stream() is None or x.device.type != "cpu" or not 0 < p < 1:
        return dropout(F.relu(x), p)
    output: Tensor = _ReluDropout.apply(x, p)  # type: ignore[no-untyped-call]  # untyped in torch
    return output
