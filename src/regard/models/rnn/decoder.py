"""The recurrent decoders: a fixed context, attention before the step, attention after it.

Each runs over any number of target words from any state, so that a whole target in training and
one word in a search are the same code.

Shapes: T target tokens, B sentences, S source tokens, L layers, I features of a word's vector,
D of a state, E = gates · D.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

import torch
from torch import Tensor, nn

from regard.attention import Additive, Dropout
from regard.attention.aligners import Content, Memory, Rows
from regard.attention.inspection import observe
from regard.config import RnnSettings
from regard.models.rnn.attention import ALIGNERS
from regard.models.rnn.cell import CELLS, State
from regard.models.rnn.encoder import Reading
from regard.models.rnn.loop import Parts, aligned_steps, joined_step
from regard.models.rnn.scan import Recurrence


class Progress(NamedTuple):
    """The state between two words.

    memory   what may be looked at
    layers   (L, B, D)  every layer's state h, and c of the LSTM
    looked   what the aligner remembers of its looks
    written  words so far
    """

    memory: Memory
    layers: State
    looked: Rows
    written: int

    def select(self, rows: Tensor) -> Progress:
        """The state of chosen rows of the batch."""
        layers = tuple(x.index_select(1, rows) for x in self.layers)
        return Progress(self.memory.select(rows), layers, self.looked.select(rows), self.written)


class Decoder(nn.Module):
    """Base: layers of recurrence, the bridge to them from the encoder, and the readout."""

    def __init__(self, settings: RnnSettings, joined: int) -> None:
        super().__init__()
        self.cell = CELLS[settings.cell]
        self.num_layers = settings.decoder_layers
        self.layers: Iterable[Recurrence] = nn.ModuleList(  # type: ignore[assignment]  # of these
            Recurrence(self.cell, settings.dim if layer else settings.embedding, settings.dim)
            for layer in range(self.num_layers)
        )
        final, first = settings.encoder_layers * settings.dim, self.num_layers * settings.dim
        self.bridges = nn.ModuleList(nn.Linear(final, first) for _ in range(self.cell.states))
        self.readout = nn.Linear(joined, settings.embedding)
        self.dropout = Dropout(settings.dropout)

    def begin(self, reading: Reading) -> Progress:
        """The state before the first word: tanh(W · the encoder's final states), all layers'."""
        layers = []
        for bridge, final in zip(self.bridges, reading.final, strict=True):
            first = torch.tanh(bridge(final)).unflatten(-1, (self.num_layers, -1))
            layers.append(first.transpose(0, 1))
        memory, looked = self.opened(reading)
        return Progress(memory, tuple(layers), looked, 0)

    def opened(self, reading: Reading) -> tuple[Memory, Rows]:
        """What of the reading is kept for all steps, and what is remembered before the first."""
        raise NotImplementedError  # each kind has its own

    def forward(self, words: Tensor, progress: Progress) -> tuple[Tensor, Progress]:
        """Features (T, B, I) after each of the words (T, B, I), and the state after them."""
        joined, layers, looked = self.states(words, progress)
        features: Tensor = self.dropout(torch.tanh(self.readout(joined)))
        return features, Progress(progress.memory, layers, looked, progress.written + len(words))

    def states(self, words: Tensor, progress: Progress) -> tuple[Tensor, State, Rows]:
        """What the readout sees at every word (T, B, ·), the layers' last states (L, B, D), and
        what is remembered after them."""
        raise NotImplementedError  # each kind has its own

    def upward(self, entering: Tensor, first: State) -> tuple[Tensor, State]:
        """The top layer's states (T, B, D) and all layers' last ones, without looking around.

        `entering` (1, T, B, E) is the input's share of the first layer's gates.
        """
        last: list[State] = []
        top = entering
        for number, layer in enumerate(self.layers):
            entering = layer.entering(self.dropout(top)[None]) if number else entering
            states = layer(entering, tuple(x[number : number + 1] for x in first))
            top = states[0].squeeze(1)
            last.append(tuple(x[-1] for x in states))
        return top, tuple(torch.cat(parts) for parts in zip(*last, strict=True))


class FixedContext(Decoder):
    """No attention: all it knows of the source is one vector (Sutskever 2014; Cho 2014).

    The vector makes the first state; with `context: every` it joins every input and readout too.
    """

    def __init__(self, settings: RnnSettings) -> None:
        self.every = settings.context == "every"
        super().__init__(settings, settings.dim * (1 + self.every) + settings.embedding)
        if self.every:
            self.context_proj = nn.Linear(settings.dim, self.cell.gates * settings.dim, bias=False)

    def opened(self, reading: Reading) -> tuple[Memory, Rows]:
        # a memory of one vector: the last layer's final states
        context = reading.final[0][:, -reading.states.shape[-1] :, None].transpose(1, 2)
        return Memory(context, context, torch.ones_like(reading.lengths)), Rows()

    def states(self, words: Tensor, progress: Progress) -> tuple[Tensor, State, Rows]:
        entering = next(iter(self.layers)).entering(words[None])
        context = progress.memory.values[:, 0]
        if self.every:
            entering = entering + self.context_proj(context)
        top, last = self.upward(entering, progress.layers)
        shown = [context.expand(len(words), -1, -1)] if self.every else []
        return torch.cat((top, *shown, words), -1), last, progress.looked


class Attending(Decoder):
    """Base of those that look at the source, through an aligner."""

    def __init__(self, settings: RnnSettings, joined: int) -> None:
        super().__init__(settings, joined)
        self.attention = ALIGNERS[settings.attention](settings)

    def opened(self, reading: Reading) -> tuple[Memory, Rows]:
        memory = self.attention.memory(reading.states, reading.lengths)
        return memory, self.attention.begin(memory)


class Luong(Attending):
    """Attention after the step: tanh(W [context; state]), then the word (Luong 2015, §3.1)."""

    def __init__(self, settings: RnnSettings) -> None:
        super().__init__(settings, 2 * settings.dim)

    def states(self, words: Tensor, progress: Progress) -> tuple[Tensor, State, Rows]:
        entering = next(iter(self.layers)).entering(words[None])
        top, last = self.upward(entering, progress.layers)
        attended, looked = self.attention.align(
            top.transpose(0, 1), progress.memory, progress.looked, offset=progress.written
        )
        return torch.cat((attended.context.transpose(0, 1), top), -1), last, looked


class Before(Attending):
    """Attention before the step: the state so far asks, the context joins the input.

    The readout sees state, context and the word before (Bahdanau 2015, §3 and appendix).
    """

    def __init__(self, settings: RnnSettings) -> None:
        super().__init__(settings, 2 * settings.dim + settings.embedding)
        width = self.cell.gates * settings.dim
        self.context_ih = nn.Parameter(torch.empty(settings.dim, width))
        for gate in range(self.cell.gates):
            columns = slice(gate * settings.dim, (gate + 1) * settings.dim)
            nn.init.xavier_uniform_(self.context_ih.data[:, columns])

    def states(self, words: Tensor, progress: Progress) -> tuple[Tensor, State, Rows]:
        entering = next(iter(self.layers)).entering(words[None]).squeeze(0)
        top, contexts, last, looked = self.run(entering, progress)
        return torch.cat((top, contexts, words), -1), last, looked

    def run(self, entering: Tensor, progress: Progress) -> tuple[Tensor, Tensor, State, Rows]:
        """Top states and contexts (T, B, D) of the words' shares (T, B, E), and the last state.

        Step by step: any number of layers, every look open to those who look at it.
        """
        first, *upper = self.layers
        layers = [tuple(x[n] for x in progress.layers) for n in range(self.num_layers)]
        matrices = self.context_ih, first.weight_hh.squeeze(0), first.bias_hh.squeeze(0)
        tops, contexts, looked = [], [], progress.looked
        for position, x in enumerate(entering, progress.written):
            attended, looked = self.attention.align(
                layers[-1][0], progress.memory, looked, offset=position
            )
            context = attended.context[:, 0]
            layers[0], _ = joined_step(self.cell, x, context, layers[0], matrices)
            for number, layer in enumerate(upper, 1):
                below = layer.entering(self.dropout(layers[number - 1][0])[None, None])
                states = layer(below, tuple(h[None] for h in layers[number]))
                layers[number] = tuple(h[0, 0] for h in states)
            tops.append(layers[-1][0])
            contexts.append(context)
        last = tuple(torch.stack(parts) for parts in zip(*layers, strict=True))
        return torch.stack(tops), torch.stack(contexts), last, looked


class Bahdanau(Before):
    """Attention before the step by the state alone (2015, §3): while nobody looks, in one loop."""

    def run(self, entering: Tensor, progress: Progress) -> tuple[Tensor, Tensor, State, Rows]:
        unseen = self.num_layers == 1 and not observe.observers()
        # a source without any word is left to `attend`, which gives it the context zero
        if not unseen or progress.memory.empty is not None:
            return super().run(entering, progress)
        layer, memory = next(iter(self.layers)), progress.memory
        assert isinstance(self.attention, Content)
        score = self.attention.score
        assert isinstance(score, Additive)
        parts = Parts(
            entering, self.context_ih, layer.weight_hh.squeeze(0), layer.bias_hh.squeeze(0),
            score.query_proj.weight, score.v, memory.keys, memory.values, memory.absent,
        )  # fmt: skip
        states, contexts = aligned_steps(self.cell, parts, tuple(x[0] for x in progress.layers))
        return states[0], contexts, tuple(x[-1:] for x in states), progress.looked


DECODERS: dict[str, Callable[[RnnSettings], Decoder]] = {
    "none": FixedContext,
    "luong": Luong,
    "bahdanau": Bahdanau,
    "location": Before,
    "coverage": Before,
    "graves": Before,
    "monotonic": Before,
}
"""The decoders by `attention` in the settings."""
