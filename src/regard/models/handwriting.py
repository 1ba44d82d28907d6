"""A recurrent network that writes by hand: from text to pen movements (Graves 2013, §5).

It draws one point after another. The first layer holds a window of Gaussians that moves forward
over the characters of the text; what the window sees goes into every layer, and the last gives the
density of the next point.

Shapes: B lines, T points, S characters (the line's end is one), D features of a state, V of a
character, G directions (1).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from regard.attention import AttentionMap, dropout, record
from regard.attention.aligners.aligner import Memory
from regard.attention.aligners.graves import Graves, GravesState
from regard.attention.engines.precision import as_given
from regard.attention.inspection import observe
from regard.config.handwriting import HandwritingSettings
from regard.models.batch import Source
from regard.models.handwriting_density import Density
from regard.models.handwriting_loop import Parts, windowed_steps
from regard.models.rnn.cell import CELLS, States
from regard.models.rnn.scan import Recurrence


class Strokes(NamedTuple):
    """Lines to learn from.

    source   the characters of each
    points   (B, T, 3)  dx, dy and 1 where the pen is lifted, then zeros
    lengths  (B,)       points of each
    """

    source: Source
    points: Tensor
    lengths: Tensor

    @property
    def answers(self) -> int:
        """How many points there are: what the loss is a mean of."""
        return int(self.lengths.sum())

    @property
    def sizes(self) -> Tensor:
        """(B,): how much work each line is."""
        return self.lengths

    def rows(self, rows: Tensor) -> Strokes:
        """Chosen lines, cut to the longest of them."""
        lengths, letters = self.lengths[rows], self.source.lengths[rows]
        tokens = self.source.tokens[rows, : int(letters.max())]
        return Strokes(Source(tokens, letters), self.points[rows, : int(lengths.max())], lengths)

    def to(self, device: torch.device) -> Strokes:
        """The same, there."""
        return Strokes(self.source.to(device), self.points.to(device), self.lengths.to(device))


@dataclass(frozen=True, eq=False)
class Pen:
    """Between two points: what is read, the window, what it saw, and every layer's state.

    `drawn` is how many points there are already.
    """

    memory: Memory
    window: GravesState
    context: Tensor
    layers: tuple[States, ...]
    drawn: int = 0


class HandwritingModel(nn.Module):
    """Characters' vectors, recurrent layers with a window in the first, mixture density."""

    def __init__(self, settings: HandwritingSettings, vocab: int) -> None:
        super().__init__()
        self.settings, self.max_length = settings, settings.max_length
        dim, width = settings.dim, settings.embedding
        self.characters = nn.Embedding(vocab, width)
        self.window = Graves(dim, settings.components, stride=settings.stride)
        cell = CELLS["lstm"]
        self.layers: Sequence[Recurrence] = nn.ModuleList(  # type: ignore[assignment]  # of these
            Recurrence(cell, 3 + width + (dim if number else 0), dim)
            for number in range(settings.num_layers)
        )
        for layer in self.layers:  # remember at first: lines are long
            nn.init.ones_(layer.bias_hh.data[0, dim : 2 * dim])
        self.output = nn.Linear(dim * settings.num_layers, 6 * settings.mixture + 2)
        nn.init.normal_(self.output.weight, std=0.5 / dim**0.5)
        with torch.no_grad():  # the pen is lifted now and then, and a line ends once
            self.output.bias[-2:] = torch.tensor([-2.0, -3.0])

    def forward(self, batch: Strokes) -> Density:
        """The density (B, T, …) of every point, given those before it."""
        with as_given(batch.points.device):
            return Density.of(self.output(self.features(batch)))

    def features(self, batch: Any) -> Tensor:
        """(B, T, layers · D): what the final layer sees before every point of `Strokes`."""
        begun = batch.points.new_tensor([0.0, 0.0, 1.0]).expand(len(batch.points), 1, 3)
        inputs = torch.cat([begun, batch.points[:, :-1]], 1)
        with as_given(inputs.device):
            memory = self.read(batch.source)
            if observe.observers():  # somebody looks: every step through the window itself
                features = self._watched(inputs, memory)
            else:
                features = self._whole(inputs.transpose(0, 1), memory)
        drops = self.training and self.settings.dropout
        return dropout(features, self.settings.dropout) if drops else features

    def loss(self, batch: Strokes) -> Tensor:
        """−log density of every point, summed over all points of the batch."""
        places = torch.arange(batch.points.shape[1], device=batch.points.device)
        last = (places == batch.lengths[:, None] - 1).to(batch.points.dtype)
        each = self(batch).loss(batch.points, last)
        return each.masked_fill(places >= batch.lengths[:, None], 0.0).sum()  # type: ignore[no-any-return]  # modules answer Any

    def read(self, source: Source) -> Memory:
        """The characters as what the window moves over."""
        return self.window.memory(self.characters(source.tokens), source.lengths)

    def start(self, source: Source) -> Pen:
        """Before the first point."""
        return self._begun(self.read(source))

    def step(self, pen: Pen, points: Tensor) -> tuple[Tensor, Pen, Tensor]:
        """What `Density.of` reads (B, 6 M + 2) after `points` (B, 3); window weights (B, S)."""
        features, pen, weights = self._moved(pen, points)
        return self.output(features), pen, weights

    def _begun(self, memory: Memory) -> Pen:
        rows = len(memory.values)
        layers = tuple(layer.initial_state(rows) for layer in self.layers)
        context = memory.values.new_zeros(rows, memory.values.shape[-1])
        return Pen(memory, self.window.initial_state(memory), context, layers)

    def _moved(self, pen: Pen, points: Tensor) -> tuple[Tensor, Pen, Tensor]:
        """Features (B, layers · D) after `points`, the pen after them, the window's weights."""
        states: list[States] = []
        context, window, weights = pen.context, pen.window, pen.context
        below: list[Tensor] = []
        for number, layer in enumerate(self.layers):
            x = torch.cat([points, context, *below[-1:]], -1)
            after = layer(layer.input_gates(x[None, None]), pen.layers[number])
            states.append(tuple(part[0] for part in after))
            below.append(after[0][0, 0])
            if number == 0:
                attended, window = self.window.align(  # type: ignore[assignment]  # its own state
                    below[0], pen.memory, pen.window, offset=pen.drawn
                )
                assert attended.weights is not None
                context, weights = attended.context[:, 0], attended.weights[:, 0]
        drawn = pen.drawn + 1
        pen = replace(pen, window=window, context=context, layers=tuple(states), drawn=drawn)
        return torch.cat(below, -1), pen, weights

    @torch.no_grad()
    def maps(self, batch: Any) -> list[AttentionMap]:
        """The window while the points of `Strokes` are drawn, a map for each."""
        with record(self) as recording:
            self(batch)
        return recording.maps

    def _whole(self, inputs: Tensor, memory: Memory) -> Tensor:
        """All steps at once, of points (T, B, 3) that were drawn before each."""
        first, *others = self.layers
        share = nn.functional.linear(inputs, first.weight_ih[0, :3].t(), first.bias_ih[0])
        window = self.window.window
        parts = Parts(
            share, first.weight_ih[0, 3:], first.weight_hh[0], first.bias_hh[0],
            window.weight, window.bias, memory.values,
        )  # fmt: skip
        state = tuple(part[0] for part in first.initial_state(inputs.shape[1]))
        hidden, contexts = windowed_steps(first.cell, parts, self.window.stride, state)
        below = [hidden]
        for layer in others:
            x = torch.cat([inputs, contexts, below[-1]], -1)
            after = layer(layer.input_gates(x[None]), layer.initial_state(inputs.shape[1]))
            below.append(after[0][:, 0])
        return torch.cat(below, -1).transpose(0, 1)

    def _watched(self, inputs: Tensor, memory: Memory) -> Tensor:
        """The same, one step after another."""
        pen, answers = self._begun(memory), []
        for points in inputs.unbind(1):
            features, pen, _ = self._moved(pen, points)
            answers.append(features)
        return torch.stack(answers, 1)
