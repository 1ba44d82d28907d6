"""The model that a command is given: its flags, and the model itself if it is of the right kind."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, cast

from regard.config.stored import load_run
from regard.errors import InputError

if TYPE_CHECKING:
    from regard.translator import Classifier, Filler, Generator, Penman, Translator

USES = {"lm": "generate", "mlm": "fill", "handwriting": "write", "classifier": "classify"}
"""The command for each kind of model that does not translate."""


def add_model(parser: argparse.ArgumentParser, *, required: bool = True) -> None:
    """Add `--model` and `--threads`."""
    parser.add_argument("--model", metavar="DIR", required=required, help="folder of the model")
    parser.add_argument(
        "--threads", metavar="N", type=positive, default=0, help="processor cores to use (all)"
    )


def use_of(kind: str) -> str:
    """The command that uses a kind of model."""
    return USES.get(kind, "translate")


def open_translator(folder: str, threads: int = 0) -> Translator:
    """The translator in a folder."""
    return cast("Translator", _opened(folder, "translate", threads))


def open_generator(folder: str, threads: int = 0) -> Generator:
    """The language model in a folder."""
    return cast("Generator", _opened(folder, "generate", threads))


def open_filler(folder: str, threads: int = 0) -> Filler:
    """The masked model in a folder."""
    return cast("Filler", _opened(folder, "fill", threads))


def open_penman(folder: str, threads: int = 0) -> Penman:
    """The model in a folder that writes by hand."""
    return cast("Penman", _opened(folder, "write", threads))


def open_classifier(folder: str, threads: int = 0) -> Classifier:
    """The classifier in a folder."""
    return cast("Classifier", _opened(folder, "classify", threads))


def _opened(
    folder: str, command: str, threads: int
) -> Translator | Generator | Filler | Penman | Classifier:
    """What a folder holds, once it is known to be of the kind that the command uses."""
    _check(folder, command)
    from regard.translator import load

    _limit(threads)
    return load(folder, threads=threads)


def positive(word: str) -> int:
    """A whole number of at least 1, from the command line."""
    try:
        number = int(word)
    except ValueError:
        raise argparse.ArgumentTypeError(f"must be a whole number, but {word!r} came") from None
    if number < 1:
        raise argparse.ArgumentTypeError(f"must be at least 1, but {word} came")
    return number


def _check(folder: str, use: str) -> None:
    """An error, before torch is loaded, if the model is of a kind that another command uses."""
    kind = load_run(folder).model.kind
    if use_of(kind) != use:
        raise InputError(
            f"{folder}: this is a model of the kind {kind}; use it with "
            f"`regard {use_of(kind)} … --model {folder}`."
        )


def _limit(threads: int) -> None:
    if threads:
        import torch

        torch.set_num_threads(threads)
