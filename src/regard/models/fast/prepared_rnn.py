"""Bahdanau's recurrent decoder prepared for inference: a `StepModel` whose state changes in place.

Products with the same input are one: the state's gates and the query; the input's and the context's
gates. Hypotheses of one sentence share its keys and values.

R rows, B sentences, K slots (the most rows of a sentence), S source tokens, I features of an
embedding, D of a state, A of a key, E = num_gates · D, V tokens of the vocabulary.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from regard.attention import Additive, AttentionMap
from regard.attention.aligners import Content
from regard.models.batch import Batch, Source
from regard.models.fast.prepared_layers import PreparedLinear
from regard.models.fast.slots import HIDDEN, REMOVE_BELOW
from regard.models.rnn.cell import States
from regard.models.rnn.decoder import BahdanauDecoder, RnnState
from regard.models.rnn.model import RnnModel


class SharedMemory:
    """Keys and values of sentences, and the state of every row.

    hidden    (R, D) each
    sentence  R numbers
    grid      (R,)   index of each row among all B · K slots; None if the rows are all of them
    keys      (B, 1, S, A)
    values    (B, S, D)
    mask      (B, 1, S)  -inf at padding, else 0
    """

    def __init__(self, state: RnnState) -> None:
        memory = state.memory
        self.hidden: States = tuple(x[0] for x in state.layers)
        self.sentence = list(range(len(memory.lengths)))
        self.grid: Tensor | None = None
        self.width = 1
        self.keys, self.values = memory.keys[:, None], memory.values
        zeros = torch.zeros(memory.padding.shape)
        self.mask = zeros.masked_fill_(memory.padding, HIDDEN)[:, None]

    def select(self, rows: Tensor) -> None:
        """Go on with the given rows, in that order; a row may occur twice."""
        self.hidden = tuple(x.index_select(0, rows) for x in self.hidden)
        sentence = [self.sentence[row] for row in rows.tolist()]
        counts = Counter(sentence)
        if len(counts) <= REMOVE_BELOW * self.values.shape[0]:
            keep = torch.tensor(sorted(counts))
            self.keys, self.values, self.mask = (
                x.index_select(0, keep) for x in (self.keys, self.values, self.mask)
            )
            number_of = {old: new for new, old in enumerate(sorted(counts))}
            sentence = [number_of[old] for old in sentence]
        self.sentence, self.width = sentence, max(counts.values())
        slots, grid = Counter[int](), []
        for number in sentence:
            grid.append(number * self.width + slots[number])
            slots[number] += 1
        complete = grid == list(range(self.values.shape[0] * self.width))
        self.grid = None if complete else torch.tensor(grid)


class PreparedRnn:
    """The same logits as the network's, with its weights as they were when it was prepared."""

    def __init__(self, network: RnnModel) -> None:
        decoder = network.decoder
        assert isinstance(decoder, BahdanauDecoder) and isinstance(decoder.attention, Content)
        score = decoder.attention.score
        assert isinstance(score, Additive)
        (layer,) = decoder.layers
        self.network, self.cell, self.max_length = network, decoder.cell, network.max_length
        with torch.no_grad():
            self.vectors = network.target.weight.detach()
            scale, width = self.vectors.shape[1] ** 0.25, self.vectors.shape[1]
            query = score.query_proj.weight.t()
            self.state_weight = torch.cat((layer.weight_hh[0], query), 1)
            self.state_bias = torch.cat((layer.bias_hh[0], query.new_zeros(query.shape[1])))
            self.input_weight = torch.cat((layer.weight_ih[0] * scale, decoder.context_ih))
            self.input_bias, self.v = layer.bias_ih[0].clone(), score.v.clone()
            self.readout, self.output = (
                PreparedLinear(decoder.readout),
                PreparedLinear(network.output),
            )
            self.readout.weight[-width:] *= scale

    def maps(self, batch: Batch) -> list[AttentionMap]:
        """The attention of given targets, by the network itself."""
        return self.network.maps(batch)

    @torch.inference_mode()
    def start(self, source: Source | None, batch: int = 1) -> SharedMemory:
        """Encode the source and return the state before the first token."""
        return SharedMemory(self.network.start(source, batch))

    def step(
        self, state: SharedMemory, tokens: Tensor, attention: bool = False
    ) -> tuple[Tensor, SharedMemory, Sequence[Any]]:
        """Return logits (R, V) of the token after `tokens` (R,); the state is changed in place."""
        if attention:
            raise ValueError("a prepared network records no attention; use the network itself.")
        gates = self.state_bias.shape[0] - self.v.shape[0]
        both = torch.addmm(self.state_bias, state.hidden[0], self.state_weight)
        context = self._attend(both[:, gates:], state)
        vectors = self.vectors.index_select(0, tokens)
        inputs = torch.addmm(self.input_bias, torch.cat((vectors, context), 1), self.input_weight)
        state.hidden, _ = self.cell.step(inputs, both[:, :gates], state.hidden)
        joined = torch.cat((state.hidden[0], context, vectors), 1)
        return self.output(self.readout(joined).tanh_()), state, ()

    def select(self, state: SharedMemory, rows: Tensor) -> SharedMemory:
        """Return the state of the given rows, which is the given state changed in place."""
        state.select(rows)
        return state

    def _attend(self, query: Tensor, state: SharedMemory) -> Tensor:
        """(R, D): Σ_s softmax_s(v·tanh(q + k_s)) value_s of projected queries q (R, A)."""
        grid, size = state.grid, state.values.shape[0]
        if grid is not None:
            slots = query.new_zeros(size * state.width, query.shape[1])
            query = slots.index_copy_(0, grid, query)
        tanh = torch.add(state.keys, query.view(size, -1, 1, query.shape[1])).tanh_()
        weights = torch.softmax((tanh @ self.v).add_(state.mask), -1)
        context = torch.bmm(weights, state.values).flatten(0, 1)
        return context if grid is None else context.index_select(0, grid)
