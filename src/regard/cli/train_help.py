"""The help of `regard train`: what most runs need, and with `--help-all` every setting."""

from __future__ import annotations

import textwrap
import typing
from typing import Any

from regard.cli.option_flags import help_of_flag
from regard.cli.train_flags import TrainFlags
from regard.config import Kind
from regard.config.mechanisms import MECHANISM_SETTINGS, mechanism_options
from regard.config.schema import Flag, Option, first_sentence, options_of
from regard.config.settings import SECTIONS, Settings, choices_of, is_mechanism
from regard.tasks import KINDS

BESIDE = ("watch_port",)
"""Flags that another one's help has."""

USAGE = """\
usage: regard train FILE… --out DIR [--languages en-fr] [--minutes N] [--preset tiny|small|base]
                    [--SECTION.SETTING VALUE …]
       regard train FILE… --from DIR --out DIR [--minutes N]
       regard train --resume DIR [--minutes N]
"""

SHORT = """
Train a model on your own text. FILE… is one file of pairs (.tsv .txt with tabs, .jsonl .tmx .po
.xliff) or two aligned text files; each may be .gz. What cleaning drops is counted in a table.

{flags}

Examples:
  regard train pairs.tsv --languages en-fr --out model --minutes 10
  regard train train.en train.de --dev dev.en dev.de --languages en-de --out model
  regard train pairs.tsv --languages en-fr --out model --model.kind rnn --model.attention luong
  regard train book.txt --model.kind lm --out model --minutes 20
"""


def short_help() -> str:
    """The flags that most runs need."""
    lines = []
    for name, option in options_of(TrainFlags).items():
        if name not in BESIDE:
            mark = option.mark(Flag)
            head = f"  {option.flag} {mark.metavar if mark else ''}"
            lines.append(_filled(f"{head:<22} {help_of_flag(option)}", 99, " " * 23))
        if name == "kind":
            lines += map(_kind_line, KINDS.values())
    return USAGE + SHORT.format(flags="\n".join(lines))


def _kind_line(kind: Kind) -> str:
    about = f"{first_sentence(kind.settings.__doc__ or '')}; learns from {kind.learns_from}"
    return _filled(f"{' ' * 23}{kind.name:<12} {about}", 98, " " * 36)


def _filled(text: str, width: int, indent: str) -> str:
    return textwrap.fill(text, width, subsequent_indent=indent)


def full_help(settings: Settings) -> str:
    """Return the help of every setting of every section, with its default."""
    kind = settings["model"]["kind"]
    parts = [short_help()]
    for name, section in {"model": KINDS[kind].settings, **SECTIONS}.items():
        of = f" (--model.kind {kind})" if name == "model" else ""
        parts.append(f"\n{name}{of}: {first_sentence(section.__doc__ or '')}")
        values = settings.get(name) or {}
        for option in options_of(section).values():
            if is_mechanism(option):
                parts += _mechanism(name, option, values.get(option.name))
            else:
                parts.append(_setting(name, option, values))
    return "\n".join(parts) + "\n"


def _mechanism(section: str, option: Option, value: Any) -> list[str]:
    """A mechanism of self-attention, and its own settings."""
    choices = choices_of(option)
    flag, value = f"{section}.{option.name}", value or ("same" if "same" in choices else "full")
    name, values = ("same", {}) if value == "same" else mechanism_options(value, flag)
    settings = MECHANISM_SETTINGS.get(name)
    inner = () if settings is None else options_of(settings).values()
    head = _entry(flag, "|".join(choices), name, option)
    return [head, *(_setting(flag, setting, values) for setting in inner)]


def _setting(section: str, option: Option, values: Settings) -> str:
    """One setting: its flag, what it means, what it may be, and what it is by default."""
    default = values.get(option.name, option.default)
    shown = "none" if default is None else str(default)
    shown = shown if option.name == "activation" else shown.lower()
    return _entry(f"{section}.{option.name}", _placeholder(option), shown, option)


def _entry(flag: str, placeholder: str, default: str, option: Option) -> str:
    """A flag with its placeholder and default, and its documentation below."""
    head = f"  --{flag} {placeholder}  ({default})"
    body = textwrap.fill(option.help, 98, initial_indent=" " * 6, subsequent_indent=" " * 6)
    return f"{_wrapped(head)}\n{body}"


def _placeholder(option: Option) -> str:
    """What may stand for a setting: its choices, or a letter for its type."""
    kinds = typing.get_args(option.type) or (option.type,)
    if choices := choices_of(option):
        return "|".join(choices)
    if bool in kinds:
        return "true|false"
    return "N" if {int, float} & set(kinds) else "TEXT"


def _wrapped(head: str) -> str:
    """A flag whose choices are many, on several lines."""
    lines, line = [], ""
    for number, part in enumerate(head.split("|")):
        joined = f"{line}|{part}" if number else part
        if len(joined) > 98:
            lines.append(line + "|")
            joined = " " * 8 + part
        line = joined
    return "\n".join([*lines, line])
