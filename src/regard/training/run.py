"""A whole run: from files to a model folder, or from the folder of an interrupted run."""

from __future__ import annotations

import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import torch
from torch import nn

from regard.config import Run
from regard.config.fine_tuning import new_run
from regard.config.processes import check_ranks
from regard.config.stored import load_run
from regard.errors import InputError
from regard.folder import load_tokenizers, no_tokenizers, save_run, save_tokenizers
from regard.models.build import build_network
from regard.training.checkpoint import has_checkpoint, saving
from regard.training.loop import Trainer, TrainOutcome
from regard.training.processes.launch import note_launch
from regard.training.processes.ranks import ALONE, Ranks
from regard.training.report import Reporter, Silent
from regard.training.run_files import (
    announce_resume,
    check_disk,
    check_new_folder,
    check_place,
    drop_damaged_weights,
    metrics_of,
    write_description,
)
from regard.training.task import Task, TrainData, TrainRequest
from regard.write_lock import sole_writer


def train_from_files(
    task: Task,
    request: TrainRequest,
    reporter: Reporter,
    ranks: Ranks = ALONE,
    started: float | None = None,
) -> TrainOutcome:
    """Train a new model; its time budget begins at `started` (time.monotonic())."""
    started = time.monotonic() if started is None else started
    kind = task.kind
    with ExitStack() as stack:
        with ranks.together():
            run = new_run(request.given, request.preset, {kind.name: kind})
            if run.training.start_from and not task.can_start_from:
                raise InputError(
                    f"a model of the kind {kind.name} cannot be trained --from another."
                )
            if run.training.r_drop and not task.has_r_drop:
                raise InputError(f"training.r_drop is not for the kind {kind.name}; leave it out.")
            check_ranks(run.model, run.training.shard)
            if kind.needs_files and not request.files:
                raise InputError(f"give the files to learn from: {kind.learns_from}.")
            check_place(request.out)
            stack.enter_context(sole_writer(request.out))
            check_new_folder(request.out)
            check_disk(request.out, run, task)
            data = task.prepare(request, run, reporter, started)
        spent = time.monotonic() - started
        return _begun(task, request.out, data, reporter, ranks, spent)


def train(
    task: Task, folder: Path, data: TrainData, reporter: Reporter | None = None
) -> TrainOutcome:
    """Train a new model into `folder`, which must not hold one."""
    with sole_writer(folder):
        return _begun(task, folder, data, reporter or Silent(), ALONE, 0.0)


def _begun(
    task: Task, folder: Path, data: TrainData, reporter: Reporter, ranks: Ranks, spent: float
) -> TrainOutcome:
    """Begin a run in a folder that is locked, and train.

    `spent` seconds of the time budget were used to prepare the data.
    """
    run = data.run
    with ranks.together():
        check_ranks(run.model, run.training.shard)
        check_new_folder(folder)
        network = new_network(task, data)  # settings that do not fit are an error here
        task.initialize(network, data, reporter)
        with saving(folder):
            folder.mkdir(parents=True, exist_ok=True)
            if task.reads_text(run):
                save_tokenizers(folder, data.tokenizers)
            task.store(folder, data)
            note_launch(folder)
            save_run(folder, run)
    with ranks.together():
        pass  # the other processes read the folder
    return _trained(Trainer(task, network, data, folder, reporter, ranks, spent), folder)


def resume(
    task: Task, folder: Path, run: Run, reporter: Reporter | None = None, ranks: Ranks = ALONE
) -> TrainOutcome:
    """Continue the run in `folder` with the settings given (usually its own)."""
    reporter = reporter or Silent()
    with ExitStack() as stack:
        with ranks.together():
            check_ranks(run.model, run.training.shard)
            stack.enter_context(sole_writer(folder))
            data = stored_data(task, folder, run)
            network = new_network(task, data)
            if not has_checkpoint(folder):  # else the weights are in a checkpoint
                task.initialize(network, data, reporter)
            drop_damaged_weights(folder, reporter)
        trainer = Trainer(task, network, data, folder, reporter, ranks)
        (continues,) = ranks.agreed(announce_resume(trainer, folder, trainer.resume(folder)))
        if not continues:
            return trainer.outcome(finished=True)
        with saving(folder):
            save_run(folder, run)
        return _trained(trainer, folder)


def follow(task: Task, folder: Path, ranks: Ranks, run: Run | None = None) -> TrainOutcome:
    """Take part in the run that the leading process begins in `folder`, or resumes (with `run`).

    Nothing is written and nothing is printed.
    """
    resumed = run is not None
    if not resumed:
        for _ in ("prepare the data", "write the folder"):
            with ranks.together():
                pass  # the leader does so
    with ranks.together():
        run = run or load_run(folder, {task.kind.name: task.kind})
        data = stored_data(task, folder, run)
        network = new_network(task, data)  # its weights come from the leader
    trainer = Trainer(task, network, TrainData(run, data.train), ranks=ranks)
    if resumed:
        trainer.resume(folder)
        (continues,) = ranks.agreed(True)
        if not continues:
            return trainer.outcome(finished=True)
    return trainer.train()


def new_network(task: Task, data: TrainData) -> nn.Module:
    """Return a network with random weights drawn from the run's seed."""
    torch.manual_seed(data.run.training.seed)
    tokenizers = data.tokenizers
    sizes = len(tokenizers.source), len(tokenizers.target)
    return build_network(task.build, data.run.model, *sizes)


def stored_data(task: Task, folder: Path, run: Run) -> TrainData:
    """Return the data that the run in `folder` is trained on."""
    tokenizers = load_tokenizers(folder) if task.reads_text(run) else no_tokenizers()
    return task.restore(folder, run, tokenizers)


def _trained(trainer: Trainer, folder: Path) -> TrainOutcome:
    """Train, then write what is known of the model."""
    outcome = trainer.train()
    if outcome.finished:
        with saving(folder):
            describe(trainer, folder, outcome)
    return outcome


def describe(trainer: Trainer, folder: Path, outcome: TrainOutcome) -> dict[str, Any]:
    """Finish a trained model: write config.yaml, metrics.json and the model card."""
    trainer.reporter.say("Writing the model …")
    run, metrics = trainer.task.finish(trainer.network, trainer.data)
    metrics = {**metrics_of(trainer, outcome), **metrics}
    write_description(folder, run, trainer.task, metrics)
    return metrics
