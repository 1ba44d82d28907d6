"""A classifier's run: from labelled files to a model folder, or from a folder on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from typing import Any, cast

import numpy as np
import torch

from regard.config import ClassifierSettings, Run
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
from regard.formats.series import SeriesFile, in_order, is_series, numbered, read_series
from regard.models.build import build
from regard.models.classifier.batch import Series
from regard.models.classifier.network import ClassifierModel
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
from regard.training.loop import Trainer
from regard.training.prepare import one_tokenizer
from regard.training.report import Reporter
from regard.training.run_files import check_new_folder, figures, resume_from, write_files
from regard.training.run_state import Outcome

Files = Sequence[str | PathLike[str]]
Rows = list[list[int]] | list[Series]
DEV = "the development set"


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


def prepare_classes(
    files: Files, dev_files: Files, run: Run, encoding: str = "utf-8"
) -> PreparedClasses:
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
) -> PreparedClasses:
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
        one = one_tokenizer(texts, run.text, run.source_language, run.training.seed)
        tokenizers = Tokenizers(one, one)

    def made(part: Content) -> ClassExamples:
        labels = [names.index(label) for label in part.labels]
        return examples_of(_encoded(part, tokenizers, run), labels, run)

    return PreparedClasses(run, tokenizers, made(train), ClassDev(made(dev)))


def read_content(files: Files, run: Run, encoding: str = "utf-8") -> Content:
    """The labelled texts or series of files, all of one sort."""
    asked = run.model.input  # type: ignore[union-attr]  # a classifier's
    sorts = {is_series(path) for path in files} if asked == "auto" else {asked == "series"}
    if len(sorts) > 1:
        raise InputError(f"{_named(files)}: some hold series and some text; give one sort.")
    if True in sorts:
        return _joined([(path, read_series(path)) for path in files])
    examples, _ = clean_labelled(one for path in files for one in read_labelled(path, encoding))
    if not examples:
        raise InputError(f"{_named(files)}: no labelled text is in it.")
    return Content([one.text for one in examples], [one.label for one in examples])


def train_classifier(
    folder: Path,
    prepared: PreparedClasses,
    reporter: Reporter | None = None,
    spent: float = 0.0,
) -> Outcome:
    """Train a new classifier into `folder`, which must not hold a model."""
    run = prepared.run
    check_new_folder(folder)
    trainer = class_trainer(run, prepared, folder, reporter, spent)
    folder.mkdir(parents=True, exist_ok=True)
    if run.model.input == "text":  # type: ignore[union-attr]  # a classifier's
        save_tokenizers(folder, prepared.tokenizers, run.text.unit)
    store_examples(folder, prepared.examples, prepared.dev.examples)
    save_run(folder, run)
    return _trained(trainer, folder, run)


def resume_classifier(folder: Path, run: Run, reporter: Reporter | None = None) -> Outcome:
    """Go on with the run in `folder`, with the settings given."""
    assert isinstance(run.model, ClassifierSettings)
    tokenizers = no_tokenizers() if run.model.input == "series" else load_tokenizers(folder)
    train, dev = stored_examples(folder, run)
    prepared = PreparedClasses(run, tokenizers, train, ClassDev(dev))
    trainer = class_trainer(run, prepared, folder, reporter)
    if not resume_from(trainer, folder, reporter):
        return trainer.outcome(finished=True)
    save_run(folder, run)
    return _trained(trainer, folder, run)


def class_trainer(
    run: Run,
    prepared: PreparedClasses,
    folder: Path | None,
    reporter: Reporter | None = None,
    spent: float = 0.0,
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
        tensorboard=run.training.tensorboard and folder is not None, spent=spent,
    )  # fmt: skip


def _trained(trainer: Trainer, folder: Path, run: Run) -> Outcome:
    """Train, then write what is known of the model."""
    outcome = trainer.train()
    if outcome.finished:
        write_files(folder, run, figures(trainer, outcome))
    return outcome


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
