"""Flags of commands, from the dataclasses of options: name, type, default, choices and help."""

from __future__ import annotations

import argparse
import typing
from typing import Any

from regard.config.schema import Flag, Option, Range, options_of
from regard.tasks.commands import positive

METAVARS: dict[type, str] = {int: "N", float: "X", str: "TEXT"}
Arguments = argparse.ArgumentParser | argparse._ArgumentGroup


def add_options(
    parser: Arguments, section: Any, *names: str, show_default: bool = False, **helps: str
) -> None:
    """Add the flags of a dataclass's options.

    A flag that is not given is None, so that what is set elsewhere stays. With `show_default` the
    help ends with the default; `helps` are other words for what a command does with an option.
    """
    options = options_of(section)
    for name in (*names, *helps):
        option = options[name]
        text = helps.get(name) or help_of_flag(option)
        if show_default and isinstance(option.default, int | float):
            text += f" ({option.default:g})"
        help_text = text.replace("%", "%%")
        parser.add_argument(option.flag, dest=name, help=help_text, **_reading(option))


def given_options(arguments: argparse.Namespace, section: Any) -> dict[str, Any]:
    """The options of a dataclass whose flags were given."""
    values = {name: getattr(arguments, name, None) for name in options_of(section)}
    return {
        name: tuple(value) if isinstance(value, list) else value
        for name, value in values.items()
        if value is not None
    }


def help_of_flag(option: Option) -> str:
    """The help of an option as commands write it: beginning in lower case, without a period."""
    return option.help[:1].lower() + option.help[1:].rstrip(".")


def _reading(option: Option) -> dict[str, Any]:
    """How argparse reads an option; of a tuple, one item each time that it is given."""
    kinds = typing.get_args(option.type) or (option.type,)
    if bool in kinds:
        return {"action": "store_true", "default": None}
    limits, flag = option.mark(Range), option.mark(Flag)
    if typing.get_origin(option.type) is tuple:
        return {"action": "append", "metavar": flag.metavar if flag else "TEXT"}
    counts = int in kinds and limits is not None and limits.at_least == 1
    kind: type = next(kind for kind in (int, float, str) if kind in kinds)
    metavar = flag.metavar if flag and flag.metavar else METAVARS[kind]
    return {"type": positive if counts else kind, "metavar": metavar}
