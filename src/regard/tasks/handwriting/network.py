"""Handwriting synthesis: a recurrent network from text to pen movements (Graves 2013, §5).

The first layer holds a window of Gaussians that moves forward over the characters. The window's
context is an input of every layer, and the output layer gives the density of the next point: a
mixture of correlated Gaussians, and logits of pen-up and end of line.

With μ, σ, ρ of each of M components, a = (dx − μ₁)/σ₁ and b = (dy − μ₂)/σ₂ (Graves 2013, §4.1),

    p(dx, dy) = Σ_m π_m N_m
    −log N = log 2π σ₁ σ₂ + ½ log(1 − ρ²) + (a² + b² − 2 ρ a b) / 2(1 − ρ²)

The network outputs r with ρ = tanh r, so that 1 − ρ² = 1/cosh² r and

    −log N = log 2π σ₁ σ₂ − log cosh r + ½ (a² + (b cosh r − a sinh r)²)

has no vanishing denominator: it is stable in float32.

Shapes: B lines, T points, S characters including the end of the line, D features of a state, V of
a character, G directions (1), M components, … any leading dimensions.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from regard.attention import dropout
from regard.attention.aligners.aligner import Memory
from regard.attention.aligners.graves import Graves, GravesState
from regard.attention.engines.precision import accumulated, as_given
from regard.attention.inspection import observe, probe
from regard.models.batch import Source
from regard.models.rnn.cell import CELLS, States
from regard.models.rnn.scan import Recurrence
from regard.tasks.handwriting.settings import HandwritingSettings
from regard.tasks.handwriting.window_loop import WindowInputs, run_window_loop

MIN_LOG_STD = -5.0
MAX_PRE_RHO = 4.0
"""The largest |r|: ρ = 0.9993."""


@dataclass(frozen=True, eq=False)
class Density:
    """Distribution of the next point.

    log_weight  (…, M)     log π
    mean        (…, M, 2)
    log_std     (…, M, 2)  log σ
    pre_rho     (…, M)     r, with correlation tanh r
    pen_up      (…)        logit that the pen is lifted after the point
    end         (…)        logit that the line ends, given that the pen is lifted after the point
    """

    log_weight: Tensor
    mean: Tensor
    log_std: Tensor
    pre_rho: Tensor
    pen_up: Tensor
    end: Tensor

    @staticmethod
    def from_output(output: Tensor, bias: float = 0.0) -> Density:
        """Split network outputs (…, 6 M + 2); a bias > 0 sharpens the density (Graves, §5.4)."""
        num = (output.shape[-1] - 2) // 6
        weight, pre_rho, mean, log_std, flags = accumulated(output).split(
            (num, num, 2 * num, 2 * num, 2), -1
        )
        return Density(
            torch.log_softmax(weight * (1 + bias), -1),
            mean.unflatten(-1, (num, 2)),
            log_std.unflatten(-1, (num, 2)).clamp(min=MIN_LOG_STD) - bias,
            pre_rho.clamp(-MAX_PRE_RHO, MAX_PRE_RHO),
            flags[..., 0] * (1 + bias),
            flags[..., 1],
        )

    def log_prob(self, offsets: Tensor) -> Tensor:
        """Log-density (…) of pen offsets (…, 2)."""
        scaled = (offsets[..., None, :] - self.mean) * torch.exp(-self.log_std)
        x, y = scaled.unbind(-1)
        sheared = y * torch.cosh(self.pre_rho) - x * torch.sinh(self.pre_rho)
        component = (
            -math.log(2 * math.pi)
            - self.log_std.sum(-1)
            + _log_cosh(self.pre_rho)
            - 0.5 * (x.square() + sheared.square())
        )
        return torch.logsumexp(self.log_weight + component, -1)

    def loss(self, points: Tensor, last: Tensor) -> Tensor:
        """−log p (…) of points (…, 3); `last` (…) is 1 at the last point of a line.

        The end is scored only where the pen is lifted: a line ends with a lifted pen.
        """
        pen_up = F.binary_cross_entropy_with_logits(self.pen_up, points[..., 2], reduction="none")
        end = F.binary_cross_entropy_with_logits(self.end, last, reduction="none")
        return pen_up + end * points[..., 2] - self.log_prob(points[..., :2])

    def sample(self, generator: torch.Generator) -> Tensor:
        """Sample points (B, 3) from the densities of B lines."""
        device, num_lines = self.log_weight.device, len(self.log_weight)
        chosen = torch.multinomial(self.log_weight.exp(), 1, generator=generator)
        rows = torch.arange(num_lines, device=device)
        mean, std, pre_rho = (
            x[rows, chosen[:, 0]] for x in (self.mean, self.log_std.exp(), self.pre_rho)
        )
        noise = torch.randn(mean.shape, generator=generator, device=device)
        x = noise[:, 0]
        y = torch.tanh(pre_rho) * x + noise[:, 1] / torch.cosh(pre_rho)
        offsets = mean + std * torch.stack([x, y], -1)
        pen_up = torch.rand(num_lines, generator=generator, device=device) < self.pen_up.sigmoid()
        return torch.cat([offsets, pen_up[:, None].to(offsets.dtype)], -1)


def _log_cosh(x: Tensor) -> Tensor:
    """log cosh x, without overflow."""
    return x.abs() + F.softplus(-2 * x.abs()) - math.log(2)


class StrokeBatch(NamedTuple):
    """Lines to train on.

    source   characters of each line
    points   (B, T, 3)  dx, dy and 1 where the pen is lifted; zeros at padding
    lengths  (B,)       number of points
    """

    source: Source
    points: Tensor
    lengths: Tensor

    @property
    def answers(self) -> int:
        """Number of points, over which the loss is averaged."""
        return int(self.lengths.sum())

    @property
    def costs(self) -> Tensor:
        """(B,): cost of each line."""
        return self.lengths

    def rows(self, rows: Tensor) -> StrokeBatch:
        """Select lines, cut to the longest of them."""
        lengths, chars = self.lengths[rows], self.source.lengths[rows]
        tokens = self.source.tokens[rows, : int(chars.max())]
        return StrokeBatch(Source(tokens, chars), self.points[rows, : int(lengths.max())], lengths)

    def to(self, device: torch.device) -> StrokeBatch:
        return StrokeBatch(self.source.to(device), self.points.to(device), self.lengths.to(device))


@dataclass(frozen=True, eq=False)
class PenState:
    """States between two points: text, window, its context, every layer's state, points so far."""

    memory: Memory
    window: GravesState
    context: Tensor
    layers: tuple[States, ...]
    num_points: int = 0


class HandwritingModel(nn.Module):
    """Character embedding, LSTM layers with a window in the first, mixture density output."""

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
        for layer in self.layers:  # a forget bias of 1: lines are long
            nn.init.ones_(layer.bias_hh.data[0, dim : 2 * dim])
        self.output = nn.Linear(dim * settings.num_layers, 6 * settings.mixture + 2)
        nn.init.normal_(self.output.weight, std=0.5 / dim**0.5)
        with torch.no_grad():  # pen-up and end of line are rare
            self.output.bias[-2:] = torch.tensor([-2.0, -3.0])

    def forward(self, batch: StrokeBatch) -> Density:
        """The density (B, T, …) of every point, given those before it."""
        with as_given(batch.points.device):
            output = self.output(self.features(batch))
            probe.scope("decoder", "output")
            probe.emit("density", "W joined + b", output)
            return Density.from_output(output)

    def features(self, batch: Any) -> Tensor:
        """(B, T, layers · D): input of the output layer before every point of a `StrokeBatch`."""
        first = batch.points.new_tensor([0.0, 0.0, 1.0]).expand(len(batch.points), 1, 3)
        inputs = torch.cat([first, batch.points[:, :-1]], 1)
        with as_given(inputs.device):
            memory = self.encode(batch.source)
            if observe.observers():  # record every step of the window
                features = self._step_by_step(inputs, memory)
            else:
                features = self._all_steps(inputs.transpose(0, 1), memory)
        drops = self.training and self.settings.dropout
        return dropout(features, self.settings.dropout) if drops else features

    def loss(self, batch: StrokeBatch) -> Tensor:
        """−log density of every point, summed over all points of the batch."""
        positions = torch.arange(batch.points.shape[1], device=batch.points.device)
        last = (positions == batch.lengths[:, None] - 1).to(batch.points.dtype)
        losses = self(batch).loss(batch.points, last)
        return losses.masked_fill(positions >= batch.lengths[:, None], 0.0).sum()  # type: ignore[no-any-return]  # modules answer Any

    def encode(self, source: Source) -> Memory:
        """The embedded characters as the window's memory."""
        return self.window.memory(self.characters(source.tokens), source.lengths)

    def start(self, source: Source) -> PenState:
        """The state before the first point."""
        return self._initial(self.encode(source))

    def step(self, state: PenState, points: Tensor) -> tuple[Tensor, PenState, Tensor]:
        """Output (B, 6 M + 2) after `points` (B, 3), the next state, window weights (B, S)."""
        features, state, weights = self._advance(state, points)
        return self.output(features), state, weights

    def _initial(self, memory: Memory) -> PenState:
        rows = len(memory.values)
        layers = tuple(layer.initial_state(rows) for layer in self.layers)
        context = memory.values.new_zeros(rows, memory.values.shape[-1])
        return PenState(memory, self.window.initial_state(memory), context, layers)

    def _advance(self, state: PenState, points: Tensor) -> tuple[Tensor, PenState, Tensor]:
        """Features (B, layers · D) after `points`, the next state, the window's weights."""
        states: list[States] = []
        context, window, weights = state.context, state.window, state.context
        outputs: list[Tensor] = []
        for number, layer in enumerate(self.layers):
            x = torch.cat([points, context, *outputs[-1:]], -1)
            after = layer(layer.input_gates(x[None, None]), state.layers[number])
            states.append(tuple(part[0] for part in after))
            outputs.append(after[0][0, 0])
            if number == 0:
                probe.scope("decoder", "cross-attention", offset=state.num_points)
                probe.emit("state", "h_t = cell([x_{t−1}; c_{t−1}], h_{t−1})", outputs[0][:, None])
                attended, window = self.window.align(  # type: ignore[assignment]  # its own state
                    outputs[0], state.memory, state.window, offset=state.num_points
                )
                assert attended.weights is not None
                context, weights = attended.context[:, 0], attended.weights[:, 0]
        features = torch.cat(outputs, -1)
        probe.scope("decoder", "output", offset=state.num_points)
        probe.emit("joined", "[h¹_t; h²_t; …]", features[:, None])
        state = replace(
            state,
            window=window,
            context=context,
            layers=tuple(states),
            num_points=state.num_points + 1,
        )
        return features, state, weights

    def _all_steps(self, inputs: Tensor, memory: Memory) -> Tensor:
        """Features of all steps in one loop; `inputs` (T, B, 3) holds the point before each."""
        first, *others = self.layers
        x = nn.functional.linear(inputs, first.weight_ih[0, :3].t(), first.bias_ih[0])
        window = self.window.window
        loop_inputs = WindowInputs(
            x,
            first.weight_ih[0, 3:],
            first.weight_hh[0],
            first.bias_hh[0],
            window.weight,
            window.bias,
            memory.values,
        )
        state = tuple(part[0] for part in first.initial_state(inputs.shape[1]))
        hidden, contexts = run_window_loop(first.cell, loop_inputs, self.window.stride, state)
        outputs = [hidden]
        for layer in others:
            x = torch.cat([inputs, contexts, outputs[-1]], -1)
            after = layer(layer.input_gates(x[None]), layer.initial_state(inputs.shape[1]))
            outputs.append(after[0][:, 0])
        return torch.cat(outputs, -1).transpose(0, 1)

    def _step_by_step(self, inputs: Tensor, memory: Memory) -> Tensor:
        """The same features through `_advance`, so that observers see every step."""
        state, features = self._initial(memory), []
        for points in inputs.unbind(1):
            step_features, state, _ = self._advance(state, points)
            features.append(step_features)
        return torch.stack(features, 1)
