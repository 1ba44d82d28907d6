"""Tiny real models: a table of trigrams, a GRU, and the Transformer; and reference searches."""

import itertools
import math
from typing import NamedTuple

import torch
from torch import nn

from regard.config import TransformerSettings
from regard.models.batch import source_of
from regard.models.transformer import TransformerModel
from regard.text import BOS, EOS

VOCAB = 8
WORDS = (5, 6, 7)


class TableState(NamedTuple):
    sentence: torch.Tensor
    before: torch.Tensor


class TableModel:
    """Scores of the next token by the source's sum and the two tokens before, from a table.

    `grain` rounds the scores, which makes ties. It counts the rows of every step.
    """

    def __init__(self, seed=0, vocab=VOCAB, kinds=11, max_length=50, grain=None, ending=0.0):
        random = torch.Generator().manual_seed(seed)
        table = torch.randn(kinds, vocab, vocab, vocab, generator=random) * 2
        table[..., EOS] += ending
        self.table = table if grain is None else (table / grain).round() * grain
        self.max_length = max_length
        self.rows = []
        self.selected = []

    def start(self, source, batch=1):
        if source is None:
            kind = torch.zeros(batch, dtype=torch.int64)
        else:
            kind = source.tokens.sum(1) % len(self.table)
        return TableState(kind, torch.full_like(kind, BOS))

    def step(self, state, tokens, attention=False):
        self.rows.append(len(tokens))
        logits = self.table[state.sentence, state.before, tokens]
        maps = [("row", len(self.rows))] if attention else []
        return logits, TableState(state.sentence, tokens), maps

    def select(self, state, rows):
        self.selected.append(rows.tolist())
        return TableState(state.sentence[rows], state.before[rows])

    def logs(self, sentence, tokens):
        """Log-probabilities of tokens, without start, step or select."""
        kind = (sum(sentence) + EOS) % len(self.table) if sentence is not None else 0
        before = [BOS, BOS, *tokens]
        return [
            float(self.table[kind, before[n], before[n + 1]].double().log_softmax(0)[token])
            for n, token in enumerate(tokens)
        ]


class GruModel(nn.Module):
    """A GRU that begins with the sum of the source's vectors."""

    def __init__(self, vocab=40, dim=16):
        super().__init__()
        self.words = nn.Embedding(vocab, dim)
        self.cell = nn.GRUCell(dim, dim)
        self.output = nn.Linear(dim, vocab)
        self.max_length = 60
        with torch.no_grad():  # sharper than at birth, so that sentences end and differ
            self.output.weight.mul_(6)

    def start(self, source, batch=1):
        if source is None:
            return torch.zeros(batch, self.cell.hidden_size)
        own = torch.arange(source.tokens.shape[1]) < source.lengths[:, None]
        return (self.words(source.tokens) * own[..., None]).sum(1).tanh()

    def step(self, state, tokens, attention=False):
        state = self.cell(self.words(tokens), state)
        return self.output(state), state, []

    def select(self, state, rows):
        return state[rows]


def gru(seed=0):
    torch.manual_seed(seed)
    return GruModel()


def transformer(seed=0):
    torch.manual_seed(seed)
    model = TransformerModel(
        TransformerSettings(
            dim=16, num_heads=2, num_encoder_layers=1, num_decoder_layers=2, ff=32, max_length=40
        ),
        40,
        40,
    )
    with torch.no_grad():
        model.output.weight.mul_(3)
    return model.eval()


MODELS = {"table": lambda: TableModel(vocab=40, kinds=5), "gru": gru, "transformer": transformer}
SENTENCES = [[5, 6, 7], [9, 8], [30, 12, 13, 14, 15, 16], [11], [20, 21, 22, 20, 21]]


def sources(*sentences):
    return source_of(sentences)


def enumerated(model, sentence, limit, alpha, prefix=()):
    """(tokens, score, finished) of every possible output, best first."""
    results = []
    for length in range(limit + 1):
        for words in itertools.product(WORDS, repeat=length):
            if words[: len(prefix)] != tuple(prefix):
                continue
            finished = length < limit
            logs = model.logs(sentence, [*words, EOS] if finished else words)
            results.append((words, sum(logs) / len(logs) ** alpha, finished))
    return sorted(results, key=lambda output: -output[1])


def reference_beam(model, sentence, limit, alpha, width):
    """(tokens, score, finished), best first: one sentence, in lists, each step from its start."""
    live, done = [((), 0.0)], []
    for length in range(1, limit + 1):
        options = []
        for rank, (words, total) in enumerate(live):
            for token in (EOS, *WORDS):
                log = model.logs(sentence, [*words, token])[-1]
                options.append((-(total + log), rank, -log, token, words))
        taken = sorted(options)[: width - sum(end for *_, end in done)]
        live = []
        for cost, _, _, token, words in taken:
            if token == EOS:
                done.append((words, -cost / length**alpha, True))
            else:
                live.append(((*words, token), -cost))
        if not live:
            break
    done += [(words, total / math.pow(limit, alpha), False) for words, total in live]
    return sorted(done, key=lambda output: -output[1])
