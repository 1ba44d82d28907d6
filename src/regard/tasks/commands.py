"""Arguments that commands share, and loading of the model that a command is given."""

from __future__ import annotations

import argparse
from typing import Any

from regard.config.schema import LARGEST
from regard.errors import InputError
from regard.tasks import KINDS, load_run


def add_model(
    parser: argparse.ArgumentParser, *, required: bool = True, several: bool = False
) -> None:
    """Add `--model`, which may be `several`, and `--threads`."""
    parser.add_argument(
        "--model",
        metavar="DIR",
        required=required,
        action="append" if several else "store",
        help="folder of the model" + "; several models translate together" * several,
    )
    parser.add_argument(
        "--threads", metavar="N", type=positive, default=0, help="processor cores to use (all)"
    )


def add_engine(parser: argparse.ArgumentParser) -> None:
    """Add `--engine` and `--precision`."""
    parser.add_argument(
        "--engine",
        choices=("auto", "ctranslate2", "torch"),
        default="auto",
        help="what searches: CTranslate2 wherever it can (auto), or always one of them",
    )
    parser.add_argument(
        "--precision",
        choices=("auto", "int8", "fp32"),
        default="auto",
        help="of CTranslate2; auto: int8 if it was measured to translate as well",
    )


def open_model(
    model: str | list[str],
    command: str,
    threads: int = 0,
    engine: str = "auto",
    precision: str = "auto",
) -> Any:
    """Load the model in a folder, or in several, if it is of a kind that the command uses."""
    folders = [model] if isinstance(model, str) else model
    runs = list(map(load_run, folders))
    for folder, run in zip(folders, runs, strict=True):
        kind = KINDS[run.model.kind]
        if kind.command != command:  # known before torch is loaded
            raise InputError(
                f"{folder}: this is a model of the kind {kind.name}; use it with "
                f"`regard {kind.command} … --model {folder}`."
            )
    if threads:
        import torch

        torch.set_num_threads(threads)
    from regard.tasks import load

    if len(folders) > 1:
        return load(folders, threads=threads, engine=engine, precision=precision)
    return load(folders[0], threads=threads, run=runs[0], engine=engine, precision=precision)


def positive(word: str) -> int:
    """Parse a whole number of at least 1."""
    try:
        number = int(word)
    except ValueError:
        raise argparse.ArgumentTypeError(f"must be a whole number, got {word!r}") from None
    if number < 1:
        raise argparse.ArgumentTypeError(f"must be at least 1, got {word}")
    if number > LARGEST:
        raise argparse.ArgumentTypeError(f"must be at most {LARGEST}, got {word}")
    return number
