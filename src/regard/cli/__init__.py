"""The command line: `regard COMMAND …`, one file per command, loaded only when it is called.

A command module has `configure(parser)` and `run(arguments) -> int`; one whose flags depend on each
other has `parse(words)` instead of `configure`. Nothing here imports torch, so that `--help`
answers at once.
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
    "bench": "measure error, time and memory of the attention mechanisms",
    "classify": "label texts or series with a classifier, and see what decided",
    "compare": "tell which of two models or outputs is better, and where",
    "corpus": "write sentences of the built-in grammar, or series with a planted cause",
    "demo": "learn the built-in language pair in minutes, and look inside",
    "evaluate": "score a model, or translations, against a reference",
    "fill": "guess hidden words with a masked model",
    "generate": "go on with a text by a language model",
    "info": "tell what a model folder holds",
    "inspect": "look inside a model: every head's attention over a text, on one page",
    "serve": "translate for others: LibreTranslate's HTTP API, and a look inside",
    "train": "learn a model from text",
    "translate": "translate text with a model",
    "vectors": "learn word vectors, find near words and analogies",
    "write": "write text by hand, and see which letter the pen was at",
}


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; bad input gives one sentence on stderr and exit code 2."""
    words = list(sys.argv[1:] if argv is None else argv)
    debug = "--debug" in words
    words = [word for word in words if word != "--debug"]
    if not words:
        _parser(None).print_help()
        return 0
    _speak_utf8()
    with warnings.catch_warnings():
        warnings.showwarning = _warned(warnings.showwarning)
        return _run(words, debug)


def _run(words: list[str], debug: bool) -> int:
    """Run one command; its exit code."""
    try:
        arguments = _parsed(words)
        code = int(arguments.run(arguments))
        sys.stdout.flush()  # here, where a reader that is gone can be told from an error
        return code
    except BrokenPipeError:  # as with `| head`: nobody reads on
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 128 + 13
    except (InputError, OSError) as error:
        if debug:
            raise
        print(f"regard: {_told(error)}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("regard: stopped.", file=sys.stderr)
        return 130


def _warned(usual: Callable[..., None]) -> Callable[..., None]:
    """Shows our own warnings as one sentence, and all others as usual."""

    def show(message: Warning | str, category: type[Warning], *place: Any, **more: Any) -> None:
        if issubclass(category, InputWarning):
            print(f"regard: {message}", file=sys.stderr)
        else:
            usual(message, category, *place, **more)

    return show


def _told(error: Exception) -> str:
    """One sentence; what the system refused begins with the file's name."""
    if not isinstance(error, OSError) or not error.strerror:
        return str(error)
    reason = error.strerror[0].lower() + error.strerror[1:]
    return f"{error.filename}: {reason}." if error.filename else f"{reason}."


def _speak_utf8() -> None:
    """Text for files and pipes is UTF-8, whatever the terminal's encoding is."""
    if isinstance(sys.stdout, io.TextIOWrapper) and not sys.stdout.isatty():
        sys.stdout.reconfigure(encoding="utf-8")


def _parsed(words: list[str]) -> argparse.Namespace:
    """The arguments of the one command that is called, with its `run`."""
    name = words[0]
    if name in COMMANDS:
        module = importlib.import_module(f"regard.cli.{name}")
        if hasattr(module, "parse"):
            parsed: argparse.Namespace = module.parse(words[1:])
            return parsed
    return _parser(name).parse_args(words)


def _commands(called: str | None) -> dict[str, tuple[str, str]]:
    """Return help and module of each command; those of kinds of model if none of ours is called."""
    commands = {name: (line, f"regard.cli.{name}") for name, line in COMMANDS.items()}
    if called in commands or called == "--version":
        return commands
    from regard.tasks import KINDS

    return commands | KINDS.commands()


class Parser(argparse.ArgumentParser):
    """Takes flags by their whole names only, so that a new flag never changes an old command."""

    def __init__(self, *words: Any, **options: Any) -> None:
        super().__init__(*words, **{"allow_abbrev": False, **options})

    def error(self, message: str) -> NoReturn:
        """One sentence, as for every other bad input."""
        self.exit(2, f"regard: {message}; `{self.prog} --help` says more.\n")


def _parser(command: str | None) -> argparse.ArgumentParser:
    """The parser, with the arguments of the one command that is called."""
    parser = Parser(
        prog="regard",
        description="A toolkit for attention models: train them, run them fast, see inside.",
        epilog="`regard COMMAND --help` says more. --debug shows tracebacks.",
    )
    parser.add_argument("--version", action="version", version=f"regard {__version__}")
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
    for name, (line, path) in _commands(command).items():
        sub = commands.add_parser(name, help=line, description=line[0].upper() + line[1:] + ".")
        if name == command:
            module = importlib.import_module(path)
            module.configure(sub)
            sub.set_defaults(run=module.run)
    return parser
