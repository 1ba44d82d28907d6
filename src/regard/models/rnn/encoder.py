"""The recurrent encoder: reads the source, forwards and backwards.

Padding stands at the ends, and a step never sees what comes after it; so for the way back each
sentence is turned around within its own length, and padding is again read last. Hence nothing that
is used depends on it.

Shapes: B sentences, S source tokens, I features of a word's vector, D of a state (both directions
together), G directions.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import torch
from torch import Tensor, nn

from regard.attention import Dropout
from regard.config import RnnSettings
from regard.models.rnn.cell import CELLS, State
from regard.models.rnn.scan import Recurrence


class Reading(NamedTuple):
    """What the encoder made of the source.

    states   (B, S, D)  the last layer's states at every word, both directions joined
    final    (B, layers · D) each: every layer's states at the end of its way (h; c of the LSTM)
    lengths  (B,)       words of each sentence
    """

    states: Tensor
    final: State
    lengths: Tensor


class Encoder(nn.Module):
    """Layers of recurrence over the source, each reading the states of the one below."""

    def __init__(self, settings: RnnSettings) -> None:
        super().__init__()
        self.directions = 2 if settings.bidirectional else 1
        cell, width = CELLS[settings.cell], settings.dim // self.directions
        self.layers: Iterable[Recurrence] = nn.ModuleList(  # type: ignore[assignment]  # of these
            Recurrence(cell, settings.dim if layer else settings.embedding, width, self.directions)
            for layer in range(settings.encoder_layers)
        )
        self.dropout = Dropout(settings.dropout)

    def forward(self, x: Tensor, lengths: Tensor) -> Reading:
        """Read words' vectors x (S, B, I), of which the first `lengths` (B,) are a sentence's."""
        turned = turned_around(len(x), lengths) if self.directions == 2 else None
        final: list[State] = []
        for number, layer in enumerate(self.layers):
            x = self.dropout(x) if number else x
            ways = x[None] if turned is None else torch.stack((x, along(x, turned)))
            states = layer(layer.entering(ways), layer.zeros(x.shape[1]))
            final.append(tuple(last(part, lengths) for part in states))
            ahead = states[0].unbind(1)
            x = ahead[0] if turned is None else torch.cat((ahead[0], along(ahead[1], turned)), -1)
        joined = tuple(torch.cat(parts, -1) for parts in zip(*final, strict=True))
        return Reading(x.transpose(0, 1).contiguous(), joined, lengths)


def turned_around(steps: int, lengths: Tensor) -> Tensor:
    """(S, B): where each sentence's words are taken from to be read backwards, padding staying.

    >>> turned_around(4, torch.tensor([4, 2])).T.tolist()
    [[3, 2, 1, 0], [1, 0, 2, 3]]
    """
    step = torch.arange(steps, device=lengths.device)[:, None]
    return torch.where(step < lengths, lengths - 1 - step, step)


def along(x: Tensor, places: Tensor) -> Tensor:
    """The vectors of x (S, B, ·) at the given places (S, B) of each sentence."""
    return x.gather(0, places[..., None].expand(-1, -1, x.shape[-1]))


def last(states: Tensor, lengths: Tensor) -> Tensor:
    """(B, G · D): states (S, G, B, D) after each sentence's last word, directions joined."""
    end = (lengths - 1).clamp(min=0)
    rows = torch.arange(len(lengths), device=lengths.device)
    return states.transpose(1, 2)[end, rows].flatten(1)
