"""Training of handwriting, as the training loop sees it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from torch import Tensor

from regard.config import Run
from regard.folder import Tokenizers
from regard.tasks.handwriting.batches import StrokeBatches
from regard.tasks.handwriting.network import HandwritingModel, StrokeBatch
from regard.tasks.handwriting.prepare import prepare
from regard.tasks.handwriting.settings import HandwritingSettings
from regard.tasks.handwriting.validation import StrokeDevelopmentSet
from regard.training.checkpoint import matching
from regard.training.report import Reporter
from regard.training.run_files import CORPUS, read_corpus, write_corpus
from regard.training.task import Task, TrainData, TrainRequest


class HandwritingTask(Task):
    """From text to pen strokes: −log density of every point, given those before it."""

    def build(
        self, settings: HandwritingSettings, source_vocab: int, target_vocab: int
    ) -> HandwritingModel:
        return HandwritingModel(settings, source_vocab)

    def prepare(
        self, request: TrainRequest, run: Run, reporter: Reporter, started: float
    ) -> TrainData:
        data = prepare(request.files, request.dev, run)
        assert isinstance(data.train, StrokeBatches) and isinstance(data.dev, StrokeDevelopmentSet)
        reporter.say(
            f"lines to learn from: {len(data.train):,} ({sum(data.train.lengths):,} points); "
            f"development: {len(data.dev):,}"
        )
        return data

    def store(self, folder: Path, data: TrainData) -> None:
        assert isinstance(data.train, StrokeBatches) and isinstance(data.dev, StrokeDevelopmentSet)
        tensors = data.train.tensors("train") | data.dev.lines.tensors("dev")
        write_corpus(folder, tensors, list(data.dev.texts))

    def restore(self, folder: Path, run: Run, tokenizers: Tokenizers) -> TrainData:
        tensors, texts = read_corpus(folder)
        with matching(folder / "checkpoints" / CORPUS):
            train, dev = (StrokeBatches.from_tensors(tensors, n, run) for n in ("train", "dev"))
            dev_set = StrokeDevelopmentSet(dev, texts or (), run, tokenizers)
        return TrainData(run, train, dev_set, tokenizers)

    def objective(
        self, run: Run, network: HandwritingModel, batch: StrokeBatch, scale: float
    ) -> Tensor:
        return network.loss(batch) * scale

    def example(self, run: Run) -> list[str]:
        return ["attention", "--out", "line.svg"]

    def describe_validation(self, dev: Mapping[str, Any]) -> list[tuple[str, str]]:
        if not dev:
            return []
        rows = [("nats per point (development set)", f"{dev['loss']:.3f}")]
        if dev.get("recognised") is not None:
            rows.append(("characters recognised (development set)", f"{dev['recognised']:.1%}"))
        return rows
