"""Training of a classifier: labeled texts or series, and what the training loop needs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from typing import Any, cast

import numpy as np
from torch import Tensor
from torch.nn import functional as F

from regard.config import ClassifierSettings, Run
from regard.corpus.labeled import check_labels, clean_labeled, split_labeled
from regard.errors import InputError
from regard.folder import Tokenizers, no_tokenizers
from regard.formats.labeled import read_labeled
from regard.formats.series import SeriesFile, in_order, is_series, numbered, read_series
from regard.models.classifier.batch import LabeledBatch, Series
from regard.models.classifier.network import ClassifierModel
from regard.tasks.classification.batches import LabeledBatches, LabeledDevelopmentSet, series_scale
from regard.tasks.text.loss import span_loss
from regard.tasks.text.task import train_tokenizer
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
        data = prepare_files(*request.plain_files(), run, request.encoding)
        model = cast("ClassifierSettings", data.run.model)
        kind = f"series of {len(model.channels)} channels" if model.channels else "texts"
        assert isinstance(data.dev, LabeledDevelopmentSet)
        reporter.say(
            f"{kind} to learn from: {len(data.train):,}; development: {len(data.dev):,}; "
            f"labels: {', '.join(model.labels)}"
        )
        return data

    def initialize(self, network: ClassifierModel, data: TrainData, reporter: Reporter) -> None:
        source, target = data.tokenizers.source, data.tokenizers.target
        initialize_embeddings(network, data.run.training, source, target, reporter.say)
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


Files = Sequence[str | PathLike[str]]
DEV = "the development set"


@dataclass(frozen=True)
class LabeledData:
    """Texts or series (C, T) of files, and their labels."""

    rows: list[str] | list[Series]
    labels: list[str]
    channels: tuple[str, ...] = ()

    def select(self, indices: Sequence[int]) -> LabeledData:
        """The examples with these indices."""
        rows: Any = [self.rows[n] for n in indices]
        return LabeledData(rows, [self.labels[n] for n in indices], self.channels)


def prepare_files(files: Files, dev_files: Files, run: Run, encoding: str = "utf-8") -> TrainData:
    """Read files, split off a development set if there is none, and encode both."""
    train = read_examples(files, run, encoding)
    if dev_files:
        dev = read_examples(dev_files, run, encoding)
    else:
        check_labels(train.labels, _joined(files))
        keys = [row if isinstance(row, str) else row.tobytes() for row in train.rows]
        train_rows, dev_rows = split_labeled(train.labels, keys, run.training.seed)
        train, dev = train.select(train_rows), train.select(dev_rows)
    return prepare_examples(train, dev, run, _joined(files), _joined(dev_files) or DEV)


def prepare_examples(
    train: LabeledData, dev: LabeledData, run: Run, name: str, dev_name: str = DEV
) -> TrainData:
    """Complete the settings from the data and encode it; errors use the data's names."""
    model = _completed(run, train, name)
    unknown = sorted(set(dev.labels) - set(model.labels))
    if unknown:
        raise InputError(
            f"{dev_name}: the label {unknown[0]!r} is not among those learned from ({name}); "
            "add examples of it, or take it out."
        )
    dev = _reordered(dev, train, dev_name)
    run = replace(run, model=model)
    tokenizers = no_tokenizers()
    if not train.channels:
        texts = cast("list[str]", train.rows)
        tokenizer = train_tokenizer(texts, run.text, run.source_language, run.training.seed)
        tokenizers = Tokenizers(tokenizer, tokenizer)

    def encoded(part: LabeledData) -> LabeledBatches:
        labels = [model.labels.index(label) for label in part.labels]
        return LabeledBatches(_encode(part, tokenizers, model), labels, run)

    dev_set = LabeledDevelopmentSet(encoded(dev), model.labels)
    return TrainData(run, encoded(train), dev_set, tokenizers)


def read_examples(files: Files, run: Run, encoding: str = "utf-8") -> LabeledData:
    """The labeled texts or series of files, which must all be of the same kind."""
    assert isinstance(run.model, ClassifierSettings)
    data = run.model.input
    kinds = {is_series(path) for path in files} if data == "auto" else {data == "series"}
    if len(kinds) > 1:
        raise InputError(f"{_joined(files)}: some hold series and some text; give only one kind.")
    if True in kinds:
        return _read_series([(path, read_series(path)) for path in files])
    examples, _ = clean_labeled(line for path in files for line in read_labeled(path, encoding))
    if not examples:
        raise InputError(f"{_joined(files)}: no labeled text is in it.")
    return LabeledData([text for text, _ in examples], [label for _, label in examples])


def _completed(run: Run, train: LabeledData, name: str) -> ClassifierSettings:
    """The model's settings with input, labels and channels of the data.

    Labels given in the settings keep their order and may have no examples.
    """
    model = run.model
    assert isinstance(model, ClassifierSettings)
    labels = check_labels(train.labels, name)
    if model.labels and set(labels) - set(model.labels):
        extra = ", ".join(sorted(set(labels) - set(model.labels)))
        raise InputError(f"model.labels does not name {extra}, which the files have.")
    return replace(
        model,
        input="series" if train.channels else "text",
        labels=model.labels or labels,
        channels=train.channels,
    )


def _reordered(dev: LabeledData, train: LabeledData, name: str) -> LabeledData:
    """The development set with its channels in the order of the training set."""
    if bool(dev.channels) != bool(train.channels):
        kinds = ("text", "series") if train.channels else ("series", "text")
        raise InputError(f"{name}: it holds {kinds[0]}, but {kinds[1]} is learned; give the same.")
    rows: Any = dev.rows
    if train.channels:
        rows = in_order(rows, dev.channels, train.channels, name)
    if len(dev.channels) != len(train.channels):
        raise InputError(
            f"{name}: it has {len(dev.channels)} channels, but what is learned from has "
            f"{len(train.channels)}; give both the same."
        )
    return LabeledData(rows, dev.labels, train.channels)


def _encode(
    part: LabeledData, tokenizers: Tokenizers, model: ClassifierSettings
) -> list[list[int]] | list[Series]:
    if not part.channels:
        texts = (tokenizers.source.encode(cast("str", text)) for text in part.rows)
        return [ids[: model.max_length] for ids in texts]
    series = cast("list[Series]", part.rows)
    steps = max(row.shape[1] for row in series)
    tokens = -(-steps // model.patch) if model.tokens == "time" else len(model.channels)
    if tokens > model.max_length:
        raise InputError(
            f"a series of {steps} moments makes {tokens} tokens, but the model holds "
            f"{model.max_length}; raise model.patch or model.max_length."
        )
    return series


def _read_series(files: list[tuple[Any, SeriesFile]]) -> LabeledData:
    """The series of several files, their channels in the order of the first that names them."""
    count = len(files[0][1].rows[0])
    names = next((file.channels for _, file in files if file.channels), numbered(count))
    rows: list[Series] = []
    labels: list[str] = []
    for path, file in files:
        if file.labels is None:
            raise InputError(f"{path}: the series have no labels (y); they are what is learned.")
        rows += in_order(file.rows, file.channels, names, path)
        if len(file.rows[0]) != count:
            raise InputError(f"{path}: its channels are not those of {files[0][0]}; give the same.")
        labels += file.labels
    return LabeledData(rows, labels, names)


def _joined(files: Files) -> str:
    return ", ".join(map(str, files))
