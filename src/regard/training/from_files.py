"""A new run from files: read, choose a size, prepare, train."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path

import torch

from regard.config import Run
from regard.config.attention import check_ranks
from regard.config.settings import ENDS, Settings, resolved
from regard.errors import InputError
from regard.models.build import build
from regard.tasks.classification.prepare import prepare_classes, train_classifier
from regard.tasks.handwriting.training import prepare_lines
from regard.training.loop import END_SECONDS, END_SHARE
from regard.training.prepare import Texts, prepare, read_texts
from regard.training.ranks import ALONE, Ranks
from regard.training.report import Reporter, corpus_table
from regard.training.run import train
from regard.training.run_files import check_new_folder
from regard.training.run_state import Outcome
from regard.training.size import choose_size, estimate, too_large

FILES = {
    "classifier": "label, tab and text in each line (.tsv), or series (.npz or .jsonl)",
    "lm": "plain text, a sentence a line",
    "mlm": "plain text, a sentence a line",
}
"""What a kind of model learns from, if not from pairs."""
BYTES = 4 * 4  # of a parameter in a checkpoint: itself, its mean, and Adam's two moments


@dataclass(frozen=True)
class TrainRequest:
    """What a new run is made from.

    given   settings by section, over those of the preset
    preset  tiny, small or base; None: chosen from the corpus and the time budget
    """

    files: Sequence[str | PathLike[str]]
    out: Path
    dev: Sequence[str | PathLike[str]] = ()
    given: Settings = field(default_factory=dict)
    preset: str | None = None
    encoding: str = "utf-8"


def train_from_files(
    request: TrainRequest, reporter: Reporter, ranks: Ranks = ALONE, started: float | None = None
) -> Outcome:
    """Train a new model; its time budget begins at `started` (time.monotonic())."""
    started = time.monotonic() if started is None else started
    run = resolved(request.given, request.preset or "small")
    check_ranks(run.model)
    kind = run.model.kind
    if not request.files and kind != "handwriting":  # it has strokes of its own to learn from
        sorts = FILES.get(kind, "one of pairs, or two aligned ones")
        raise InputError(f"give the files to learn from: {sorts}.")
    check_out(request.out, run)
    if kind == "handwriting":
        return _train_handwriting(request, run, reporter, started)
    if kind == "classifier":
        return _train_classifier(request, run, reporter, started)
    return _train_text(request, run, reporter, ranks, started)


def check_out(folder: Path, run: Run) -> None:
    """An error if a new model cannot be written to `folder`: taken, not writable, no space."""
    check_new_folder(folder)
    home = next(path for path in (folder, *folder.absolute().parents) if path.exists())
    if not home.is_dir():
        raise InputError(f"{home}: this is a file; give a folder as --out.")
    if not os.access(home, os.W_OK | os.X_OK):
        raise InputError(f"{home}: this folder cannot be written to; give another --out.")
    if run.model.kind in ("classifier", "handwriting"):  # small, and sized by what files hold
        return
    with torch.device("meta"):
        network = build(run.model, run.text.vocab_size, run.text.vocab_size)
    numbers = sum(parameter.numel() for parameter in network.parameters())
    need = BYTES * numbers * (run.training.keep + 2)  # one is written before another goes
    free = shutil.disk_usage(home).free
    if free < need:
        raise InputError(
            f"{folder}: the model and its checkpoints take about {need / 1e6:,.0f} MB, but "
            f"{free / 1e6:,.0f} MB are free there; free some, or give another --out."
        )


def _train_text(
    request: TrainRequest, run: Run, reporter: Reporter, ranks: Ranks, started: float
) -> Outcome:
    texts = read_texts(request.files, request.dev, run, request.encoding)
    run = _sized(request, texts, run, reporter, started)
    prepared = prepare(texts, run)
    reporter.say(corpus_table(texts.report, len(prepared.examples), len(prepared.dev.examples)))
    if texts.report.dropped["tokens"]:
        reporter.say(
            f"To keep sentences of more than {run.model.max_length} tokens, raise "
            "--model.max_length, or cut them with --cleaning.truncate true."
        )
    sizes = (len(prepared.tokenizers.source), len(prepared.tokenizers.target))
    shared = prepared.tokenizers.shared
    reporter.say(
        f"vocabulary: {sizes[0]:,} tokens{' shared' if run.text.shared else ''}" if shared
        else f"vocabularies: {sizes[0]:,} and {sizes[1]:,} tokens"
    )  # fmt: skip
    spent = time.monotonic() - started
    return train(request.out, prepared.run, prepared, reporter, ranks, spent)


def _sized(
    request: TrainRequest, texts: Texts, run: Run, reporter: Reporter, started: float
) -> Run:
    """The settings, of the preset asked for or of the one that suits the corpus and the budget."""
    training = request.given.get("training") or {}
    minutes = training.get("minutes")
    budget = None
    if minutes is not None:
        end = min(END_SECONDS, END_SHARE * 60 * minutes)
        budget = max(1.0, 60 * minutes - end - (time.monotonic() - started))
    if request.preset is None:
        size = choose_size(texts, request.given, budget)
        reporter.say(size.line)
        return size.run
    others = any(training.get(end) is not None for end in ENDS if end != "minutes")
    if budget is not None and not others:
        asked = estimate(request.preset, texts, request.given, vocabulary=False)
        warning = too_large(asked, texts, request.given, budget)
        if warning:
            reporter.say(warning)
    return run


def _train_handwriting(
    request: TrainRequest, run: Run, reporter: Reporter, started: float
) -> Outcome:
    prepared = prepare_lines([*map(Path, request.files)], [*map(Path, request.dev)], run)
    reporter.say(
        f"lines to learn from: {len(prepared.examples):,} ({sum(prepared.examples.lengths):,} "
        f"points); development: {len(prepared.dev.examples):,}"
    )
    spent = time.monotonic() - started
    return train(request.out, prepared.run, prepared, reporter, spent=spent)


def _train_classifier(
    request: TrainRequest, run: Run, reporter: Reporter, started: float
) -> Outcome:
    prepared = prepare_classes(request.files, request.dev, run, request.encoding)
    model = prepared.run.model
    channels: Sequence[str] = getattr(model, "channels", ())
    labels: Sequence[str] = getattr(model, "labels", ())
    sort = f"series of {len(channels)} channels" if channels else "texts"
    reporter.say(
        f"{sort} to learn from: {len(prepared.examples):,}; development: "
        f"{len(prepared.dev.examples):,}; labels: {', '.join(labels)}"
    )
    return train_classifier(request.out, prepared, reporter, time.monotonic() - started)
