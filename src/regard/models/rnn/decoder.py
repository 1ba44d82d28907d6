"""The recurrent decoders: fixed context, attention before the step, attention after it.

Each runs over any number of target tokens from any state, so that training on whole targets and
decoding one token at a time share the code.

Shapes: T target tokens, B sentences, S source tokens, L layers, I features of an embedding,
D of a state, E = num_gates · D.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

import torch
from torch import Tensor, nn

from regard.attention import Additive
from regard.attention.aligners import AlignerState, Content, Memory
from regard.attention.inspection import observe, probe
from regard.config import RnnSettings
from regard.dropout import Dropout
from regard.models.rnn.attention import ALIGNERS
from regard.models.rnn.cell import CELLS, States
from regard.models.rnn.encoder import EncoderOutput
from regard.models.rnn.loop import LoopTensors, aligned_steps, cell_step
from regard.models.rnn.scan import Recurrence


class RnnState(NamedTuple):
    """State between two tokens.

    memory   the encoder's states
    layers   (L, B, D)  every layer's state h, and c of the LSTM
    aligner  the aligner's state
    length   number of tokens decoded so far
    """

    memory: Memory
    layers: States
    aligner: AlignerState
    length: int

    def select(self, rows: Tensor) -> RnnState:
        """Return the state of the given rows of the batch."""
        layers = tuple(x.index_select(1, rows) for x in self.layers)
        return RnnState(self.memory.select(rows), layers, self.aligner.select(rows), self.length)


class RnnDecoder(nn.Module):
    """Base of all decoders: recurrent layers, the bridge from the encoder, and the readout."""

    joined = "[h_t; c_t; y_{t−1}]"
    """What the readout's input is made of: state, context, embedded token."""

    def __init__(self, settings: RnnSettings, readout_dim: int) -> None:
        super().__init__()
        self.cell = CELLS[settings.cell]
        self.num_layers = settings.num_decoder_layers
        self.layers: Iterable[Recurrence] = nn.ModuleList(  # type: ignore[assignment]  # of these
            Recurrence(self.cell, settings.dim if layer else settings.embedding, settings.dim)
            for layer in range(self.num_layers)
        )
        final, first = settings.num_encoder_layers * settings.dim, self.num_layers * settings.dim
        self.bridges = nn.ModuleList(nn.Linear(final, first) for _ in range(self.cell.num_states))
        self.readout = nn.Linear(readout_dim, settings.embedding)
        self.dropout = Dropout(settings.dropout)

    def start(self, encoded: EncoderOutput) -> RnnState:
        """Return the initial state: tanh(W · the encoder's final states), for all layers."""
        layers = []
        for bridge, final in zip(self.bridges, encoded.final, strict=True):
            first = torch.tanh(bridge(final)).unflatten(-1, (self.num_layers, -1))
            layers.append(first.transpose(0, 1))
        memory, aligner = self.memory(encoded)
        return RnnState(memory, tuple(layers), aligner, 0)

    def memory(self, encoded: EncoderOutput) -> tuple[Memory, AlignerState]:
        """Return what the steps use of the encoder's output, and the aligner's initial state."""
        raise NotImplementedError

    def forward(self, embedded: Tensor, state: RnnState) -> tuple[Tensor, RnnState]:
        """Return features (T, B, I) after each of the embedded tokens (T, B, I), and the state."""
        joined, layers, aligner = self.run(embedded, state)
        features: Tensor = self.dropout(torch.tanh(self.readout(joined)))
        probe.scope("decoder", "output", offset=state.length)
        probe.emit("joined", self.joined, joined.transpose(0, 1))
        probe.emit("feed-forward", "tanh(W joined + b)", features.transpose(0, 1))
        return features, RnnState(state.memory, layers, aligner, state.length + len(embedded))

    def run(self, embedded: Tensor, state: RnnState) -> tuple[Tensor, States, AlignerState]:
        """Return the readout's input (T, B, ·), and the layers' (L, B, D) and aligner's states."""
        raise NotImplementedError

    def input_gates(self, embedded: Tensor) -> Tensor:
        """Return the first layer's gates (1, T, B, E) from the embedded tokens (T, B, I)."""
        return next(iter(self.layers)).input_gates(embedded[None])

    def run_layers(self, gates: Tensor, first: States) -> tuple[Tensor, States]:
        """Return the top layer's states (T, B, D) and all layers' last ones, without attention.

        `gates` (1, T, B, E) are the first layer's, `first` (L, B, D) the initial states.
        """
        last: list[States] = []
        top = gates
        for number, layer in enumerate(self.layers):
            gates = layer.input_gates(self.dropout(top)[None]) if number else gates
            states = layer(gates, tuple(x[number : number + 1] for x in first))
            top = states[0].squeeze(1)
            last.append(tuple(x[-1] for x in states))
        return top, tuple(torch.cat(states) for states in zip(*last, strict=True))

    def tell_states(self, top: Tensor, state: RnnState, equation: str) -> None:
        """Tell `trace` the top layer's states (T, B, D), and those before each step."""
        if probe.probes():
            before = torch.cat([state.layers[0][-1:], top[:-1]]).transpose(0, 1)
            probe.emit("previous state", "h_{t−1}", before)
            probe.emit("state", equation, top.transpose(0, 1))


class FixedContextDecoder(RnnDecoder):
    """No attention: the source is one vector (Sutskever 2014; Cho 2014).

    The vector makes the initial state; with `context: every` it joins every input and readout too.
    """

    def __init__(self, settings: RnnSettings) -> None:
        self.every = settings.context == "every"
        super().__init__(settings, settings.dim * (1 + self.every) + settings.embedding)
        self.joined = "[h_t; c; y_{t−1}]" if self.every else "[h_t; y_{t−1}]"
        if self.every:
            width = self.cell.num_gates * settings.dim
            self.context_proj = nn.Linear(settings.dim, width, bias=False)

    def memory(self, encoded: EncoderOutput) -> tuple[Memory, AlignerState]:
        # a memory of one vector: the last layer's final states
        context = encoded.final[0][:, -encoded.states.shape[-1] :, None].transpose(1, 2)
        return Memory(context, context, torch.ones_like(encoded.lengths)), AlignerState()

    def run(self, embedded: Tensor, state: RnnState) -> tuple[Tensor, States, AlignerState]:
        gates = self.input_gates(embedded)
        context = state.memory.values[:, 0]
        if self.every:
            gates = gates + self.context_proj(context)
        top, last = self.run_layers(gates, state.layers)
        probe.scope("decoder", "recurrence", offset=state.length)
        self.tell_states(top, state, "h_t = cell(y_{t−1}, h_{t−1})")
        every = context[:, None].expand(-1, len(embedded), -1)
        probe.emit("context", "c: the encoder's last state", every)
        contexts = [context.expand(len(embedded), -1, -1)] if self.every else []
        return torch.cat((top, *contexts, embedded), -1), last, state.aligner


class AttentionDecoder(RnnDecoder):
    """Base of the decoders with an aligner."""

    def __init__(self, settings: RnnSettings, readout_dim: int) -> None:
        super().__init__(settings, readout_dim)
        self.attention = ALIGNERS[settings.attention](settings)

    def memory(self, encoded: EncoderOutput) -> tuple[Memory, AlignerState]:
        memory = self.attention.memory(encoded.states, encoded.lengths)
        return memory, self.attention.initial_state(memory)


class LuongDecoder(AttentionDecoder):
    """Attention after the step: tanh(W [context; state]), then the token (Luong 2015, §3.1)."""

    joined = "[c_t; h_t]"

    def __init__(self, settings: RnnSettings) -> None:
        super().__init__(settings, 2 * settings.dim)

    def run(self, embedded: Tensor, state: RnnState) -> tuple[Tensor, States, AlignerState]:
        top, last = self.run_layers(self.input_gates(embedded), state.layers)
        probe.scope("decoder", "recurrence", offset=state.length)
        self.tell_states(top, state, "h_t = cell(y_{t−1}, h_{t−1})")
        probe.scope("decoder", "cross-attention", offset=state.length)
        attended, aligner = self.attention.align(
            top.transpose(0, 1), state.memory, state.aligner, offset=state.length
        )
        return torch.cat((attended.context.transpose(0, 1), top), -1), last, aligner


class AttendFirstDecoder(AttentionDecoder):
    """Attention before the step: the previous state is the query, the context joins the input.

    The readout is of state, context and the previous token (Bahdanau 2015, §3 and appendix).
    """

    def __init__(self, settings: RnnSettings) -> None:
        super().__init__(settings, 2 * settings.dim + settings.embedding)
        dim, num_gates = settings.dim, self.cell.num_gates
        self.context_ih = nn.Parameter(torch.empty(dim, num_gates * dim))
        for gate in range(num_gates):
            nn.init.xavier_uniform_(self.context_ih.data[:, gate * dim : (gate + 1) * dim])

    def run(self, embedded: Tensor, state: RnnState) -> tuple[Tensor, States, AlignerState]:
        gates = self.input_gates(embedded).squeeze(0)
        top, contexts, last, aligner = self.run_steps(gates, state)
        return torch.cat((top, contexts, embedded), -1), last, aligner

    def run_steps(
        self, gates: Tensor, state: RnnState
    ) -> tuple[Tensor, Tensor, States, AlignerState]:
        """Return top states and contexts (T, B, D) for input gates (T, B, E), and last states.

        One step at a time, for any number of layers and any observer of the aligner.
        """
        first, *upper = self.layers
        layers = [tuple(x[n] for x in state.layers) for n in range(self.num_layers)]
        matrices = self.context_ih, first.weight_hh.squeeze(0), first.bias_hh.squeeze(0)
        tops, contexts, aligner = [], [], state.aligner
        for position, x in enumerate(gates, state.length):
            probe.scope("decoder", "cross-attention", offset=position)
            probe.emit("previous state", "h_{t−1}", layers[-1][0][:, None])
            attended, aligner = self.attention.align(
                layers[-1][0], state.memory, aligner, offset=position
            )
            context = attended.context[:, 0]
            layers[0], _ = cell_step(self.cell, x, context, layers[0], matrices)
            for number, layer in enumerate(upper, 1):
                below = layer.input_gates(self.dropout(layers[number - 1][0])[None, None])
                states = layer(below, tuple(h[None] for h in layers[number]))
                layers[number] = tuple(h[0, 0] for h in states)
            probe.scope("decoder", "recurrence", offset=position)
            probe.emit("state", "h_t = cell([y_{t−1}; c_t], h_{t−1})", layers[-1][0][:, None])
            tops.append(layers[-1][0])
            contexts.append(context)
        last = tuple(torch.stack(states) for states in zip(*layers, strict=True))
        return torch.stack(tops), torch.stack(contexts), last, aligner


class BahdanauDecoder(AttendFirstDecoder):
    """Bahdanau's aligner (2015, §3) with one layer: a single fused loop if nothing observes it."""

    def run_steps(
        self, gates: Tensor, state: RnnState
    ) -> tuple[Tensor, Tensor, States, AlignerState]:
        fused = self.num_layers == 1 and not observe.observers()
        # an empty source is left to `attend`, which gives it a zero context
        if not fused or state.memory.empty is not None:
            return super().run_steps(gates, state)
        layer, memory = next(iter(self.layers)), state.memory
        assert isinstance(self.attention, Content)
        score = self.attention.score
        assert isinstance(score, Additive)
        tensors = LoopTensors(
            gates,
            self.context_ih,
            layer.weight_hh.squeeze(0),
            layer.bias_hh.squeeze(0),
            score.query_proj.weight,
            score.v,
            memory.keys,
            memory.values,
            memory.padding,
        )
        states, contexts = aligned_steps(self.cell, tensors, tuple(x[0] for x in state.layers))
        return states[0], contexts, tuple(x[-1:] for x in states), state.aligner


DECODERS: dict[str, Callable[[RnnSettings], RnnDecoder]] = {
    "none": FixedContextDecoder,
    "luong": LuongDecoder,
    "bahdanau": BahdanauDecoder,
    "location": AttendFirstDecoder,
    "coverage": AttendFirstDecoder,
    "graves": AttendFirstDecoder,
    "monotonic": AttendFirstDecoder,
}
"""The decoders by `attention` in the settings."""
