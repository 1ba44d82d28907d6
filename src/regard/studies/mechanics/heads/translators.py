"""Small translators of the built-in grammar that differ in their number of heads alone.

B sentences, S source tokens, T target tokens, H heads.
"""

from __future__ import annotations

import random
from collections.abc import Iterable
from dataclasses import replace
from functools import cache
from typing import Any, NamedTuple

import torch

from regard.attention import intervene, record
from regard.config import Run, TransformerSettings
from regard.corpus.grammar import sample
from regard.demo.data import DemoData, TrainingPair, prepare_data
from regard.demo.head_ablation import HeadName, switch_off
from regard.demo.settings import Budget, run_settings
from regard.models.batch import Batch, batch_of
from regard.models.transformer import TransformerModel
from regard.studies.mechanics.fitting import num_parameters
from regard.tasks import find_task
from regard.text import PAD
from regard.training.loop import Trainer
from regard.training.run import new_network
from regard.training.task import TrainData

MANY = 8
"""The number of heads in the documents' example: of these each one is switched off."""
MAX_WORDS = 10
LAYERS = 2
KINDS = ("self", "causal", "cross")
PARTS = 6  # the heads are switched off by sixths, one for each kind and layer
DRAWS = 3  # random sets of heads of each size


class HeadSizes(NamedTuple):
    """Sentences to learn from and to test with, and updates."""

    train: int
    test: int
    steps: int
    dim: int


FULL = HeadSizes(8_000, 200, 400, 64)
QUICK = HeadSizes(200, 20, 3, 32)


JSON_NAMES = {
    "self_weights": "own",
    "self_weights_before": "own_before",
    "largest_on_self": "own_first",
}


class HeadFigures(NamedTuple):
    """Figures of one trained translator.

    words                share of the next words that are right, given those before
    exact                share of the sentences of which all words are right: those greedy
                         search finds
    self_weights         of each encoder layer: weight that a token gives itself, mean of tokens
                         and heads
    self_weights_before  the same before training
    uniform              1 / n, the mean over tokens
    largest_on_self      share of tokens that give themselves the largest weight, mean of layers
                         and heads
    costs                words lost by each of eight heads switched off alone: kind and layer ▶
                         heads
    off                  words right with 0, 1, … sixths of the heads off, mean of random sets
    parameters           learned numbers
    """

    words: float
    exact: float
    self_weights: list[float]
    self_weights_before: list[float]
    uniform: float
    largest_on_self: float
    costs: dict[str, list[float]]
    off: list[float]
    parameters: int

    def as_dict(self) -> dict[str, Any]:
        """The figures as JSON has them."""
        return {JSON_NAMES.get(name, name): value for name, value in self._asdict().items()}


@cache
def sentences(sizes: HeadSizes) -> DemoData:
    """Short sentences; the same for all translators."""
    drawn = sample("train", sizes.train, max_words=MAX_WORDS)
    pairs = [TrainingPair(pair.source, pair.target, False) for pair in drawn]
    dev = sample("dev", 2, max_words=MAX_WORDS)
    return DemoData(pairs, dev, sample("test", sizes.test, max_words=MAX_WORDS), [])


def translator_run(num_heads: int, seed: int, sizes: HeadSizes) -> Run:
    """The settings of a translator: the demonstration's, smaller, with so many heads."""
    run = run_settings("full", "fr", Budget(sizes.train, 60.0, 2, 0, sizes.steps), seed)
    assert isinstance(run.model, TransformerSettings)
    model = replace(
        run.model,
        dim=sizes.dim,
        ff=2 * sizes.dim,
        num_heads=num_heads,
        num_encoder_layers=LAYERS,
        num_decoder_layers=LAYERS,
    )
    training = replace(
        run.training,
        minutes=None,
        steps=sizes.steps,
        target_exact_match=None,
        threads=1,
        validate_every=10**6,
        average="none",
        precision="fp32",
    )
    return replace(run, model=model, training=training)


def train_and_measure(num_heads: int, seed: int, sizes: HeadSizes) -> HeadFigures:
    """Train one translator in memory, and measure it on unseen sentences."""
    data, task = sentences(sizes), find_task("transformer")
    prepared = prepare_data(data, translator_run(num_heads, seed, sizes))
    network = new_network(task, prepared)
    assert isinstance(network, TransformerModel)
    batch = sentence_batch(data, prepared)
    before = measure_self_weights(network.eval(), batch).weights
    network.train()
    if not Trainer(task, network, prepared).train().finished:
        raise KeyboardInterrupt
    network.eval()
    words, exact = words_right(network, batch), sentences_right(network, batch)
    heads = [
        (kind, layer, head)
        for kind in KINDS
        for layer in range(LAYERS)
        for head in range(num_heads)
    ]
    costs: dict[str, list[float]] = {}
    for name in heads if num_heads == MANY else ():
        lost = words - words_right(network, batch, [name])
        costs.setdefault(f"{name[0]} {name[1]}", []).append(lost)
    self_attention = measure_self_weights(network, batch)
    return HeadFigures(
        words,
        exact,
        self_attention.weights,
        before,
        self_attention.uniform,
        self_attention.first,
        costs,
        [_random_off(network, batch, heads, sixths, seed) for sixths in range(PARTS + 1)],
        num_parameters(network),
    )


def sentence_batch(data: DemoData, prepared: TrainData) -> Batch:
    """The test sentences as one batch."""
    tokenizers = prepared.tokenizers
    return batch_of(
        [tokenizers.source.encode(pair.source) for pair in data.test],
        [tokenizers.target.encode(pair.target) for pair in data.test],
    )


@torch.no_grad()
def words_right(network: TransformerModel, batch: Batch, off: Iterable[HeadName] = ()) -> float:
    """Share of the next words that are right, given those before, with heads switched off."""
    with intervene(network, switch_off(off)):
        right = network(batch).argmax(-1) == batch.labels
    return float(right[batch.labels != PAD].float().mean())


@torch.no_grad()
def sentences_right(network: TransformerModel, batch: Batch) -> float:
    """Share of sentences of which every next word is right."""
    right = (network(batch).argmax(-1) == batch.labels) | (batch.labels == PAD)
    return float(right.all(1).float().mean())


class SelfWeights(NamedTuple):
    """The weights of tokens on themselves in the encoder: see `HeadFigures`."""

    weights: list[float]
    uniform: float
    first: float


@torch.no_grad()
def measure_self_weights(network: TransformerModel, batch: Batch) -> SelfWeights:
    """The weights on the diagonals of the encoder's maps, over all tokens that are not padding."""
    assert batch.source is not None
    lengths = batch.source.lengths
    with record(network, kinds="self") as recording:
        network.features(batch)
    there_BS = torch.arange(batch.source.tokens.shape[1]) < lengths[:, None]
    weights, first = [], []
    for layer in recording:
        self_BHS = layer.weights.diagonal(dim1=-2, dim2=-1)
        weights.append(float(self_BHS.mean(1)[there_BS].mean()))
        largest_BHS = layer.weights.amax(-1) == self_BHS
        first.append(float(largest_BHS.float().mean(1)[there_BS].mean()))
    uniform = float((1 / lengths)[:, None].expand(there_BS.shape)[there_BS].mean())
    return SelfWeights(weights, uniform, sum(first) / len(first))


def _random_off(
    network: TransformerModel, batch: Batch, heads: list[HeadName], sixths: int, seed: int
) -> float:
    """Words right with so many sixths of the heads off, mean of random sets."""
    generator, size = random.Random(seed), sixths * len(heads) // PARTS
    draws = DRAWS if 0 < sixths < PARTS else 1
    results = [words_right(network, batch, generator.sample(heads, size)) for _ in range(draws)]
    return sum(results) / draws
