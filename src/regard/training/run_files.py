"""The files of a run: checks of a new folder, the stored corpus, metrics and the model card."""

from __future__ import annotations

import json
import os
import shlex
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from torch import Tensor

from regard.command import command
from regard.config import Run
from regard.config.stored import CONFIG, METRICS, load_metrics
from regard.errors import InputError
from regard.folder import CARD, WEIGHTS, load_weights, save_metrics, save_run, save_weights
from regard.storage import check_name, checksum, replace_file
from regard.training.checkpoint import matching
from regard.training.loop import Trainer, TrainOutcome
from regard.training.report import Reporter, clock
from regard.training.task import Task
from regard.version import __version__

BYTES = 4 * 4  # of a weight in a checkpoint: itself, its mean, and Adam's two moments
CORPUS, NOTES, CHECKSUMS = "corpus.safetensors", "dev.json", "checksums.json"


def check_new_folder(folder: Path) -> None:
    """Raise an error if `folder` holds a model."""
    if (folder / CONFIG).exists():
        raise InputError(
            f"{folder}: a model is in it already; continue with "
            f"`{command('train', '--resume', folder)}`, or give another --out."
        )


def check_place(folder: Path) -> None:
    """Raise an error if a new model cannot be written to `folder`: its name, a file, read-only."""
    check_name(folder)
    home = _existing(folder)
    if not home.is_dir():
        raise InputError(f"{home}: this is a file; give a folder as --out.")
    if not os.access(home, os.W_OK | os.X_OK):
        raise InputError(f"{home}: this folder cannot be written to; give another --out.")


def check_disk(folder: Path, run: Run, task: Task) -> None:
    """Raise an error if there is no space for a new model in `folder`."""
    need = BYTES * task.num_parameters(run) * (run.training.keep + 2)  # written before one goes
    free = shutil.disk_usage(_existing(folder)).free
    if free < need:
        raise InputError(
            f"{folder}: the model and its checkpoints take about {need / 1e6:,.0f} MB, but "
            f"{free / 1e6:,.0f} MB are free there; free some, or give another --out."
        )


def _existing(folder: Path) -> Path:
    """The folder, or the nearest one around it that is there."""
    return next(path for path in (folder, *folder.absolute().parents) if path.exists())


def write_corpus(folder: Path, tensors: Mapping[str, Tensor], notes: Any = None) -> None:
    """Write the data of a run, with checksums, into `checkpoints/`; `notes` are plain values."""
    home = folder / "checkpoints"
    home.mkdir(exist_ok=True)
    save_weights(home / CORPUS, tensors)
    names = [CORPUS]
    if notes is not None:
        replace_file(home / NOTES, json.dumps(notes, ensure_ascii=False) + "\n")
        names.append(NOTES)
    sums = {name: checksum(home / name) for name in names}
    replace_file(home / CHECKSUMS, json.dumps(sums, indent=1) + "\n")


def read_corpus(folder: Path) -> tuple[dict[str, Tensor], Any]:
    """Read what `write_corpus` wrote; damaged files are an error."""
    home = folder / "checkpoints"
    if not (home / CORPUS).is_file():
        raise InputError(
            f"{folder}: the data of the run are not in it ({home / CORPUS}), so it cannot be "
            "resumed; `regard train` begins a new one."
        )
    noted = (home / NOTES).is_file()
    _verify(home, [CORPUS, NOTES] if noted else [CORPUS])
    with matching(home / NOTES):
        notes = json.loads((home / NOTES).read_text("utf-8")) if noted else None
    return load_weights(home / CORPUS), notes


def _verify(home: Path, names: list[str]) -> None:
    """Raise an error if a file has another checksum; runs before 0.2 have none."""
    if not (home / CHECKSUMS).is_file():
        return
    try:
        sums = json.loads((home / CHECKSUMS).read_text("utf-8"))
        wrong = [name for name in {*names, *sums} if checksum(home / name) != sums[name]]
    except (ValueError, KeyError, TypeError, RecursionError):
        wrong = [CHECKSUMS]
    if wrong:
        raise InputError(
            f"{home / wrong[0]}: the file is damaged (its checksum is not the one that was noted), "
            "so the run cannot be resumed; restore it from a copy, or begin a new run."
        )


def drop_damaged_weights(folder: Path, reporter: Reporter) -> None:
    """Remove weights of a run that cannot be read: its next validation writes them again."""
    try:
        if (folder / WEIGHTS).exists():
            load_weights(folder / WEIGHTS)
    except InputError:
        reporter.say(f"{folder / WEIGHTS}: the file is damaged; the run is going to write it anew.")
        (folder / WEIGHTS).unlink()


def announce_resume(trainer: Trainer, folder: Path, resumed: bool) -> bool:
    """Whether the run continues; else it is over. Print from where, or how to extend it."""
    step, settings = trainer.state.step, trainer.settings
    described = (folder / METRICS).is_file() and load_metrics(folder).get("steps") == step
    complete = described and (folder / WEIGHTS).is_file()
    if not (trainer.stopping.has_ended(trainer.state) and complete):
        trainer.reporter.say(f"Continuing after update {step}." if resumed else "Starting anew.")
        return True
    if settings.minutes is not None:
        more = ("--minutes", f"{2 * settings.minutes:g}")
    elif settings.steps is not None:
        more = ("--training.steps", f"{2 * settings.steps}")
    else:
        more = ("--training.epochs", f"{2 * (settings.epochs or 1):g}")
    trainer.reporter.say(
        f"This run has come to its end after {step:,} updates. To train it further:\n"
        f"  {command('train', '--resume', folder, *more)}"
    )
    return False


def metrics_of(trainer: Trainer, outcome: TrainOutcome) -> dict[str, Any]:
    """Return the figures of a finished run, for metrics.json."""
    skipped = trainer.state.num_skipped
    return {
        "train_sentences": len(trainer.data.train),
        "parameters": sum(p.numel() for p in trainer.network.parameters()),
        "steps": outcome.step,
        "epochs": outcome.epochs,
        "seconds": outcome.seconds,
        "tokens_per_second": outcome.tokens_per_second,
        "precision": trainer.updater.precision,
        "threads": trainer.updater.num_threads,
        **({"skipped_updates": skipped} if skipped else {}),
        "dev": outcome.validation,
    }


def write_description(folder: Path, run: Run, task: Task, metrics: Mapping[str, Any]) -> None:
    """Write config.yaml, the model card and, last, metrics.json: with it the run is complete."""
    save_run(folder, run)
    replace_file(folder / CARD, model_card(folder.resolve().name, run, task, metrics))
    save_metrics(folder, metrics)


def model_card(name: str, run: Run, task: Task, metrics: Mapping[str, Any]) -> str:
    """Return the README.md of a model folder: what it is, how it was made, how good it is."""
    kind, hidden = task.kind, ("kind", "max_length", "labels", "channels")
    languages = f" ({run.languages})" if run.languages else ""
    size = ", ".join(
        f"{key} {value}" for key, value in vars(run.model).items() if key not in hidden
    )
    figures = [
        ("training sentences", f"{metrics['train_sentences']:,}"),
        ("parameters", f"{metrics['parameters']:,}"),
        ("updates", f"{metrics['steps']:,} ({metrics['epochs']:.1f} epochs)"),
        ("training time", clock(metrics["seconds"])),
        *task.describe_validation(metrics.get("dev", {})),
    ]
    rows = "\n".join(f"| {label} | {text} |" for label, text in figures)
    return f"""# {name}

A {kind.name} model that {task.describe_purpose(run)}{languages}, trained with regard {__version__}.

| | |
|---|---|
{rows}

Model: {size}.
{task.describe_input(run)}

Use it:

    {shlex.join(["regard", kind.command, *task.example(run), "--model", "."])}

The development figures are of sentences that the model was not trained on, and of the kind it was
trained on: on other text it will do worse. All settings are in `config.yaml`.
"""
