"""Linformer: keys and values of n tokens projected to a fixed number of slots.

Shapes: query (B, H, Q, D), key (B, H, K, D), value (B, H, K, Dv), weights (B, H, Q, P); P slots.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

import torch
from torch import Tensor, nn

from regard.attention.attend import attend_part
from regard.attention.engines import arguments
from regard.attention.engines.call import AttentionCall
from regard.attention.masks.mask import Mask
from regard.attention.mechanisms.mechanism import AttentionInput, Mechanism
from regard.config.mechanisms import LinformerSettings

Share = Literal["heads", "keys and values"]


class Linformer(Mechanism):
    """softmax(q (E k)ᵀ / √D) (F v), E and F learned, of P × max_length (Wang 2020).

    A sentence of n tokens uses the first n columns and at most n slots. At first slot p holds the
    tokens p, p + P, p + 2P …, so that up to P tokens attend almost as in full attention before
    training. The parameters are √max_length times E and F: an optimizer's step of the usual size
    then changes slots slowly enough for the layers around to follow.

    max_length  the longest sentence, in tokens
    projected   P, the slots
    share       "keys and values": one matrix for both; "heads": one for each, shared by all heads
    """

    facts = LinformerSettings.facts

    def __init__(
        self, max_length: int, projected: int = 64, share: Share = "keys and values"
    ) -> None:
        super().__init__()
        self.max_length = arguments.positive("max_length", max_length)
        self.projected = arguments.positive("projected", projected)
        if share not in ("heads", "keys and values"):
            raise ValueError(f'share must be "heads" or "keys and values", got {share!r}.')
        self.share = share
        self.key_slots = nn.Parameter(torch.empty(projected, max_length))
        self.value_slots = (
            None if share == "keys and values" else nn.Parameter(torch.empty(projected, max_length))
        )
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Each token to the slot of its position modulo P, plus noise that makes slots differ."""
        position = torch.arange(self.max_length)
        own = torch.arange(self.projected)[:, None] == position % self.projected
        with torch.no_grad():
            for slots in (self.key_slots, self.value_slots):
                if slots is not None:
                    nn.init.normal_(slots, std=0.1).add_(own, alpha=self.max_length**0.5)

    def matrices(self, num: int) -> tuple[Tensor, Tensor]:
        """The first `num` columns of E and F, (P, num)."""
        scale: float = self.max_length**-0.5
        key_slots = self.key_slots[:, :num] * scale
        if self.value_slots is None:
            return key_slots, key_slots
        return key_slots, self.value_slots[:, :num] * scale

    def context(self, call: AttentionInput) -> Tensor:
        slots = self._projected(call)
        return attend_part(*slots.tensors, mask=slots.mask, dropout=call.dropout).context

    def weight_source(self, call: AttentionInput) -> AttentionCall:
        slots = self._projected(call)
        return slots.softmax_call(slots.mask, over="projected")

    def _projected(self, call: AttentionInput) -> AttentionInput:
        """The same call with P projected keys and values in place of K."""
        num = call.num_keys
        if num > self.max_length:
            raise ValueError(
                f"sentences must have at most {self.max_length} tokens (max_length), got {num}."
            )
        clean = call.without_padding()
        of_keys, of_values = self.matrices(num)
        return replace(
            call,
            key=of_keys.to(clean.key.dtype) @ clean.key,
            value=of_values.to(clean.value.dtype) @ clean.value,
            mask=self._used(call),
        )

    def _used(self, call: AttentionInput) -> Mask | None:
        """The first slots, as many as a sentence has tokens."""
        if call.lengths is not None:
            return Mask.lengths(call.lengths.clamp(max=call.num_keys))
        return Mask.lengths(call.num_keys) if call.num_keys < self.projected else None

    def extra_repr(self) -> str:
        return f"{self.max_length}, projected={self.projected}, share={self.share!r}"
