"""The command line: `regard COMMAND …`, one module per command, loaded only when it is called.

A command module has `configure(parser)` and `run(arguments) -> int`; one whose flags depend on each
other has `parse(arguments)` instead of `configure`. Nothing is imported that loads torch, so that
`--help` is fast.
"""

from __future__ import annotations

import argparse
import importlib
import io
import os
import sys
import warnings
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from regard.errors import InputError, InputWarning
from regard.version import __version__

COMMANDS = {
    "align": "link the words of a text and its translation, with a model or without",
    "bench": "measure error, time and memory of the attention mechanisms",
    "classify": "label texts or series with a classifier, and show what decided",
    "compare": "compare two models or outputs, overall and by sentence length",
    "completion": "print a script that completes commands and flags in bash, zsh or fish",
    "corpus": "write sentences of the built-in grammar, or series with a planted cause",
    "data": "clean sentence pairs; make new ones with a model",
    "demo": "train a translator of the built-in language pair in minutes, and look inside",
    "export": "write a model for onnxruntime, transformers or CTranslate2",
    "evaluate": "score a model, translations or word links against a reference",
    "fill": "predict [MASK] tokens with a masked language model",
    "generate": "continue a text with a language model",
    "import": "make a model folder of a MarianMT model",
    "info": "show what a model folder contains",
    "inspect": "show every head's attention over a text on one HTML page",
    "serve": "serve models over HTTP: LibreTranslate's API, and a page that shows attention",
    "study": "measure a claim about attention, and draw it",
    "trace": "follow one word through a model: every number, step by step",
    "train": "train a model on text",
    "translate": "translate text with a model",
    "vectors": "train word vectors; find nearest words and analogies",
    "watch": "show the curves and samples of a training on a page, while it runs",
}


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; bad input gives one sentence on stderr and exit code 2."""
    given = list(sys.argv[1:] if argv is None else argv)
    debug = "--debug" in given
    given = [argument for argument in given if argument != "--debug"]
    if not given:
        _parser(None).print_help()
        return 0
    _use_utf8()
    with warnings.catch_warnings():
        warnings.showwarning = _show_warnings(warnings.showwarning)
        return _run(given, debug)


def _run(given: list[str], debug: bool) -> int:
    """Run one command; returns its exit code."""
    try:
        arguments = _parse(given)
        code = int(arguments.run(arguments))
        sys.stdout.flush()  # before returning, so that a closed pipe is caught below
        return code
    except BrokenPipeError:  # as with `| head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 128 + 13
    except (InputError, OSError) as error:
        if debug:
            raise
        print(f"regard: {error_sentence(error)}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("regard: stopped.", file=sys.stderr)
        return 130


def _show_warnings(default: Callable[..., None]) -> Callable[..., None]:
    """Show warnings about input as one sentence, and all others as usual."""

    def show(message: Warning | str, category: type[Warning], *rest: Any, **options: Any) -> None:
        if issubclass(category, InputWarning):
            print(f"regard: {message}", file=sys.stderr)
        else:
            default(message, category, *rest, **options)

    return show


def error_sentence(error: Exception) -> str:
    """The error as one sentence; an error of the system begins with the file's name."""
    if not isinstance(error, OSError) or not error.strerror:
        return str(error)
    reason = error.strerror[0].lower() + error.strerror[1:]
    return f"{error.filename}: {reason}." if error.filename else f"{reason}."


def _use_utf8() -> None:
    r"""Write UTF-8 to files and pipes, whatever the terminal's encoding is.

    A byte of an argument that is not UTF-8 is written as \udcff, which JSON reads.
    """
    if isinstance(sys.stdout, io.TextIOWrapper):
        encoding = None if sys.stdout.isatty() else "utf-8"
        sys.stdout.reconfigure(encoding=encoding, errors="backslashreplace")


def _parse(given: list[str]) -> argparse.Namespace:
    """The parsed arguments of the command, with its `run`."""
    name = given[0]
    if name in COMMANDS:
        module = importlib.import_module(f"regard.cli.{name}")
        if hasattr(module, "parse"):
            parsed: argparse.Namespace = module.parse(given[1:])
            return parsed
    return _parser(name).parse_args(given)


def command_modules(called: str | None) -> dict[str, tuple[str, str]]:
    """Return help and module of each command; those of kinds of model if none of ours is called."""
    commands = {name: (line, f"regard.cli.{name}") for name, line in COMMANDS.items()}
    if called in commands or called == "--version":
        return commands
    from regard.tasks import KINDS

    return commands | KINDS.commands()


class Parser(argparse.ArgumentParser):
    """Accepts no abbreviated flags, so that a new flag never changes an old command."""

    def __init__(self, *positional: Any, **options: Any) -> None:
        super().__init__(*positional, **{"allow_abbrev": False, **options})

    def error(self, message: str) -> NoReturn:
        """Exit with one sentence, as for every other bad input."""
        self.exit(2, f"regard: {message}; see `{self.prog} --help`.\n")


def _parser(command: str | None) -> argparse.ArgumentParser:
    """The parser, with the arguments of the command that is called."""
    parser = Parser(
        prog="regard",
        description="A toolkit for attention models: train them, run them fast, look inside.",
        epilog="`regard COMMAND --help` shows the options of a command; --debug shows tracebacks.",
    )
    parser.add_argument("--version", action="version", version=f"regard {__version__}")
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
    for name, (text, path) in command_modules(command).items():
        sub = commands.add_parser(name, help=text, description=text[0].upper() + text[1:] + ".")
        if name == command:
            module = importlib.import_module(path)
            module.configure(sub)
            sub.set_defaults(run=module.run)
    return parser
