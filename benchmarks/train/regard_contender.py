"""The training loop of `regard train`, on the benchmark's batches."""

from __future__ import annotations

import sys
from typing import Any

from benchmarks.train.rounds import Rounds
from benchmarks.train.task import Task
from regard.config import Run, TrainingSettings, TransformerSettings
from regard.tasks import build, find_task
from regard.tasks.text.encoded_corpus import EncodedCorpus
from regard.training.loop import Trainer
from regard.training.report import Silent
from regard.training.task import TrainData


class GivenBatches(EncodedCorpus):
    """The task's batches in their order."""

    def __init__(self, task: Task) -> None:
        every = task.warmup + task.timed
        sources = [row for pairs in every for row in pairs.sources]
        targets = [row for pairs in every for row in pairs.targets]
        super().__init__(sources, targets, max_tokens=1)
        self._rows: list[list[int]] = []
        first = 0
        for pairs in every:
            self._rows.append(list(range(first, first + len(pairs.sources))))
            first += len(pairs.sources)
        self._num_warmup = len(task.warmup)

    def epoch(self, epoch: int) -> list[list[int]]:
        """The warm-up and the first round; then a round in each epoch."""
        return self._rows if epoch == 0 else self._rows[self._num_warmup :]


class RoundReporter(Silent):
    """Reports every update to the rounds."""

    def __init__(self, task: Task, about: dict[str, Any]) -> None:
        self._rounds = Rounds(len(task.warmup), len(task.timed), task.rounds)
        self._tokens = iter([pairs.tokens for pairs in task.order()])
        self._about = about

    def update(self, share: float, seconds_left: float, figures: dict[str, Any]) -> None:
        """Count an update."""
        self._rounds.step(next(self._tokens), figures["loss"], **self._about)


def settings(task: Task) -> Run:
    """The run with the task's sizes, loss, dropout and optimizer."""
    sizes = task.sizes
    return Run(
        model=TransformerSettings(
            dim=sizes.dim,
            num_heads=sizes.heads,
            ff=sizes.ff,
            num_encoder_layers=sizes.layers,
            num_decoder_layers=sizes.layers,
            norm="pre",
            positions="sinusoidal",
            tied="all",
            activation="relu",
            dropout=task.dropout,
            attention_dropout=task.dropout,
            activation_dropout=task.dropout,
        ),
        training=TrainingSettings(
            steps=len(task.order()),
            optimizer="adam",
            learning_rate=task.rate,
            schedule="constant",
            warmup=0,
            beta1=task.betas[0],
            beta2=task.betas[1],
            clip=0,
            label_smoothing=task.smoothing,
            average="none",
            seed=task.seed,
            threads=task.threads,
            device="cpu",
        ),
    )


def main(path: str) -> None:
    """Train on the task in the file."""
    task = Task.read(path)
    run = settings(task)
    network = build(run.model, task.sizes.vocab, task.sizes.vocab)
    trainer = Trainer(find_task(run.model.kind), network, TrainData(run, GivenBatches(task)))
    updater = trainer.updater
    trainer.reporter = RoundReporter(
        task,
        {
            "settings": f"{updater.precision}, fused Adam, {updater.num_threads} threads",
            "parameters": sum(p.numel() for p in network.parameters()),
        },
    )
    trainer.train()


if __name__ == "__main__":
    main(*sys.argv[1:])
