"""Training of a classifier, as the training loop sees it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

import numpy as np
from torch import Tensor
from torch.nn import functional as F

from regard.config import ClassifierSettings, Run
from regard.folder import Tokenizers
from regard.models.classifier.batch import LabeledBatch, Series
from regard.models.classifier.network import ClassifierModel
from regard.tasks.classification.batches import LabeledBatches, series_scale
from regard.tasks.classification.prepare import prepare
from regard.tasks.classification.validation import LabeledDevelopmentSet
from regard.tasks.text.objective import span_loss
from regard.training.checkpoint import matching
from regard.training.report import Reporter
from regard.training.run_files import CORPUS, read_corpus, write_corpus
from regard.training.task import Task, TrainData, TrainRequest
from regard.vectors.initialize import initialize_embeddings


class ClassificationTask(Task):
    """From a text or a series to a label: cross-entropy of the label."""

    def build(
        self, settings: ClassifierSettings, source_vocab: int, target_vocab: int
    ) -> ClassifierModel:
        return ClassifierModel(settings, source_vocab)

    def reads_text(self, run: Run) -> bool:
        return cast("ClassifierSettings", run.model).input != "series"

    def prepare(
        self, request: TrainRequest, run: Run, reporter: Reporter, started: float
    ) -> TrainData:
        data = prepare(request.files, request.dev, run, request.encoding)
        model = cast("ClassifierSettings", data.run.model)
        kind = f"series of {len(model.channels)} channels" if model.channels else "texts"
        assert isinstance(data.dev, LabeledDevelopmentSet)
        reporter.say(
            f"{kind} to learn from: {len(data.train):,}; development: {len(data.dev):,}; "
            f"labels: {', '.join(model.labels)}"
        )
        return data

    def initialize(self, network: ClassifierModel, data: TrainData, reporter: Reporter) -> None:
        initialize_embeddings(network, data.run.training, data.tokenizers, reporter)
        assert isinstance(data.train, LabeledBatches)
        if isinstance(data.train.rows[0], np.ndarray):
            network.set_scale(*series_scale(cast("list[Series]", data.train.rows)))

    def store(self, folder: Path, data: TrainData) -> None:
        assert isinstance(data.train, LabeledBatches)
        assert isinstance(data.dev, LabeledDevelopmentSet)
        write_corpus(folder, data.train.tensors("train") | data.dev.examples.tensors("dev"))

    def restore(self, folder: Path, run: Run, tokenizers: Tokenizers) -> TrainData:
        tensors, _ = read_corpus(folder)
        labels = cast("ClassifierSettings", run.model).labels
        with matching(folder / "checkpoints" / CORPUS):
            train, dev = (LabeledBatches.from_tensors(tensors, n, run) for n in ("train", "dev"))
        return TrainData(run, train, LabeledDevelopmentSet(dev, labels), tokenizers)

    def objective(
        self, run: Run, network: ClassifierModel, batch: LabeledBatch, scale: float
    ) -> Tensor:
        logits = network(batch).float()
        smoothing = run.training.label_smoothing
        loss = F.cross_entropy(logits, batch.labels, reduction="sum", label_smoothing=smoothing)
        return loss * scale + span_loss(run, network, batch, scale)

    def example(self, run: Run) -> list[str]:
        return ["…" if self.reads_text(run) else "series.npz"]

    def num_parameters(self, run: Run) -> int:
        return 0  # unknown before the files are read; classifiers are small

    def describe_purpose(self, run: Run) -> str:
        return "labels texts" if self.reads_text(run) else "labels series"

    def describe_input(self, run: Run) -> str:
        channels = cast("ClassifierSettings", run.model).channels
        if not channels:
            return super().describe_input(run)
        return f"Series of {len(channels)} channels: {', '.join(channels)}."

    def describe_validation(self, dev: Mapping[str, Any]) -> list[tuple[str, str]]:
        if not dev:
            return []
        rows = [("accuracy (development set)", f"{dev['accuracy']:.1%}")]
        for name, label in dev["labels"].items():
            figures = f"{label['precision']:.3f}, {label['recall']:.3f}, {label['f1']:.3f}"
            rows.append(
                (f"{name}: precision, recall, F1", f"{figures} ({label['count']} examples)")
            )
        return rows
