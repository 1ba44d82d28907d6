"""The files of a run, whatever its kind of model: before it, on resuming, after it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from regard.command import command
from regard.config import Run
from regard.config.stored import CONFIG, METRICS
from regard.errors import InputError
from regard.folder import CARD, WEIGHTS, save_metrics, save_run
from regard.storage import replace_file
from regard.training.card import card
from regard.training.loop import Trainer
from regard.training.report import Reporter, Silent
from regard.training.run_state import Outcome


def check_new_folder(folder: Path) -> None:
    """A new run needs a folder without a model."""
    if (folder / CONFIG).exists():
        raise InputError(
            f"{folder}: a model is in it already; go on with "
            f"`{command('train', '--resume', folder)}`, or give another --out."
        )


def resume_from(trainer: Trainer, folder: Path, reporter: Reporter | None) -> bool:
    """Whether the run goes on, from the newest checkpoint; else it is over and its model written.

    Either is said: from where it goes on, or how to extend it.
    """
    resumed = trainer.resume(folder)
    if not trainer.is_over() or not all((folder / name).is_file() for name in (METRICS, WEIGHTS)):
        said = f"Going on after update {trainer.state.step}." if resumed else "Beginning anew."
        (reporter or Silent()).say(said)
        return True
    settings = trainer.settings
    if settings.minutes is not None:
        more = ("--minutes", f"{2 * settings.minutes:g}")
    elif settings.steps is not None:
        more = ("--training.steps", f"{2 * settings.steps}")
    else:
        more = ("--training.epochs", f"{2 * (settings.epochs or 1):g}")
    (reporter or Silent()).say(
        f"This run has come to its end after {trainer.state.step:,} updates. To train it further:\n"
        f"  {command('train', '--resume', folder, *more)}"
    )
    return False


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
