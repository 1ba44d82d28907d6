"""The files of a run, whatever its kind of model: before it, on resuming, after it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from regard.config import Run
from regard.config.stored import CONFIG, METRICS
from regard.errors import InputError
from regard.folder import CARD, save_metrics, save_run
from regard.storage import replace_file
from regard.training.card import card
from regard.training.loop import Outcome, Trainer
from regard.training.report import Reporter, Silent


def check_new_folder(folder: Path) -> None:
    """A new run needs a folder without a model."""
    if (folder / CONFIG).exists():
        raise InputError(
            f"{folder}: a model is in it already; go on with `regard train --resume {folder}`, or "
            "give another --out."
        )


def resume_from(trainer: Trainer, folder: Path, reporter: Reporter | None) -> None:
    """Go on from the newest checkpoint, and say from where."""
    resumed = trainer.resume(folder)
    said = f"Going on after update {trainer.state.step}." if resumed else "Beginning anew."
    (reporter or Silent()).say(said)


def is_over(trainer: Trainer, folder: Path, reporter: Reporter | None) -> bool:
    """Whether the run has come to its end and its model is written; then say how to extend it."""
    if not trainer.is_over() or not (folder / METRICS).is_file():
        return False
    settings = trainer.settings
    if settings.minutes is not None:
        more = f"--minutes {2 * settings.minutes:g}"
    elif settings.steps is not None:
        more = f"--training.steps {2 * settings.steps}"
    else:
        more = f"--training.epochs {2 * (settings.epochs or 1):g}"
    (reporter or Silent()).say(
        f"This run has come to its end after {trainer.state.step:,} updates. To train it further:\n"
        f"  regard train --resume {folder} {more}"
    )
    return True


def figures(trainer: Trainer, outcome: Outcome) -> dict[str, Any]:
    """What is known of any run that is over."""
    return {
        "train_sentences": len(trainer.examples),
        "parameters": sum(p.numel() for p in trainer.network.parameters()),
        "steps": outcome.step,
        "epochs": outcome.epochs,
        "seconds": outcome.seconds,
        "tokens_per_second": outcome.tokens_per_second,
        "precision": trainer.precision,
        "threads": trainer.cores,
        "dev": outcome.look,
    }


def write_files(folder: Path, run: Run, metrics: Mapping[str, Any]) -> None:
    """Write config.yaml, metrics.json and the card."""
    save_run(folder, run)
    save_metrics(folder, metrics)
    replace_file(folder / CARD, card(folder.resolve().name, run, metrics))
