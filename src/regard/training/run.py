"""A whole run, from files to a model folder, or from a folder on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import torch

from regard.config import ClassifierSettings, HandwritingSettings, Run
from regard.config.attention import check_ranks
from regard.config.stored import load_run
from regard.folder import (
    Tokenizers,
    load_tokenizers,
    save_run,
    save_tokenizers,
)
from regard.models.build import Network, build
from regard.tasks.classification.prepare import resume_classifier
from regard.tasks.handwriting.training import (
    Lines,
    PreparedLines,
    store_lines,
    stored_lines,
)
from regard.training.aligner import choose_alignment
from regard.training.checkpoint import LATEST
from regard.training.dev import Dev, Looking
from regard.training.examples import Examples, is_paired
from regard.training.first_vectors import begin_with_vectors
from regard.training.loop import Trainer
from regard.training.prepare import Prepared
from regard.training.ranks import ALONE, Ranks
from regard.training.report import Reporter
from regard.training.run_files import check_new_folder, figures, resume_from, write_files
from regard.training.run_state import Outcome
from regard.training.stored import store, stored


def new_network(run: Run, tokenizers: Tokenizers) -> Network:
    """A network with first weights drawn from the run's seed."""
    torch.manual_seed(run.training.seed)
    return build(run.model, len(tokenizers.source), len(tokenizers.target))


def train(
    folder: Path,
    run: Run,
    prepared: Prepared | PreparedLines,
    reporter: Reporter | None = None,
    ranks: Ranks = ALONE,
    spent: float = 0.0,
) -> Outcome:
    """Train a new model into `folder`, which must not hold one.

    `spent` seconds of the time budget went into preparing.
    """
    check_ranks(run.model)
    check_new_folder(folder)
    network = new_network(run, prepared.tokenizers)  # settings that do not fit say so here
    begin_with_vectors(network, run.training, prepared.tokenizers, reporter)
    folder.mkdir(parents=True, exist_ok=True)
    save_tokenizers(folder, prepared.tokenizers, run.text.unit)
    if isinstance(prepared, PreparedLines):
        store_lines(folder, prepared.examples, prepared.dev)
    else:
        store(folder, prepared.examples, prepared.dev)
    save_run(folder, run)
    ranks.wait()  # now the others find what they need in the folder
    trainer = _trainer(
        network, run, prepared.tokenizers, prepared.examples, prepared.dev, folder, reporter,
        ranks, spent,
    )  # fmt: skip
    return _trained(trainer, folder, run)


def follow(folder: Path, ranks: Ranks, run: Run | None = None) -> Outcome:
    """Take part in the run that the leader begins in `folder`, or goes on with (if `run` is given).

    Nothing is written and nothing is said.
    """
    resumed = run is not None
    ranks.wait()
    run = run or load_run(folder)
    tokenizers = load_tokenizers(folder)
    examples, _ = stored(folder, run)
    network = new_network(run, tokenizers)
    trainer = Trainer(network, run, tokenizers, examples, ranks=ranks)
    if not (resumed and trainer.resume(folder)):
        begin_with_vectors(network, run.training, tokenizers)
    return trainer.train()


def resume(
    folder: Path, run: Run, reporter: Reporter | None = None, ranks: Ranks = ALONE
) -> Outcome:
    """Go on with the run in `folder`, with the settings given (usually those of `load_run`)."""
    if isinstance(run.model, ClassifierSettings):
        return resume_classifier(folder, run, reporter)
    check_ranks(run.model)
    tokenizers = load_tokenizers(folder)
    written = isinstance(run.model, HandwritingSettings)
    examples, dev = stored_lines(folder, run) if written else stored(folder, run)
    network = new_network(run, tokenizers)
    if not (folder / LATEST).is_file():  # else its words have come further already
        begin_with_vectors(network, run.training, tokenizers, reporter)
    trainer = _trainer(network, run, tokenizers, examples, dev, folder, reporter, ranks)
    ranks.wait()
    if not resume_from(trainer, folder, reporter) and ranks.number == 1:
        return trainer.outcome(finished=True)
    save_run(folder, run)
    return _trained(trainer, folder, run)


def _trainer(
    network: Network,
    run: Run,
    tokenizers: Tokenizers,
    examples: Examples | Lines,
    dev: Looking,
    folder: Path,
    reporter: Reporter | None,
    ranks: Ranks,
    spent: float = 0.0,
) -> Trainer:
    return Trainer(
        network,
        run,
        tokenizers,
        examples,
        dev,
        folder,
        reporter,
        tensorboard=run.training.tensorboard,
        ranks=ranks,
        spent=spent,
    )


def _trained(trainer: Trainer, folder: Path, run: Run) -> Outcome:
    """Train, then write what is known of the model."""
    outcome = trainer.train()
    if outcome.finished:
        describe(folder, run, trainer, outcome)
    return outcome


def describe(folder: Path, run: Run, trainer: Trainer, outcome: Outcome) -> Mapping[str, Any]:
    """Choose how alignment is read, and write config.yaml, metrics.json and the card."""
    metrics = figures(trainer, outcome)
    examples = trainer.examples
    trainer.reporter.say("Choosing the attention that aligns words best, and writing the model …")
    if is_paired(run.model) and isinstance(trainer.dev, Dev) and isinstance(examples, Examples):
        chosen = choose_alignment(
            trainer.network, run, trainer.tokenizers, trainer.dev.pairs, examples
        )
        if chosen is not None:
            run = replace(run, alignment=chosen[0])
            metrics["alignment"] = {
                **asdict(chosen[0]), "agreement": chosen[1].agreement,
            }  # fmt: skip
    write_files(folder, run, metrics)
    return metrics
