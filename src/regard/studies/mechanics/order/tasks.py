"""Tasks in which order matters and tasks in which it does not, and the networks that learn them.

Sequences: which token stands before each. Patient histories: whether a drug and its side effect are
both in them, and which came first. Images: the shape, of pixels in a line, in a plane, or shuffled.

B examples, N tokens, D features, S pixels of a side, P pixels of a patch's side.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Literal

import torch
from torch import Tensor, nn

from regard.attention import Position, Sinusoidal
from regard.config import (
    ClassifierSettings,
    LanguageModelSettings,
    MaskedLanguageModelSettings,
)
from regard.config.model import Positions
from regard.corpus.shapes import SHAPES, PlantedShapes, planted_shapes
from regard.demo.shapes import ShapeNetwork
from regard.models.batch import Batch
from regard.models.classifier.batch import LabeledBatch
from regard.models.classifier.network import ClassifierModel
from regard.models.lm import LanguageModel, MaskedLanguageModel, TransformerStack
from regard.models.transformer import Layer
from regard.studies.mechanics.fitting import NO_ANSWER, Draw, TokenExamples
from regard.text import BOS, PAD
from regard.text.tokenizer import SPECIALS

NUM_SYMBOLS = 16
TRAINED_LENGTHS = (4, 16)
MAX_LENGTH = 65  # the longest test, and BOS
SIZES = {"dim": 32, "num_heads": 4, "num_layers": 2, "ff": 64, "dropout": 0.0}

NUM_DRUGS = 8  # drug i has side effect i
NUM_OTHER_EVENTS = 16
HISTORY = (6, 20)  # events of a patient

SIDE, PATCH = 28, 4
IMAGE_DIM = 48

Encoder = Literal["attention", "attention with positions", "recurrent"]
Reader = Literal["flat", "convolution", "attention", "attention, line", "attention, plane"]


def previous_token(length: int | None = None) -> Draw:
    """BOS and random tokens of a length, else of any trained one; a token's answer: the one before.

    The first token after BOS has no label.
    """

    def draw(count: int, generator: torch.Generator) -> TokenExamples:
        shortest, longest = TRAINED_LENGTHS
        size = length or int(torch.randint(shortest, longest + 1, (1,), generator=generator))
        ids = torch.randint(NUM_SYMBOLS, (count, size), generator=generator) + len(SPECIALS)
        tokens = torch.cat([torch.full((count, 1), BOS), ids], 1)
        labels = torch.full_like(tokens, NO_ANSWER)
        labels[:, 2:] = ids[:, :-1]
        return TokenExamples(tokens[..., None], labels[..., None])

    return draw


def patient_history(*, ordered: bool) -> Draw:
    """Events of patients: drugs, side effects and others, in random order.

    ordered   every history has one drug with its side effect: did the drug come first?
    not so    half of the histories have a drug with its side effect: is there one?
    """

    def draw(count: int, generator: torch.Generator) -> TokenExamples:
        lengths = torch.randint(HISTORY[0], HISTORY[1] + 1, (count,), generator=generator)
        # of every number either the drug or the side effect may occur, but not both
        side = torch.randint(2, (count, NUM_DRUGS), generator=generator)
        kind = torch.randint(NUM_DRUGS, (count, HISTORY[1]), generator=generator)
        events = kind + NUM_DRUGS * side.gather(1, kind)
        other_events = torch.randint(NUM_OTHER_EVENTS, events.shape, generator=generator)
        is_other = torch.rand(events.shape, generator=generator) < 0.6
        events = torch.where(is_other, other_events + 2 * NUM_DRUGS, events)
        # two numbers are free of both: one for the pair, one for events that are none
        free = torch.rand(count, NUM_DRUGS, generator=generator).argsort(1)[:, :2]
        taken = (events[..., None] % NUM_DRUGS == free[:, None]).any(-1) & (events < 2 * NUM_DRUGS)
        events = torch.where(taken, 2 * NUM_DRUGS, events)
        there = torch.arange(HISTORY[1]) < lengths[:, None]
        noise = torch.rand(events.shape, generator=generator).masked_fill(~there, 2.0)
        places = noise.argsort(1)[:, :2]
        label = torch.randint(2, (count,), generator=generator)
        if ordered:
            places = places.sort(1).values
            drug_first = label == 1
            partner = free[:, 0]
        else:
            drug_first = torch.rand(count, generator=generator) < 0.5
            partner = torch.where(label == 1, free[:, 0], free[:, 1])
        first = free[:, 0] + NUM_DRUGS * ~drug_first
        second = partner + NUM_DRUGS * drug_first
        events = events.scatter(1, places, torch.stack([first, second], 1))
        tokens = (events + len(SPECIALS)).masked_fill(~there, PAD)
        return TokenExamples(tokens[..., None], label[:, None, None], lengths)

    return draw


class SequenceNetwork(nn.Module):
    """A Transformer of one stack that answers at every token: causal, or seeing all tokens."""

    def __init__(self, positions: Positions, *, causal: bool) -> None:
        super().__init__()
        kind = LanguageModelSettings if causal else MaskedLanguageModelSettings
        settings = kind(positions=positions, tied="none", max_length=MAX_LENGTH, **SIZES)  # type: ignore[arg-type]  # sizes are numbers
        vocab = NUM_SYMBOLS + len(SPECIALS)
        self.network: TransformerStack = (
            MaskedLanguageModel(settings, vocab)
            if isinstance(settings, MaskedLanguageModelSettings)
            else LanguageModel(settings, vocab)
        )

    def forward(self, fields: Tensor, lengths: Tensor | None = None) -> Tensor:
        """Logits (B, N, 1, V) of ids (B, N, 1)."""
        logits: Tensor = self.network(Batch(None, fields[..., 0], fields[..., 0]))
        return logits[:, :, None]


class HistoryNetwork(nn.Module):
    """A classifier of histories: self-attention without or with positions, or a GRU."""

    def __init__(self, encoder: Encoder) -> None:
        super().__init__()
        settings = ClassifierSettings(
            encoder="rnn" if encoder == "recurrent" else "transformer",
            positions="none" if encoder == "attention" else "sinusoidal",
            bidirectional=False,
            pooling="last" if encoder == "recurrent" else "attention",
            input="text",
            labels=("no", "yes"),
            **(SIZES | {"num_layers": 1 if encoder == "recurrent" else 2}),  # type: ignore[arg-type]  # sizes are numbers
        )
        self.network = ClassifierModel(settings, 2 * NUM_DRUGS + NUM_OTHER_EVENTS + len(SPECIALS))

    def forward(self, fields: Tensor, lengths: Tensor) -> Tensor:
        """Logits (B, 1, 1, 2) of ids (B, N, 1)."""
        logits: Tensor = self.network(LabeledBatch(fields[..., 0], lengths, lengths))
        return logits[:, None, None]


class PlanePosition(Position):
    """Sinusoidal encodings of row and of column, half of the features each, on a square of tokens.

    Tokens x (B, rows · columns, D), row by row.
    """

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.line = Sinusoidal(dim // 2)

    def add(self, x: Tensor, offset: int = 0) -> Tensor:
        side = round(x.shape[-2] ** 0.5)
        table = self.line.table(side, dtype=x.dtype)
        rows, columns = (
            coordinates.reshape(-1, table.shape[1])
            for coordinates in (
                table[:, None].expand(-1, side, -1),
                table[None].expand(side, -1, -1),
            )
        )
        return x + torch.cat([rows, columns], -1)


class PatchNetwork(nn.Module):
    """Patches of an image as tokens, layers of self-attention, their maximum, and the labels."""

    def __init__(self, positions: Position) -> None:
        super().__init__()
        settings = MaskedLanguageModelSettings(
            dim=IMAGE_DIM,
            num_heads=4,
            num_layers=2,
            ff=2 * IMAGE_DIM,
            dropout=0.0,
            positions="none",
        )
        self.patches = nn.Conv2d(3, IMAGE_DIM, PATCH, PATCH)
        self.norm = nn.LayerNorm(IMAGE_DIM)  # as large as positions, which would drown it
        self.positions = positions
        self.layers = nn.ModuleList(
            Layer(settings, Position(), cross=False) for _ in range(settings.num_layers)
        )
        self.output = nn.Sequential(nn.LayerNorm(IMAGE_DIM), nn.Linear(IMAGE_DIM, len(SHAPES)))

    def forward(self, x: Tensor) -> Tensor:
        """Scores (B, L) of images (B, 3, S, S)."""
        tokens = self.positions.add(self.norm(self.patches(x).flatten(2).transpose(1, 2)))
        for layer in self.layers:
            tokens, _ = layer(tokens, None)
        scores: Tensor = self.output(tokens.amax(1))
        return scores


class ImageNetwork(nn.Module):
    """A classifier of shapes that reads pixels in a line, by convolution, or by attention."""

    def __init__(self, reader: Reader) -> None:
        super().__init__()
        self.body: nn.Module
        if reader == "flat":
            self.body = nn.Sequential(
                nn.Flatten(),
                nn.Linear(3 * SIDE * SIDE, 64),
                nn.ReLU(),
                nn.Linear(64, 64),
                nn.ReLU(),
                nn.Linear(64, len(SHAPES)),
            )
        elif reader == "convolution":
            self.body = ShapeNetwork(nn.Identity())
        else:
            positions = {
                "attention": Position(),
                "attention, line": Sinusoidal(IMAGE_DIM),
                "attention, plane": PlanePosition(IMAGE_DIM),
            }
            self.body = PatchNetwork(positions[reader])

    def forward(self, fields: Tensor, lengths: Tensor | None = None) -> Tensor:
        """Logits (B, 1, 1, L) of images (B, 3, S, S)."""
        logits: Tensor = self.body(fields - 0.25)
        return logits[:, None, None]


@cache
def images(count: int, seed: int) -> PlantedShapes:
    """Images of shapes, drawn once per process."""
    return planted_shapes(count, seed, size=SIDE)


def image_examples(data: PlantedShapes, *, shuffled: bool) -> TokenExamples:
    """Images (B, 3, S, S) and labels; `shuffled` gives all pixels one fixed random order."""
    x, y = torch.from_numpy(data.x), torch.from_numpy(data.y)
    if shuffled:
        order = torch.randperm(SIDE * SIDE, generator=torch.Generator().manual_seed(0))
        x = x.flatten(2)[..., order].unflatten(2, (SIDE, SIDE))
    return TokenExamples(x, y[:, None, None])


def drawn_from(examples: TokenExamples) -> Draw:
    """Draws of given examples, with replacement."""

    def draw(count: int, generator: torch.Generator) -> TokenExamples:
        rows = torch.randint(len(examples.fields), (count,), generator=generator)
        return TokenExamples(examples.fields[rows], examples.labels[rows])

    return draw


SCHEMES: Sequence[Positions] = ("none", "sinusoidal", "learned", "rotary", "alibi", "relative")
ENCODERS: Sequence[Encoder] = ("recurrent", "attention", "attention with positions")
READERS: Sequence[Reader] = (
    "flat",
    "convolution",
    "attention",
    "attention, line",
    "attention, plane",
)
