"""`regard info`: what a model folder holds, told without loading the model."""

from __future__ import annotations

import argparse
import json
import math
from pathlib import Path
from typing import Any

from regard.cli.model import use_of
from regard.command import command
from regard.config import FORMAT_VERSION, Run
from regard.config.attention import unused_settings
from regard.config.settings import names_of
from regard.config.stored import load_run
from regard.errors import InputError


def configure(parser: argparse.ArgumentParser) -> None:
    """Add this command's arguments."""
    parser.add_argument("folder", metavar="DIR", help="folder of the model")
    parser.add_argument("--json", action="store_true", help="print all of it as JSON")


def run(arguments: argparse.Namespace) -> int:
    """Tell."""
    found = described(Path(arguments.folder))
    if arguments.json:
        print(json.dumps(found, ensure_ascii=False))
    else:
        _print(found)
    return 0


def described(folder: Path) -> dict[str, Any]:
    """What is known of a folder, in plain values."""
    run = load_run(folder)
    hidden = {"kind", *unused_settings(run.model)}
    settings = {n: getattr(run.model, n) for n in names_of(type(run.model)) if n not in hidden}
    return {
        "folder": str(folder),
        "format_version": FORMAT_VERSION,
        "kind": run.model.kind,
        "command": use_of(run.model.kind),
        "languages": run.languages,
        "model": settings,
        "parameters": parameters(folder / "model.safetensors"),
        "text": vars(run.text),
        "vocabulary": vocabulary(folder),
        "bytes": sum(path.stat().st_size for path in folder.glob("*") if path.is_file()),
        "training": _training(run),
        "metrics": _metrics(folder),
        "alignment": vars(run.alignment) if run.alignment else None,
        "checkpoint": checkpoint(folder),
        "resumable": (folder / "checkpoints" / "corpus.safetensors").is_file(),
    }


def parameters(weights: Path) -> int | None:
    """How many numbers a file of weights holds, by its header; None if there is none yet."""
    if not weights.is_file():
        return None
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(weights, framework="numpy") as file:
            shapes = [file.get_slice(name).get_shape() for name in file.keys()]  # noqa: SIM118 (no dict: it has keys alone)
            return sum(int(math.prod(shape)) for shape in shapes)
    except SafetensorError as error:
        raise InputError(f"{weights}: the weights cannot be read ({error}).") from error


def vocabulary(folder: Path) -> dict[str, int]:
    """The number of tokens of each tokeniser in a folder, by its file's name."""
    from regard.text import load

    files = sorted([*folder.glob("tokenizer*.model"), *folder.glob("tokenizer*.json")])
    return {path.name: len(load(path)) for path in files}


def checkpoint(folder: Path) -> int | None:
    """The update after which the newest checkpoint was written; None if there is none."""
    found = (folder / "checkpoints").glob("step-*/state.json")
    numbers = [path.parent.name.removeprefix("step-") for path in found]
    return max((int(number) for number in numbers if number.isdigit()), default=None)


def _training(run: Run) -> dict[str, Any]:
    """How it is trained: what ends a run, and what most decides about it."""
    names = (
        "minutes", "steps", "epochs", "batch_tokens", "accumulate", "optimizer", "learning_rate",
        "schedule", "warmup", "label_smoothing", "average", "seed",
    )  # fmt: skip
    settings = vars(run.training)
    return {name: settings[name] for name in names}


def _metrics(folder: Path) -> dict[str, Any] | None:
    """What was measured at the end of training; None before it."""
    path = folder / "metrics.json"
    if not path.is_file():
        return None
    try:
        read: dict[str, Any] = json.loads(path.read_text("utf-8"))
    except ValueError as error:
        raise InputError(f"{path}: this is not JSON ({error}).") from error
    return read


def _print(found: dict[str, Any]) -> None:
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    table = Table(box=None, show_header=False, padding=(0, 2, 0, 0))
    table.add_column(style="bold", no_wrap=True)
    table.add_column(overflow="fold")
    for label, value in _rows(found):
        table.add_row(label, escape(value))
    Console(highlight=False).print(table)


def _rows(found: dict[str, Any]) -> list[tuple[str, str]]:
    """Labels and values for people."""
    sizes = ", ".join(f"{name} {value}" for name, value in found["model"].items())
    tokens = ", ".join(f"{number:,} ({name})" for name, number in found["vocabulary"].items())
    rows = [
        ("folder", f"{found['folder']} ({found['bytes'] / 1e6:,.1f} MB)"),
        ("kind", f"{found['kind']}; use it with `regard {found['command']}`"),
        ("languages", found["languages"] or "not named"),
        ("model", sizes),
        ("parameters", "none yet" if found["parameters"] is None else f"{found['parameters']:,}"),
        ("tokens", f"{found['text']['unit']}: {tokens or 'no tokeniser'}"),
        ("training", ", ".join(f"{k} {v}" for k, v in found["training"].items() if v is not None)),
    ]
    metrics = found["metrics"]
    if metrics is None:
        rows.append(("trained", "not to its end yet"))
    else:
        rows.append(
            (
                "trained",
                f"{metrics['train_sentences']:,} sentences, {metrics['steps']:,} updates, "
                f"{metrics['epochs']:.1f} epochs, {metrics['seconds'] / 60:.1f} minutes",
            )
        )
        dev = {k: v for k, v in (metrics.get("dev") or {}).items() if isinstance(v, float)}
        rows.append(("development", ", ".join(f"{k} {v:.2f}" for k, v in dev.items()) or "none"))
    if found["alignment"]:
        rows.append(("alignment", _alignment(found["alignment"])))
    where = found["checkpoint"]
    state = f"from update {where}" if where is not None else "from its beginning"
    again = command("train", "--resume", found["folder"])
    text = f"{state}: {again}" if found["resumable"] else "no"
    rows.append(("can go on", text))
    return rows


def _alignment(chosen: dict[str, Any]) -> str:
    head = "mean of heads" if chosen["head"] is None else f"head {chosen['head']}"
    row = "input" if chosen["shift"] else "predicting"
    mutual = ", best from both sides" if chosen["mutual"] else ""
    return f"read from layer {chosen['layer']}, {head}, {row} row{mutual}"
