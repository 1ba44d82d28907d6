"""Choose a model's size, vocabulary and batch from the corpus and the time budget.

A model that is too large for its budget learns nothing: the number of updates counts first. So a
few updates of each size are timed on a sample of the corpus.
"""

from __future__ import annotations

import os
import random
import time
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import torch

from regard.config import Run
from regard.config.processes import has_ring, ring_fields
from regard.config.settings import Settings, resolved
from regard.corpus.pairs import CleaningReport
from regard.errors import InputError
from regard.folder import Tokenizers
from regard.models.build import build_network
from regard.tasks.text.task import TextCorpus, TextTask
from regard.text import is_spaceless
from regard.training.loop import Trainer
from regard.training.report import clock
from regard.training.task import TrainData

SAMPLE = 1500  # sentences that updates are timed on
LONG_UPDATE = 1.0  # seconds: one is timed, of shorter updates two
FEW_EPOCHS = 2  # with fewer than this, a smaller model learns more
FEW_UPDATES, FEW_UPDATES_BATCH = 3_000, 0.5  # with fewer, more and smaller updates learn more
MIN_UPDATES = {"tiny": 0, "small": 2_000, "base": 10_000}
MIN_SENTENCES = {"tiny": 0, "small": 20_000, "base": 1_000_000}
VOCABULARIES = ((2_000, 1_000), (10_000, 2_000), (50_000, 4_000), (500_000, 8_000))
"""Up to so many sentences, at most so many pieces (twice as many for scripts without spaces)."""


@dataclass(frozen=True)
class SizeEstimate:
    """Speed of a preset on a corpus: seconds of an update, and updates of an epoch."""

    preset: str
    run: Run
    seconds: float
    epoch_updates: float

    def updates(self, budget: float) -> int:
        """Return how many updates fit into `budget` seconds."""
        return int(budget / self.seconds)

    def epochs(self, budget: float) -> float:
        """Return how many epochs fit into `budget` seconds."""
        return self.updates(budget) / self.epoch_updates

    def fits(self, budget: float) -> bool:
        """Whether enough updates and epochs for this size fit into `budget` seconds."""
        enough = self.updates(budget) >= MIN_UPDATES[self.preset]
        return enough and self.epochs(budget) >= FEW_EPOCHS


class Size(NamedTuple):
    """The chosen preset, the settings with it, and the line that says why."""

    preset: str
    run: Run
    line: str


class SizeSearch:
    """Times presets of a kind of model on a corpus; `given` settings stay as they are."""

    def __init__(self, task: TextTask, corpus: TextCorpus, given: Settings) -> None:
        self.task, self.given = task, given
        self.num_sentences = len(corpus.train)
        drawn = random.Random(0).sample(range(self.num_sentences), min(SAMPLE, self.num_sentences))
        sampled = [corpus.train[n] for n in drawn]
        self._sample = TextCorpus(sampled, sampled[:1], CleaningReport())
        self._tokenizers: tuple[Run, Tokenizers] | None = None

    def choose(self, budget: float | None) -> Size:
        """Return the largest preset that learns enough in `budget` seconds (None: no limit).

        Vocabulary, batch, dropout and epochs follow the corpus.
        """
        names = [name for name, least in MIN_SENTENCES.items() if self.num_sentences >= least]
        if not torch.cuda.is_available():
            names = [name for name in names if name != "base"]
        if budget is None:
            only = self.estimate(names[-1])
            return Size(only.preset, self._fitted(only, None), _without_budget(only))
        estimates = list(self._estimates(names))
        chosen = next((e for e in reversed(estimates) if e.fits(budget)), estimates[0])
        run = self._fitted(chosen, chosen.epochs(budget))
        if run.training.batch_tokens != chosen.run.training.batch_tokens:
            chosen = self._timed(chosen.preset, run)
        return Size(chosen.preset, run, _with_budget(chosen, estimates, budget))

    def warning(self, preset: str, budget: float) -> str | None:
        """Return a warning if a preset makes less than two epochs in `budget` seconds."""
        chosen = self.estimate(preset, vocabulary=False)
        if chosen.epochs(budget) >= FEW_EPOCHS:
            return None
        line = (
            f"Warning: only {chosen.updates(budget):,} updates ({chosen.epochs(budget):.1f} "
            f"epochs) of {preset} fit into the {clock(budget)} left for training"
        )
        smaller = [name for name in MIN_UPDATES if MIN_UPDATES[name] < MIN_UPDATES[preset]]
        if not smaller:
            return f"{line}; give it more --minutes."
        other = self.estimate(smaller[-1])
        return (
            f"{line}; {other.preset} would make {other.updates(budget):,} "
            f"({other.epochs(budget):.1f} epochs). Without --preset the size is chosen for you."
        )

    def estimate(self, name: str, *, vocabulary: bool = True) -> SizeEstimate:
        """Time a few updates of a preset on a sample of the corpus.

        With `vocabulary`, the size of its vocabulary follows the corpus.
        """
        return self._timed(name, self._resolved(name, self._vocabulary(name) if vocabulary else {}))

    def _resolved(self, name: str, adjusted: Settings | None = None) -> Run:
        kind = self.task.kind
        return resolved(self.given, name, {kind.name: kind}, adjusted)

    def _timed(self, name: str, run: Run) -> SizeEstimate:
        known = self._tokenizers
        same = known is not None and known[0].text == run.text
        data = self.task.encode_corpus(self._sample, run, known[1] if known and same else None)
        self._tokenizers = run, data.tokenizers
        encoded: Any = data.train
        lengths = encoded.lengths_src + encoded.lengths_tgt
        tokens = float((lengths if encoded.weights is None else lengths * encoded.weights).sum())
        training = run.training
        sentences = self.num_sentences / len(self._sample.train)
        epoch = tokens * sentences / training.batch_tokens / training.accumulate
        return SizeEstimate(name, run, self._seconds(data), max(1.0, epoch))

    def _estimates(self, names: Iterable[str]) -> Iterable[SizeEstimate]:
        """Yield estimates of the presets that the given settings fit; at least one does."""
        fitting, wrong = 0, None
        for name in names:
            try:
                yield self.estimate(name)
                fitting += 1
            except InputError as error:
                wrong = error
        if not fitting and wrong:
            raise wrong

    def _seconds(self, data: TrainData) -> float:
        """Return the seconds of one update, after a first one that warms up.

        The shorter of two is taken, unless one is so long that it hardly varies.
        If several processes (torchrun) share the run, this one stands in for those of its host.
        """
        world, local = (int(os.environ.get(f"{name}WORLD_SIZE", "1")) for name in ("", "LOCAL_"))
        if world > 1:
            model, training = data.run.model, replace(data.run.training, threads=local)
            if has_ring(model):  # which would wait for the other processes
                model = replace(model, **dict.fromkeys(ring_fields(model), "blockwise"))
            data = replace(data, run=replace(data.run, model=model, training=training))
        run, tokenizers = data.run, data.tokenizers
        torch.manual_seed(run.training.seed)
        pieces = run.text.unit in ("bpe", "unigram")  # fewer of them are learned from a sample
        sizes = [
            run.text.vocab_size if pieces else len(tokenizer)
            for tokenizer in (tokenizers.source, tokenizers.target)
        ]
        network = build_network(self.task.build, run.model, *sizes)
        trainer = Trainer(self.task, network, data)
        trainer.network.train()
        taken = []
        with trainer.updater.workers(trainer.state.cursor) as pool:
            for _ in range(3):
                start = time.monotonic()
                trainer.update(pool)
                taken.append(time.monotonic() - start)
                if len(taken) == 2 and taken[1] > LONG_UPDATE:
                    break
        shared = local if trainer.updater.device.type == "cpu" else 1
        return min(taken[1:]) * shared / world

    def _vocabulary(self, name: str) -> Settings:
        """Return the vocabulary of a preset, smaller for a small corpus."""
        preset = self._resolved(name)
        sizes = (size for limit, size in VOCABULARIES if self.num_sentences <= limit)
        most = next(sizes, None)
        if most is None or preset.text.unit not in ("bpe", "unigram"):
            return {}
        languages = (preset.source_language, preset.target_language)
        most = 2 * most if any(map(is_spaceless, languages)) else most
        return {"text": {"vocab_size": min(preset.text.vocab_size, most)}}

    def _fitted(self, chosen: SizeEstimate, epochs: float | None) -> Run:
        """Return the run with batch, dropout and, without a time limit, epochs for the corpus."""
        training = chosen.run.training
        tokens = chosen.epoch_updates * training.batch_tokens * training.accumulate
        batch = int(min(training.batch_tokens, max(512, tokens / 20)))
        if epochs is not None and epochs * chosen.epoch_updates < FEW_UPDATES:
            batch = min(batch, int(FEW_UPDATES_BATCH * training.batch_tokens))
        adjusted: Settings = {
            "text": {"vocab_size": chosen.run.text.vocab_size},
            "training": {"batch_tokens": batch},
        }
        if epochs is None and training.steps:
            epochs = training.steps / chosen.epoch_updates
        elif epochs is None:
            epochs = max(training.epochs or 0, min(200.0, 2_000 * batch / tokens))
            adjusted["training"]["epochs"] = float(round(epochs))
        adjusted["model"] = {"dropout": dropout(epochs, self.num_sentences)}
        return self._resolved(chosen.preset, adjusted)


def dropout(epochs: float, sentences: int) -> float:
    """Return the dropout of a run: none for very few epochs, much for many of a small corpus.

    >>> dropout(2, 178_000), dropout(6, 178_000), dropout(20, 29_000)
    (0.0, 0.1, 0.3)
    """
    if epochs < 3:
        return 0.0
    return 0.3 if epochs >= 10 and sentences < 100_000 else 0.1


def _with_budget(chosen: SizeEstimate, estimates: list[SizeEstimate], budget: float) -> str:
    line = (
        f"{chosen.preset}: {chosen.updates(budget):,} updates ({chosen.epochs(budget):.1f} epochs) "
        f"fit into the {clock(budget)} left for training"
    )
    others = [other for other in estimates if other.preset != chosen.preset]
    if not others:
        return f"{line}."
    listed = ", ".join(f"{other.preset} would make {other.updates(budget):,}" for other in others)
    return f"{line}; {listed}."


def _without_budget(chosen: SizeEstimate) -> str:
    return (
        f"{chosen.preset}: an epoch of {chosen.epoch_updates:,.0f} updates takes about "
        f"{clock(chosen.seconds * chosen.epoch_updates)}; --minutes sets a time limit."
    )
