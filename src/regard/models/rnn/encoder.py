"""The recurrent encoder, in one or both directions.

Padding is at the end, and a step never depends on later ones. For the backward direction each
sentence is reversed within its own length, so that padding comes last again and has no effect.

Shapes: B sentences, S source tokens, I features of an embedding, D of a state (both directions
together), G directions.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import torch
from torch import Tensor, nn

from regard.attention.inspection import probe
from regard.config import RnnSettings
from regard.dropout import Dropout
from regard.models.rnn.cell import CELLS, States
from regard.models.rnn.scan import Recurrence


class EncoderOutput(NamedTuple):
    """Output of the encoder.

    states   (B, S, D)  the last layer's states, both directions concatenated
    final    (B, num_layers · D) each: every layer's final states (h, and c of the LSTM)
    lengths  (B,)       number of tokens of each sentence
    """

    states: Tensor
    final: States
    lengths: Tensor


class RnnEncoder(nn.Module):
    """A stack of recurrent layers over the source."""

    def __init__(self, settings: RnnSettings) -> None:
        super().__init__()
        self.num_directions = 2 if settings.bidirectional else 1
        cell, width = CELLS[settings.cell], settings.dim // self.num_directions
        self.layers: Iterable[Recurrence] = nn.ModuleList(  # type: ignore[assignment]  # of these
            Recurrence(
                cell, settings.dim if layer else settings.embedding, width, self.num_directions
            )
            for layer in range(settings.num_encoder_layers)
        )
        self.dropout = Dropout(settings.dropout)

    def forward(self, x: Tensor, lengths: Tensor) -> EncoderOutput:
        """Encode embeddings x (S, B, I), of which the first `lengths` (B,) are a sentence's."""
        reverse = reversed_order(len(x), lengths) if self.num_directions == 2 else None
        final: list[States] = []
        for number, layer in enumerate(self.layers):
            x = self.dropout(x) if number else x
            inputs = x[None] if reverse is None else torch.stack((x, gather_steps(x, reverse)))
            states = layer(layer.input_gates(inputs), layer.initial_state(x.shape[1]))
            final.append(tuple(last_states(part, lengths) for part in states))
            x, *backward = states[0].unbind(1)
            if reverse is not None:
                x = torch.cat((x, gather_steps(backward[0], reverse)), -1)
        joined = tuple(torch.cat(states, -1) for states in zip(*final, strict=True))
        output = EncoderOutput(x.transpose(0, 1).contiguous(), joined, lengths)
        probe.scope("encoder", "recurrence")
        arrows = "h_t = [→h_t; ←h_t]" if self.num_directions == 2 else "h_t = cell(x_t, h_{t−1})"
        probe.emit("state", arrows, output.states)
        return output


def reversed_order(steps: int, lengths: Tensor) -> Tensor:
    """(S, B): the indices that reverse each sentence within its length, padding unchanged.

    >>> reversed_order(4, torch.tensor([4, 2])).T.tolist()
    [[3, 2, 1, 0], [1, 0, 2, 3]]
    """
    step = torch.arange(steps, device=lengths.device)[:, None]
    return torch.where(step < lengths, lengths - 1 - step, step)


def gather_steps(x: Tensor, order: Tensor) -> Tensor:
    """Return x (S, B, ·) with the steps of each sentence in the given order (S, B)."""
    return x.gather(0, order[..., None].expand(-1, -1, x.shape[-1]))


def last_states(states: Tensor, lengths: Tensor) -> Tensor:
    """(B, G · D): states (S, G, B, D) after each sentence's last token, directions concatenated."""
    end = (lengths - 1).clamp(min=0)
    rows = torch.arange(len(lengths), device=lengths.device)
    return states.transpose(1, 2)[end, rows].flatten(1)
