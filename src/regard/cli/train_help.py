"""The help of `regard train`: what most runs need, and with `--help-all` every setting."""

from __future__ import annotations

import textwrap
import typing
from typing import Any

from regard.config.mechanisms import MECHANISM_SETTINGS, mechanism_options, option_names
from regard.config.settings import SECTIONS, Settings, choices_of, is_mechanism, names_of
from regard.tasks import KINDS

USAGE = """\
usage: regard train FILE… --out DIR [--languages en-fr] [--minutes N] [--preset tiny|small|base]
                    [--SECTION.SETTING VALUE …]
       regard train FILE… --from DIR --out DIR [--minutes N]
       regard train --resume DIR [--minutes N]
"""

SHORT = """
Train a model on your own text. FILE… is one file of pairs (.tsv .txt with tabs, .jsonl .tmx .po
.xliff) or two aligned text files; each may be .gz. What cleaning drops is counted in a table.

  --out DIR            folder of the model
  --corpus FILE…       more files, each perhaps with weight and tag: news.tsv:2.0:tag=news is seen
                       twice as often, and its source sentences begin with the token <news>
  --dev FILE…          development set (without it, one is split off by source sentence)
  --languages en-fr    source and target language; of a model of several, each --corpus has its own,
                       as in fr.tsv:en-fr de.tsv:en-de, and `regard translate --to de` asks for one
  --minutes N          time budget, from the start of the command to the written model
  --preset NAME        tiny, small or base; without it, size, vocabulary and batch are chosen from
                       the corpus and the budget, and printed in one line
  --model.kind KIND    kind of model (transformer):
{kinds}
  --from DIR           begin with the model in this folder, keep its vocabulary and settings, and
                       begin a new schedule with a lower learning rate
  --config FILE        settings in YAML, as in a model's config.yaml
  --encoding NAME      encoding of the files (utf-8)
  --resume DIR         continue the run in this folder after Ctrl-C, a crash or its end
  --watch              show curves and sample translations on a page while it trains; the address
                       is printed (--watch-port N: at this port)
  --json               print the model's figures as JSON
  --help-all           every setting; with --model.kind KIND, those of that kind; with
                       --model.attention NAME, those of that attention

Examples:
  regard train pairs.tsv --languages en-fr --out model --minutes 10
  regard train train.en train.de --dev dev.en dev.de --languages en-de --out model
  regard train pairs.tsv --languages en-fr --out model --model.kind rnn --model.attention luong
  regard train book.txt --model.kind lm --out model --minutes 20
"""


def short_help() -> str:
    """The flags that most runs need."""
    kinds = []
    for name, kind in KINDS.items():
        line = _first_sentence(kind.settings.__doc__ or "")
        indent = " " * 36
        text = f"{name:<12} {line}; learns from {kind.learns_from}"
        kinds.append(textwrap.fill(text, 98, initial_indent=" " * 23, subsequent_indent=indent))
    return USAGE + SHORT.format(kinds="\n".join(kinds))


def full_help(settings: Settings) -> str:
    """Return the help of every setting of every section, with its default."""
    kind = settings["model"]["kind"]
    parts = [short_help()]
    for name, section in {"model": KINDS[kind].settings, **SECTIONS}.items():
        of = f" (--model.kind {kind})" if name == "model" else ""
        parts.append(f"\n{name}{of}: {_first_sentence(section.__doc__ or '')}")
        values = settings.get(name) or {}
        for key in names_of(section):
            if is_mechanism(section, key):
                parts += _mechanism(section, key, values.get(key))
            else:
                parts.append(_setting(name, section, key, values))
    return "\n".join(parts) + "\n"


def _mechanism(section: Any, key: str, value: Any) -> list[str]:
    """A mechanism of self-attention, and its own settings."""
    choices = choices_of(section, key)
    value = value or ("same" if "same" in choices else "full")
    name, options = ("same", {}) if value == "same" else mechanism_options(value, f"model.{key}")
    settings = MECHANISM_SETTINGS.get(name)
    names = [] if settings is None else option_names(settings)
    head = _entry(f"model.{key}", "|".join(choices), name, section, key)
    return [head, *(_setting(f"model.{key}", settings, option, options) for option in names)]


def _setting(name: str, section: Any, key: str, values: Settings) -> str:
    """One setting: its flag, what it means, what it may be, and what it is by default."""
    default = values.get(key, getattr(section, key, None))
    shown = "none" if default is None else str(default).lower() if key != "activation" else default
    placeholder = _placeholder(typing.get_type_hints(section)[key])
    return _entry(f"{name}.{key}", placeholder, shown, section, key)


def _entry(flag: str, placeholder: str, default: str, section: Any, key: str) -> str:
    """A flag with its placeholder and default, and its documentation below."""
    doc = " ".join(attribute_docs(section).get(key, "").split())
    head = f"  --{flag} {placeholder}  ({default})"
    body = textwrap.fill(doc, 98, initial_indent=" " * 6, subsequent_indent=" " * 6)
    return f"{_wrapped(head)}\n{body}"


def _placeholder(kind: Any) -> str:
    """What may stand for a setting: its choices, or a letter for its type."""
    choices = typing.get_args(kind)
    if typing.get_origin(kind) is typing.Literal:
        return "|".join(map(str, choices))
    if bool in (choices or (kind,)):
        return "true|false"
    return "N" if {int, float} & set(choices or (kind,)) else "TEXT"


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


def attribute_docs(section: Any) -> dict[str, str]:
    """The docstring of each field of a dataclass, its own over those it inherits."""
    from docstring_parser.attrdoc import add_attribute_docstrings
    from docstring_parser.common import Docstring

    descriptions: dict[str, str] = {}
    for part in reversed(section.__mro__):
        if part.__module__.startswith("regard."):
            docs = Docstring()
            add_attribute_docstrings(part, docs)
            descriptions |= {param.arg_name: param.description or "" for param in docs.params}
    return descriptions


def _first_sentence(text: str) -> str:
    return " ".join(text.split()).partition(". ")[0].rstrip(".")
