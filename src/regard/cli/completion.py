"""`regard completion SHELL`: a script that completes commands, their flags and choices.

It is made of the parsers of all commands; `cli/completion_scripts.py` writes it for each shell.
"""

from __future__ import annotations

import argparse
import importlib
import re
import typing
from collections.abc import Iterator

from regard.cli.completion_scripts import SCRIPTS, Flag, Level


def configure(parser: argparse.ArgumentParser) -> None:
    """Add this command's arguments."""
    parser.add_argument("shell", choices=SCRIPTS, help="the shell that is to read the script")


def run(arguments: argparse.Namespace) -> int:
    """Print the script."""
    print(SCRIPTS[arguments.shell](list(levels())), end="")
    return 0


def levels() -> Iterator[Level]:
    """Every command and action: `regard`, `regard train`, `regard vectors learn` …"""
    from regard.cli import Parser, command_modules

    commands = command_modules(None)
    named = {name: line for name, (line, _) in commands.items()}
    top = [
        Flag(("-h", "--help"), "show the options and exit"),
        Flag(("--version",), "show the version and exit"),
    ]
    yield Level("regard", named, top)
    for name, (_, path) in commands.items():
        module = importlib.import_module(path)
        if hasattr(module, "configure"):
            parser = Parser()
            module.configure(parser)
            yield from _levels(f"regard {name}", parser, _studies() if name == "study" else {})
        else:
            yield Level(f"regard {name}", {}, _train_flags())


def _studies() -> dict[str, str]:
    """The names that `regard study` takes, which its parser does not list."""
    from regard.studies import STUDIES

    titles = {name: study.title.en for name, study in STUDIES.items()}
    return {"list": "only list them", "all": "every one", **titles}


def _levels(
    path: str, parser: argparse.ArgumentParser, known: dict[str, str] | None = None
) -> Iterator[Level]:
    """A parser, then those of its actions; `known` are words that it takes."""
    words = dict(known or {})
    flags: list[Flag] = []
    nested: list[tuple[str, argparse.ArgumentParser]] = []
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            words |= {each.dest: each.help or "" for each in action._choices_actions}
            nested += action.choices.items()
        elif action.option_strings:
            choices = tuple(map(str, action.choices or ()))
            names = tuple(action.option_strings)
            flags.append(Flag(names, action.help or "", action.nargs != 0, choices))
        else:
            words |= dict.fromkeys(map(str, action.choices or ()), "")
    yield Level(path, words, flags)
    for name, sub in nested:
        yield from _levels(f"{path} {name}", sub)


def _train_flags() -> list[Flag]:
    """The flags of `regard train`: those of its help, and every setting of every kind of model."""
    from regard.cli.train_help import SHORT, attribute_docs
    from regard.config.settings import (
        PRESETS,
        SECTIONS,
        choices_of,
        is_mechanism,
        model_types,
        names_of,
    )
    from regard.tasks import KINDS

    flags = {"--help": Flag(("-h", "--help"), "show the common flags and exit")}
    for flag, value, line in re.findall(r"^  (--[\w.-]+)(?: (\S+))? {2,}(.*)", SHORT, re.MULTILINE):
        flags[flag] = Flag((flag,), line, bool(value))
    given = {"--preset": tuple(PRESETS), "--model.kind": tuple(KINDS)}
    flags |= {flag: flags[flag]._replace(choices=choices) for flag, choices in given.items()}
    sections = [*SECTIONS.items(), *(("model", kind.settings) for kind in KINDS.values())]
    for name, section in sections:
        docs, types = attribute_docs(section), model_types(section)
        named = {
            key: choices_of(section, key) for key in names_of(section) if is_mechanism(section, key)
        }
        for key, choices in ({key: _choices(types[key]) for key in types} | named).items():
            flag = f"--{name}.{key}"
            older = flags.get(flag, Flag((flag,), docs.get(key, ""), takes_value=True))
            listed = tuple(dict.fromkeys((*older.choices, *choices)))
            flags[flag] = older._replace(choices=listed)
    return list(flags.values())


def _choices(kind: typing.Any) -> list[str]:
    """What a setting of this type may be, if that can be listed."""
    if kind is bool:
        return ["true", "false"]
    literal = typing.get_origin(kind) is typing.Literal
    return list(map(str, typing.get_args(kind))) if literal else []
