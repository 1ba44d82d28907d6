"""A classifier's run: from labelled files to a model folder, or from a folder on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from typing import Any, cast

import numpy as np
import torch

from regard.config import Classifier, Run
from regard.corpus.labelled import check_labels, clean_labelled, split_labelled
from regard.errors import InputError
from regard.folder import (
    Tokenizers,
    load_tokenizers,
    no_tokenizers,
    save_run,
    save_tokenizers,
)
from regard.formats.labelled import read_labelled
from regard.formats.series import SeriesFile, is_series, read_series
from regard.models.build import build
from regard.models.classifier import ClassifierModel
from regard.models.classifier_batch import Series
from regard.training.book import check_empty, figures, take_up, write_down
from regard.training.checkpoint import LATEST
from regard.training.class_dev import ClassDev
from regard.training.class_examples import (
    ClassExamples,
    examples_of,
    series_scale,
    store_examples,
    stored_examples,
)
from regard.training.first_vectors import begin_with_vectors
from regard.training.loop import Outcome, Trainer
from regard.training.prepare import one_tokenizer
from regard.training.report import Reporter

Files = Sequence[str | PathLike[str]]
Rows = list[list[int]] | list[Series]


@dataclass(frozen=True)
class PreparedClasses:
    """All that a run is made of; `run` has the labels, channels and input that the files showed."""

    run: Run
    tokenizers: Tokenizers
    examples: ClassExamples
    dev: ClassDev


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


def prepare_classes(files: Files, dev_files: Files, run: Run) -> PreparedClasses:
    """Read files, find out their labels and channels, and encode them."""
    found = read_content([*files], run)
    if dev_files:
        train, dev = found, read_content([*dev_files], run)
    else:
        check_labels(found.labels, _named(files))
        keys = [row if isinstance(row, str) else row.tobytes() for row in found.rows]
        parts = split_labelled(found.labels, keys, run.training.seed)
        train, dev = found.part(parts[0]), found.part(parts[1])
    return prepare_content(train, dev, run, _named(files))


def prepare_content(train: Content, dev: Content, run: Run, place: str) -> PreparedClasses:
    """The same from what files hold."""
    names = check_labels(train.labels, place)
    unknown = sorted(set(dev.labels) - set(names))
    if unknown:
        raise InputError(f"the label {unknown[0]!r} is in the development set alone; {place}.")
    run = replace(run, model=_resolved(run, train, dev, names))
    tokenizers = no_tokenizers()
    if not train.channels:
        texts = cast("list[str]", train.rows)
        one = one_tokenizer(texts, run.text, run.source_language, run.training.seed)
        tokenizers = Tokenizers(one, one)

    def made(part: Content) -> ClassExamples:
        labels = [names.index(label) for label in part.labels]
        return examples_of(_encoded(part, tokenizers, run), labels, run)

    return PreparedClasses(run, tokenizers, made(train), ClassDev(made(dev)))


def read_content(files: Files, run: Run) -> Content:
    """The labelled texts or series of files, all of one sort."""
    asked = run.model.input  # type: ignore[union-attr]  # a classifier's
    sorts = {is_series(path) for path in files} if asked == "auto" else {asked == "series"}
    if len(sorts) > 1:
        raise InputError(f"{_named(files)}: some hold series and some text; give one sort.")
    if True in sorts:
        return _joined([(path, read_series(path)) for path in files])
    examples, _ = clean_labelled(one for path in files for one in read_labelled(path))
    if not examples:
        raise InputError(f"{_named(files)}: no labelled text is in it.")
    return Content([one.text for one in examples], [one.label for one in examples])


def train_classifier(
    folder: Path, prepared: PreparedClasses, reporter: Reporter | None = None
) -> Outcome:
    """Train a new classifier into `folder`, which must not hold a model."""
    run = prepared.run
    check_empty(folder)
    trainer = class_trainer(run, prepared, folder, reporter)
    folder.mkdir(parents=True, exist_ok=True)
    if run.model.input == "text":  # type: ignore[union-attr]  # a classifier's
        save_tokenizers(folder, prepared.tokenizers, run.text.unit)
    store_examples(folder, prepared.examples, prepared.dev.examples)
    save_run(folder, run)
    return _trained(trainer, folder, run)


def resume_classifier(folder: Path, run: Run, reporter: Reporter | None = None) -> Outcome:
    """Go on with the run in `folder`, with the settings given."""
    assert isinstance(run.model, Classifier)
    tokenizers = no_tokenizers() if run.model.input == "series" else load_tokenizers(folder)
    train, dev = stored_examples(folder, run)
    prepared = PreparedClasses(run, tokenizers, train, ClassDev(dev))
    trainer = class_trainer(run, prepared, folder, reporter)
    take_up(trainer, folder, reporter)
    save_run(folder, run)
    return _trained(trainer, folder, run)


def class_trainer(
    run: Run, prepared: PreparedClasses, folder: Path | None, reporter: Reporter | None = None
) -> Trainer:
    """The loop over a new network, whose series are scaled as those that it learns from."""
    torch.manual_seed(run.training.seed)
    network = build(run.model, len(prepared.tokenizers.source), len(prepared.tokenizers.target))
    assert isinstance(network, ClassifierModel)
    if isinstance(prepared.examples.rows[0], np.ndarray):
        network.measure(*series_scale(cast("list[Series]", prepared.examples.rows)))
    if folder is None or not (folder / LATEST).exists():  # else its weights are in a checkpoint
        begin_with_vectors(network, run.training, prepared.tokenizers, reporter)
    return Trainer(
        network, run, prepared.tokenizers, prepared.examples, prepared.dev, folder, reporter,
        tensorboard=run.training.tensorboard and folder is not None,
    )  # fmt: skip


def _trained(trainer: Trainer, folder: Path, run: Run) -> Outcome:
    """Train, then write what is known of the model."""
    outcome = trainer.train()
    if outcome.finished:
        write_down(folder, run, figures(trainer, outcome))
    return outcome


def _resolved(run: Run, train: Content, dev: Content, names: tuple[str, ...]) -> Classifier:
    """The model's settings with what the files showed; what contradicts them is an error."""
    model = run.model
    assert isinstance(model, Classifier)
    if model.labels and set(names) - set(model.labels):
        extra = ", ".join(sorted(set(names) - set(model.labels)))
        raise InputError(f"model.labels does not name {extra}, which the files have.")
    if len(dev.channels) != len(train.channels):
        raise InputError(
            f"the development set has {len(dev.channels)} channels, but what is learned from has "
            f"{len(train.channels)}; give both the same."
        )
    return replace(
        model, input="series" if train.channels else "text", labels=names, channels=train.channels
    )


def _encoded(part: Content, tokenizers: Tokenizers, run: Run) -> Rows:
    model = run.model
    assert isinstance(model, Classifier)
    if not part.channels:
        texts = (tokenizers.source.encode(cast("str", text)) for text in part.rows)
        return [ids[: model.max_length] for ids in texts]
    series = cast("list[Series]", part.rows)
    longest = max(row.shape[1] for row in series)
    check_series(model, longest)
    return series


def check_series(model: Classifier, moments: int) -> None:
    """An error if a series is longer than the model holds."""
    tokens = -(-moments // model.patch) if model.tokens == "time" else len(model.channels)
    if tokens > model.max_length:
        raise InputError(
            f"a series of {moments} moments makes {tokens} tokens, but the model holds "
            f"{model.max_length}; raise model.patch or model.max_length."
        )


def _joined(files: list[tuple[Any, SeriesFile]]) -> Content:
    """The series of several files, which must have the same channels."""
    first = files[0][1]
    count = len(first.rows[0])
    for path, file in files:
        if file.labels is None:
            raise InputError(f"{path}: the series have no labels (y); they are what is learned.")
        if len(file.rows[0]) != count or (file.channels or first.channels) != first.channels:
            raise InputError(f"{path}: its channels are not those of {files[0][0]}; give the same.")
    names = first.channels or tuple(f"ch{number}" for number in range(count))
    rows = [row for _, file in files for row in file.rows]
    return Content(rows, [label for _, file in files for label in file.labels or ()], names)


def _named(files: Files) -> str:
    return ", ".join(map(str, files))
