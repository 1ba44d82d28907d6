"""Training of classifiers: from labelled texts or series."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from typing import Any, cast

import numpy as np
from torch import Tensor, nn
from torch.nn import functional as F

from regard.config import ClassifierSettings, Run
from regard.corpus.labelled import check_labels, clean_labelled, split_labelled
from regard.errors import InputError
from regard.folder import Tokenizers, no_tokenizers
from regard.formats.labelled import read_labelled
from regard.formats.series import SeriesFile, in_order, is_series, numbered, read_series
from regard.models.classifier import ClassifierModel
from regard.models.classifier_batch import Series
from regard.tasks.classification.examples import (
    ClassExamples,
    examples_of,
    series_scale,
    store_examples,
    stored_examples,
)
from regard.tasks.classification.validation import ClassDev
from regard.tasks.text.objective import span_loss
from regard.tasks.text.task import train_tokenizer
from regard.training.report import Reporter
from regard.training.task import Task, TrainData, TrainRequest
from regard.vectors.initialize import initialize_embeddings

Files = Sequence[str | PathLike[str]]
Rows = list[list[int]] | list[Series]
DEV = "the development set"


@dataclass(frozen=True)
class Content:
    """What files hold: texts or series (C, T), and their labels."""

    rows: list[str] | list[Series]
    labels: list[str]
    channels: tuple[str, ...] = ()

    def part(self, places: Sequence[int]) -> Content:
        """Some of it."""
        rows: Any = [self.rows[n] for n in places]
        return Content(rows, [self.labels[n] for n in places], self.channels)


class ClassificationTask(Task):
    """Trains a classifier of texts or series."""

    def build(self, settings: Any, source_vocab: int, target_vocab: int) -> nn.Module:
        """Return a network with random weights."""
        return ClassifierModel(settings, source_vocab)

    def prepare(
        self, request: TrainRequest, run: Run, reporter: Reporter, started: float
    ) -> TrainData:
        """Read labelled texts or series."""
        data = prepare_classes(request.files, request.dev, run, request.encoding)
        model, dev = settings_of(data.run), cast("ClassDev", data.dev)
        sort = f"series of {len(model.channels)} channels" if model.channels else "texts"
        reporter.say(
            f"{sort} to learn from: {len(data.train):,}; development: "
            f"{len(dev.examples):,}; labels: {', '.join(model.labels)}"
        )
        return data

    def store(self, folder: Path, data: TrainData) -> None:
        """Write the examples."""
        dev = cast("ClassDev", data.dev)
        store_examples(folder, cast("ClassExamples", data.train), dev.examples)

    def restore(self, folder: Path, run: Run, tokenizers: Tokenizers) -> TrainData:
        """Read what `store` wrote."""
        train, dev = stored_examples(folder, run)
        return TrainData(run, train, ClassDev(dev, settings_of(run).labels), tokenizers)

    def objective(self, run: Run, network: Any, batch: Any, scale: float) -> Tensor:
        """Return the cross-entropy of every example's label."""
        scores, smoothing = network(batch).float(), run.training.label_smoothing
        loss = F.cross_entropy(scores, batch.labels, reduction="sum", label_smoothing=smoothing)
        return loss * scale + span_loss(run, network, batch, scale)

    def reads_text(self, run: Run) -> bool:
        """Whether the model folder has tokenizers."""
        return settings_of(run).input != "series"

    def initialize(self, network: Any, data: TrainData, reporter: Reporter) -> None:
        """Scale series as those of the corpus; begin with the word vectors that settings name."""
        rows = cast("ClassExamples", data.train).rows
        if isinstance(rows[0], np.ndarray):
            network.measure(*series_scale(cast("list[Series]", rows)))
        initialize_embeddings(network, data.run.training, data.tokenizers, reporter)

    def num_parameters(self, run: Run) -> int:
        """Not known before the files are read; classifiers are small."""
        return 0

    def example(self, run: Run) -> list[str]:
        """Return arguments to try `regard classify` with."""
        return ["series.npz"] if settings_of(run).channels else ["…"]

    def describe_input(self, run: Run) -> str:
        """Describe in one sentence what the model reads, for the model card."""
        channels = settings_of(run).channels
        if channels:
            return f"Series of {len(channels)} channels: {', '.join(channels)}."
        return super().describe_input(run)

    def describe_validation(self, dev: Mapping[str, Any]) -> list[tuple[str, str]]:
        """Return labels and values of the validation's figures, for the model card."""
        if not dev:
            return []
        rows = [("accuracy (development set)", f"{dev['accuracy']:.1%}")]
        for label, scores in dev["labels"].items():
            figures = ", ".join(f"{scores[name]:.3f}" for name in ("precision", "recall", "f1"))
            rows.append(
                (f"{label}: precision, recall, F1", f"{figures} ({scores['count']} examples)")
            )
        return rows


def settings_of(run: Run) -> ClassifierSettings:
    """Return the settings of a classifier's run."""
    assert isinstance(run.model, ClassifierSettings)
    return run.model


def prepare_classes(files: Files, dev_files: Files, run: Run, encoding: str = "utf-8") -> TrainData:
    """Read files, find out their labels and channels, and encode them."""
    found = read_content([*files], run, encoding)
    if dev_files:
        train, dev = found, read_content([*dev_files], run, encoding)
    else:
        check_labels(found.labels, _named(files))
        keys = [row if isinstance(row, str) else row.tobytes() for row in found.rows]
        parts = split_labelled(found.labels, keys, run.training.seed)
        train, dev = found.part(parts[0]), found.part(parts[1])
    return prepare_content(train, dev, run, _named(files), _named(dev_files) or DEV)


def prepare_content(
    train: Content, dev: Content, run: Run, place: str, dev_place: str = DEV
) -> TrainData:
    """The same from what files hold."""
    model = _resolved(run, train, place)
    names = model.labels
    unknown = sorted(set(dev.labels) - set(names))
    if unknown:
        raise InputError(
            f"{dev_place}: the label {unknown[0]!r} is not among those learned from ({place}); "
            "add examples of it, or take it out."
        )
    dev = _like(train, dev, dev_place)
    run = replace(run, model=model)
    tokenizers = no_tokenizers()
    if not train.channels:
        texts = cast("list[str]", train.rows)
        one = train_tokenizer(texts, run.text, run.source_language, run.training.seed)
        tokenizers = Tokenizers(one, one)

    def made(part: Content) -> ClassExamples:
        labels = [names.index(label) for label in part.labels]
        return examples_of(_encoded(part, tokenizers, run), labels, run)

    return TrainData(run, made(train), ClassDev(made(dev), names), tokenizers)


def read_content(files: Files, run: Run, encoding: str = "utf-8") -> Content:
    """The labelled texts or series of files, all of one sort."""
    asked = settings_of(run).input
    sorts = {is_series(path) for path in files} if asked == "auto" else {asked == "series"}
    if len(sorts) > 1:
        raise InputError(f"{_named(files)}: some hold series and some text; give one sort.")
    if True in sorts:
        return _joined([(path, read_series(path)) for path in files])
    examples, _ = clean_labelled(one for path in files for one in read_labelled(path, encoding))
    if not examples:
        raise InputError(f"{_named(files)}: no labelled text is in it.")
    return Content([one.text for one in examples], [one.label for one in examples])


def _resolved(run: Run, train: Content, place: str) -> ClassifierSettings:
    """The model's settings with what the files showed; what contradicts them is an error.

    Labels that the settings name keep their order, and may be ones that no example has yet.
    """
    model = run.model
    assert isinstance(model, ClassifierSettings)
    names = check_labels(train.labels, place)
    if model.labels and set(names) - set(model.labels):
        extra = ", ".join(sorted(set(names) - set(model.labels)))
        raise InputError(f"model.labels does not name {extra}, which the files have.")
    return replace(
        model,
        input="series" if train.channels else "text",
        labels=model.labels or names,
        channels=train.channels,
    )


def _like(train: Content, dev: Content, place: str) -> Content:
    """The development set with its channels in the order of what is learned from."""
    if bool(dev.channels) != bool(train.channels):
        sorts = ("text", "series") if train.channels else ("series", "text")
        raise InputError(f"{place}: it holds {sorts[0]}, but {sorts[1]} is learned; give the same.")
    rows: Any = dev.rows
    if train.channels:
        rows = in_order(rows, dev.channels, train.channels, place)
    if len(dev.channels) != len(train.channels):
        raise InputError(
            f"{place}: it has {len(dev.channels)} channels, but what is learned from has "
            f"{len(train.channels)}; give both the same."
        )
    return Content(rows, dev.labels, train.channels)


def _encoded(part: Content, tokenizers: Tokenizers, run: Run) -> Rows:
    model = run.model
    assert isinstance(model, ClassifierSettings)
    if not part.channels:
        texts = (tokenizers.source.encode(cast("str", text)) for text in part.rows)
        return [ids[: model.max_length] for ids in texts]
    series = cast("list[Series]", part.rows)
    longest = max(row.shape[1] for row in series)
    check_series(model, longest)
    return series


def check_series(model: ClassifierSettings, moments: int) -> None:
    """An error if a series is longer than the model holds."""
    tokens = -(-moments // model.patch) if model.tokens == "time" else len(model.channels)
    if tokens > model.max_length:
        raise InputError(
            f"a series of {moments} moments makes {tokens} tokens, but the model holds "
            f"{model.max_length}; raise model.patch or model.max_length."
        )


def _joined(files: list[tuple[Any, SeriesFile]]) -> Content:
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
    return Content(rows, labels, names)


def _named(files: Files) -> str:
    return ", ".join(map(str, files))
