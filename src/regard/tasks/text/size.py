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
from regard.config.kind import SizeOption
from regard.config.processes import has_ring, ring_fields
from regard.config.settings import PRESETS, Settings, merged, resolved
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
NARROW = 128  # features of a model that overfits late
FEW_EPOCHS = 2  # with fewer than this, a smaller model learns more
SEVERAL_EPOCHS = 3  # with fewer than this, nothing overfits
MANY_EPOCHS = 40  # from here on, a narrow model overfits too
WEIGHT_DECAY = 0.1  # of Muon, where a corpus is repeated
FEW_UPDATES, FEW_UPDATES_BATCH = 3_000, 0.5  # with fewer, more and smaller updates learn more
VOCABULARIES = ((2_000, 1_000), (10_000, 2_000), (50_000, 4_000), (500_000, 8_000))
"""Up to so many sentences, at most so many pieces (twice as many for scripts without spaces)."""
OPTIMIZERS = {"adam": "Adam", "adamw": "AdamW", "muon": "Muon"}
"""The optimizers as they are printed."""


@dataclass(frozen=True)
class SizeEstimate:
    """Speed of a size on a corpus: seconds of an update, and updates of an epoch.

    `epoch_tokens` are an epoch's target tokens, `weights` the number of the model's weights.
    """

    option: SizeOption
    run: Run
    seconds: float
    epoch_updates: float
    epoch_tokens: float
    weights: int

    @property
    def name(self) -> str:
        """The size as it is printed, with the model's own settings."""
        return self.option.name.format(**vars(self.run.model))

    def updates(self, budget: float) -> int:
        """Return how many updates fit into `budget` seconds."""
        return int(budget / self.seconds)

    def epochs(self, budget: float) -> float:
        """Return how many epochs fit into `budget` seconds."""
        return self.updates(budget) / self.epoch_updates

    def fits(self, budget: float) -> bool:
        """Whether enough updates and epochs for this size fit into `budget` seconds."""
        epochs, option = self.epochs(budget), self.option
        tokens = epochs * self.epoch_tokens
        seen = tokens >= option.per_weight * self.weights
        return seen and epochs >= FEW_EPOCHS and self.updates(budget) >= option.updates


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
        options = [o for o in self.task.kind.sizes if self.num_sentences >= o.sentences]
        if not torch.cuda.is_available():
            options = [option for option in options if option.preset != "base"]
        if budget is None:
            only = self._estimate(options[-1])
            run = self._fitted(only, None)
            return Size(only.option.preset, run, f"{_without_budget(only)} {_settings_line(run)}")
        estimates = list(self._estimates(options))
        chosen = next((e for e in reversed(estimates) if e.fits(budget)), estimates[0])
        run = self._fitted(chosen, chosen.epochs(budget))
        if run.training.batch_tokens != chosen.run.training.batch_tokens:
            chosen = self._timed(chosen.option, run)
        line = f"{_with_budget(chosen, estimates, budget)} {_settings_line(run)}"
        return Size(chosen.option.preset, run, line)

    def warning(self, preset: str, budget: float) -> str | None:
        """Return a warning if a preset makes less than two epochs in `budget` seconds."""
        chosen = self.estimate(preset, vocabulary=False)
        if chosen.epochs(budget) >= FEW_EPOCHS:
            return None
        line = (
            f"Warning: only {chosen.updates(budget):,} updates ({chosen.epochs(budget):.1f} "
            f"epochs) of {preset} fit into the {clock(budget)} left for training"
        )
        if preset == PRESETS[0]:
            return f"{line}; give it more --minutes."
        other = self.estimate(PRESETS[PRESETS.index(preset) - 1])
        return (
            f"{line}; {other.name} would make {other.updates(budget):,} "
            f"({other.epochs(budget):.1f} epochs). Without --preset the size is chosen for you."
        )

    def estimate(self, name: str, *, vocabulary: bool = True) -> SizeEstimate:
        """Time a few updates of a preset on a sample of the corpus.

        With `vocabulary`, the size of its vocabulary follows the corpus.
        """
        option = SizeOption(name, name)
        return self._estimate(option) if vocabulary else self._timed(option, self._resolved(option))

    def _estimate(self, option: SizeOption) -> SizeEstimate:
        return self._timed(option, self._resolved(option, self._vocabulary(option)))

    def _resolved(self, option: SizeOption, adjusted: Settings | None = None) -> Run:
        kind, settings = self.task.kind, merged(option.settings, adjusted or {})
        return resolved(self.given, option.preset, {kind.name: kind}, settings)

    def _timed(self, option: SizeOption, run: Run) -> SizeEstimate:
        known = self._tokenizers
        same = known is not None and known[0].text == run.text
        data = self.task.encode_corpus(self._sample, run, known[1] if known and same else None)
        self._tokenizers = run, data.tokenizers
        encoded: Any = data.train
        often = 1.0 if encoded.weights is None else encoded.weights
        often = often * self.num_sentences / len(self._sample.train) / encoded.num_segmentations
        source, target = (
            float((lengths.reshape(encoded.num_segmentations, -1) * often).sum())
            for lengths in (encoded.lengths_src, encoded.lengths_tgt)
        )
        epoch = (source + target) / run.training.batch_tokens / run.training.accumulate
        seconds, weights = self._seconds(data)
        return SizeEstimate(option, run, seconds, max(1.0, epoch), target, weights)

    def _estimates(self, options: Iterable[SizeOption]) -> Iterable[SizeEstimate]:
        """Yield estimates of the sizes that the given settings fit; at least one does."""
        fitting, wrong = 0, None
        for option in options:
            try:
                yield self._estimate(option)
                fitting += 1
            except InputError as error:
                wrong = error
        if not fitting and wrong:
            raise wrong

    def _seconds(self, data: TrainData) -> tuple[float, int]:
        """Return the seconds of one update, after a first that warms up, and the weights' number.

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
        weights = sum(parameter.numel() for parameter in network.parameters())
        return min(taken[1:]) * shared / world, weights

    def _vocabulary(self, option: SizeOption) -> Settings:
        """Return the vocabulary of a size, smaller for a small corpus."""
        preset = self._resolved(option)
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
        dim: int = chosen.run.model.dim  # type: ignore[attr-defined]  # of every model of text
        adjusted["model"] = {"dropout": dropout(epochs, self.num_sentences, dim)}
        if training.optimizer == "muon" and epochs >= SEVERAL_EPOCHS:
            adjusted["training"]["weight_decay"] = WEIGHT_DECAY
        return self._resolved(chosen.option, adjusted)


def dropout(epochs: float, sentences: int, dim: int) -> float:
    """Return the dropout of a run: none for very few epochs, much for many of a small corpus.

    A narrow model needs as much of it only in very many epochs.

    >>> dropout(2, 178_000, 128), dropout(6, 178_000, 128), dropout(20, 29_000, 256)
    (0.0, 0.1, 0.3)
    >>> dropout(20, 29_000, 128), dropout(50, 29_000, 128)
    (0.2, 0.3)
    """
    if epochs < SEVERAL_EPOCHS:
        return 0.0
    if epochs < 10 or sentences >= 100_000:
        return 0.1
    return 0.2 if dim <= NARROW and epochs < MANY_EPOCHS else 0.3


def _with_budget(chosen: SizeEstimate, estimates: list[SizeEstimate], budget: float) -> str:
    line = (
        f"{chosen.name}: {chosen.updates(budget):,} updates "
        f"({chosen.epochs(budget):.1f} epochs) fit into the {clock(budget)} left for training"
    )
    others = [other for other in estimates if other.option != chosen.option]
    if not others:
        return f"{line}."
    listed = ", ".join(f"{o.name} would make {o.updates(budget):,}" for o in others)
    return f"{line}; {listed}."


def _without_budget(chosen: SizeEstimate) -> str:
    return (
        f"{chosen.name}: an epoch of {chosen.epoch_updates:,.0f} updates takes about "
        f"{clock(chosen.seconds * chosen.epoch_updates)}; --minutes sets a time limit."
    )


def _settings_line(run: Run) -> str:
    """Return the sentence that names the settings chosen with the size."""
    training = run.training
    dropout: float = run.model.dropout  # type: ignore[attr-defined]  # of every model of text
    decay = f", weight decay {training.weight_decay:g}" if training.weight_decay else ""
    return (
        f"Dropout {dropout:g}, batches of {training.batch_tokens:,} tokens, "
        f"{OPTIMIZERS[training.optimizer]} at {training.learning_rate:g}{decay}."
    )
