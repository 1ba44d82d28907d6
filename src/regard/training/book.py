"""What is said and written around a run, whatever its kind of model: before, on resuming, after."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from regard.command import command
from regard.config import Run
from regard.config.stored import CONFIG
from regard.errors import InputError
from regard.folder import CARD, save_metrics, save_run
from regard.storage import replace_file
from regard.training.card import card
from regard.training.loop import Outcome, Trainer
from regard.training.report import Reporter, Silent


def check_empty(folder: Path) -> None:
    """A new run needs a folder without a model."""
    if (folder / CONFIG).exists():
        raise InputError(
            f"{folder}: a model is in it already; go on with "
            f"`{command('train', '--resume', folder)}`, or give another --out."
        )


def take_up(trainer: Trainer, folder: Path, reporter: Reporter | None) -> None:
    """Go on from the newest checkpoint, and say from where."""
    begun = trainer.resume(folder)
    said = f"Going on after update {trainer.state.step}." if begun else "Beginning anew."
    if trainer.share() >= 1:
        said = "This run is over; give it more with --minutes or --training.steps."
    (reporter or Silent()).say(said)


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


def write_down(folder: Path, run: Run, metrics: Mapping[str, Any]) -> None:
    """Write config.yaml, metrics.json and the card."""
    save_run(folder, run)
    save_metrics(folder, metrics)
    replace_file(folder / CARD, card(folder.resolve().name, run, metrics))
