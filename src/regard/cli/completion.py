"""`regard completion SHELL`: a script that completes commands, their flags and choices.

It is made of the parsers of all commands; `cli/completion_scripts.py` writes it for each shell.
"""

from __future__ import annotations

import argparse
import importlib
from collections.abc import Iterable, Iterator

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
    """The flags of `regard train`: its own, and every setting of every kind of model."""
    from regard.cli.option_flags import help_of_flag
    from regard.cli.train_flags import TrainFlags
    from regard.config.schema import Option, options_of
    from regard.config.settings import PRESETS, SECTIONS, choices_of, setting_options
    from regard.tasks import KINDS

    flags = {"--help": Flag(("-h", "--help"), "show the common flags and exit")}

    def add(flag: str, option: Option, text: str, choices: Iterable[str]) -> None:
        takes_value = option.type is not bool or "." in flag
        older = flags.get(flag, Flag((flag,), text, takes_value))
        listed = tuple(dict.fromkeys((*older.choices, *choices)))
        flags[flag] = older._replace(choices=listed)

    given = {"preset": PRESETS, "kind": tuple(KINDS)}
    for name, option in options_of(TrainFlags).items():
        add(option.flag, option, help_of_flag(option), given.get(name, ()))
    sections = [*SECTIONS.items(), *(("model", kind.settings) for kind in KINDS.values())]
    for section, settings in sections:
        for name, option in setting_options(settings).items():
            switch = ["true", "false"] if option.type is bool else []
            add(f"--{section}.{name}", option, option.help, choices_of(option) or switch)
    return list(flags.values())
