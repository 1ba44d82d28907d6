"""A model's size, vocabulary and batch, chosen from the corpus and the time budget.

A model that is too large for its budget learns nothing: what counts first is how many updates fit.
So a few updates of each size are timed on a sample of the corpus.
"""

from __future__ import annotations

import random
import time
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import NamedTuple

import torch

from regard.config import Run
from regard.config.settings import Settings, resolved
from regard.errors import InputError
from regard.models.build import build
from regard.text import is_spaceless
from regard.training.loop import Trainer
from regard.training.prepare import Prepared, Texts, prepare
from regard.training.report import clock
from regard.training.shards import Crew

SAMPLE = 1500  # sentences that updates are timed on
FEW_EPOCHS = 2  # with fewer than this, a smaller model learns more
FEW_UPDATES, FEW_UPDATES_BATCH = 3_000, 0.5  # with fewer, more and smaller updates learn more
MIN_UPDATES = {"tiny": 0, "small": 2_000, "base": 10_000}
MIN_SENTENCES = {"tiny": 0, "small": 20_000, "base": 1_000_000}
VOCABULARIES = ((2_000, 1_000), (10_000, 2_000), (50_000, 4_000), (500_000, 8_000))
"""Up to so many sentences, at most so many pieces (twice as many for scripts without spaces)."""


@dataclass(frozen=True)
class Estimate:
    """How fast a preset trains on a corpus: seconds of an update, and updates of an epoch."""

    preset: str
    run: Run
    seconds: float
    epoch_updates: float

    def updates(self, budget: float) -> int:
        """How many updates fit into `budget` seconds."""
        return int(budget / self.seconds)

    def epochs(self, budget: float) -> float:
        """How many epochs fit into `budget` seconds."""
        return self.updates(budget) / self.epoch_updates

    def fits(self, budget: float) -> bool:
        """Whether enough updates and epochs fit into `budget` seconds to pay for this size."""
        enough = self.updates(budget) >= MIN_UPDATES[self.preset]
        return enough and self.epochs(budget) >= FEW_EPOCHS


class Size(NamedTuple):
    """The chosen preset, the settings with it, and the line that says why."""

    preset: str
    run: Run
    line: str


def choose_size(texts: Texts, given: Settings, budget: float | None) -> Size:
    """The largest preset that learns enough in `budget` seconds (None: no time limit).

    `given` settings stay as they are; vocabulary, batch, dropout and epochs follow the corpus.
    """
    sentences = len(texts.train)
    names = [name for name, least in MIN_SENTENCES.items() if sentences >= least]
    if not torch.cuda.is_available():
        names = [name for name in names if name != "base"]
    if budget is None:
        one = estimate(names[-1], texts, given)
        return Size(one.preset, _fitted(one, texts, given, None), _without_budget(one))
    estimates = list(_estimates(names, texts, given))
    chosen = next((one for one in reversed(estimates) if one.fits(budget)), estimates[0])
    run = _fitted(chosen, texts, given, chosen.epochs(budget))
    if run.training.batch_tokens != chosen.run.training.batch_tokens:
        chosen = _timed(chosen.preset, run, texts)
    return Size(chosen.preset, run, _with_budget(chosen, estimates, budget))


def too_large(one: Estimate, texts: Texts, given: Settings, budget: float) -> str | None:
    """A warning if a preset that was asked for makes less than two epochs; else None."""
    if one.epochs(budget) >= FEW_EPOCHS:
        return None
    line = (
        f"Warning: only {one.updates(budget):,} updates ({one.epochs(budget):.1f} epochs) of "
        f"{one.preset} fit into the {clock(budget)} left for training"
    )
    smaller = [name for name in MIN_UPDATES if MIN_UPDATES[name] < MIN_UPDATES[one.preset]]
    if not smaller:
        return f"{line}; give it more --minutes."
    other = estimate(smaller[-1], texts, given)
    return (
        f"{line}; {other.preset} would make {other.updates(budget):,} "
        f"({other.epochs(budget):.1f} epochs). Without --preset the size is chosen for you."
    )


def estimate(name: str, texts: Texts, given: Settings, *, vocabulary: bool = True) -> Estimate:
    """Time a few updates of a preset on a sample of the corpus.

    `vocabulary`: whether its vocabulary follows the corpus, too.
    """
    sentences = len(texts.train)
    run = resolved(given, name, _vocabulary(name, sentences, given) if vocabulary else None)
    return _timed(name, run, texts)


def _timed(name: str, run: Run, texts: Texts) -> Estimate:
    sentences = len(texts.train)
    drawn = random.Random(0).sample(range(sentences), min(SAMPLE, sentences))
    sample = replace(texts, train=[texts.train[n] for n in drawn], dev=texts.dev[:1])
    prepared = prepare(replace(sample, report=type(texts.report)()), run)
    tokens = int((prepared.examples.lengths_src + prepared.examples.lengths_tgt).sum())
    epoch = tokens * sentences / len(drawn) / run.training.batch_tokens / run.training.accumulate
    return Estimate(name, run, _seconds(prepared), max(1.0, epoch))


def _estimates(names: Iterable[str], texts: Texts, given: Settings) -> Iterable[Estimate]:
    """Estimates of the presets that the given settings go with; at least one of them does."""
    found, wrong = 0, None
    for name in names:
        try:
            yield estimate(name, texts, given)
            found += 1
        except InputError as error:
            wrong = error
    if not found and wrong:
        raise wrong


def _seconds(prepared: Prepared) -> float:
    """Seconds of one update, after a first one that warms up."""
    run = prepared.run
    torch.manual_seed(run.training.seed)
    pieces = run.text.unit in ("bpe", "unigram")  # of a sample, fewer are learned
    sizes = [
        run.text.vocab_size if pieces else len(tokenizer)
        for tokenizer in (prepared.tokenizers.source, prepared.tokenizers.target)
    ]
    trainer = Trainer(build(run.model, *sizes), run, prepared.tokenizers, prepared.examples)
    trainer.network.train()
    taken = []
    with Crew(trainer.cores) as crew:
        for _ in range(3):
            start = time.monotonic()
            trainer.update(crew)
            taken.append(time.monotonic() - start)
    return min(taken[1:])


def _vocabulary(name: str, sentences: int, given: Settings) -> Settings:
    """The vocabulary of a preset, smaller for a small corpus."""
    preset = resolved(given, name)
    most = next((size for limit, size in VOCABULARIES if sentences <= limit), None)
    if most is None or preset.text.unit not in ("bpe", "unigram"):
        return {}
    languages = (preset.source_language, preset.target_language)
    most = 2 * most if any(map(is_spaceless, languages)) else most
    return {"text": {"vocab_size": min(preset.text.vocab_size, most)}}


def _fitted(one: Estimate, texts: Texts, given: Settings, epochs: float | None) -> Run:
    """The run with batch, dropout and, without a time limit, epochs that suit the corpus."""
    training = one.run.training
    tokens = one.epoch_updates * training.batch_tokens * training.accumulate
    batch = int(min(training.batch_tokens, max(512, tokens / 20)))
    if epochs is not None and epochs * one.epoch_updates < FEW_UPDATES:
        batch = min(batch, int(FEW_UPDATES_BATCH * training.batch_tokens))
    adjusted: Settings = {
        "text": {"vocab_size": one.run.text.vocab_size},
        "training": {"batch_tokens": batch},
    }
    if epochs is None and training.steps:
        epochs = training.steps / one.epoch_updates
    elif epochs is None:
        epochs = max(training.epochs or 0, min(200.0, 2_000 * batch / tokens))
        adjusted["training"]["epochs"] = float(round(epochs))
    adjusted["model"] = {"dropout": dropout(epochs, len(texts.train))}
    return resolved(given, one.preset, adjusted)


def dropout(epochs: float, sentences: int) -> float:
    """What dropout suits a run: none if hardly anything is seen twice, much for a small corpus.

    >>> dropout(2, 178_000), dropout(6, 178_000), dropout(20, 29_000)
    (0.0, 0.1, 0.3)
    """
    if epochs < 3:
        return 0.0
    return 0.3 if epochs >= 10 and sentences < 100_000 else 0.1


def _with_budget(chosen: Estimate, estimates: list[Estimate], budget: float) -> str:
    line = (
        f"{chosen.preset}: {chosen.updates(budget):,} updates ({chosen.epochs(budget):.1f} epochs) "
        f"fit into the {clock(budget)} left for training"
    )
    others = [one for one in estimates if one.preset != chosen.preset]
    if not others:
        return f"{line}."
    listed = ", ".join(f"{one.preset} would make {one.updates(budget):,}" for one in others)
    return f"{line}; {listed}."


def _without_budget(one: Estimate) -> str:
    return (
        f"{one.preset}: an epoch of {one.epoch_updates:,.0f} updates takes about "
        f"{clock(one.seconds * one.epoch_updates)}; --minutes sets a time limit."
    )
