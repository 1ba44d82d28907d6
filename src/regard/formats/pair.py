"""A sentence pair as a file has it, where it stood, and how a file's languages are recognised."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from importlib import import_module
from types import ModuleType
from typing import NamedTuple

from regard.errors import InputError

Languages = tuple[str, str]  # source and target, e.g. ("en", "fr")


class RawPair(NamedTuple):
    """Source and target, untouched, with the file and the line (from 1) where they begin."""

    source: str
    target: str
    file: str
    line: int


@dataclass
class ReadReport:
    """What readers passed over: for each reason how many entries, and where the first one is."""

    counts: Counter[str] = field(default_factory=Counter)
    first: dict[str, str] = field(default_factory=dict)
    """For each reason the place ("file:line") of its first entry."""

    def add(self, reason: str, file: object, line: int) -> None:
        """Count one entry."""
        self.counts[reason] += 1
        self.first.setdefault(reason, f"{file}:{line}")


def format_error(file: object, line: int | None, what: str, remedy: str) -> InputError:
    """The error for something wrong in a file: where, what, and what to do.

    >>> print(mistake("a.tsv", 3, "there is one column", "put a tab between source and target"))
    a.tsv, line 3: there is one column; put a tab between source and target.
    """
    place = f"{file}" if line is None else f"{file}, line {line}"
    return InputError(f"{place}: {what}; {remedy}.")


def storage_module(module: str, file: object) -> ModuleType:
    """A storage module of translate-toolkit, or how to get it."""
    try:
        return import_module(f"translate.storage.{module}")
    except ImportError:
        raise format_error(
            file,
            None,
            "catalogues are read by translate-toolkit, which is not installed",
            "pip install 'regard[catalogues]'",
        ) from None


def matches(tag: str | None, language: str) -> bool:
    """Whether a file's language tag means the asked language: equal, or more precise than it.

    >>> matches("en-US", "en"), matches("zh_CN", "ZH"), matches("en", "en-US"), matches("eng", "en")
    (True, True, False, False)
    """
    subtags = _subtags(tag or "")
    asked = _subtags(language)
    return subtags[: len(asked)] == asked


def best_match(tags: list[str], language: str) -> int | None:
    """The place of the tag that means `language`: an equal one first, then the first that does."""
    fitting = [place for place, tag in enumerate(tags) if matches(tag, language)]
    equal = [place for place in fitting if _subtags(tags[place]) == _subtags(language)]
    return next(iter(equal + fitting), None)


def is_reversed(
    stated_source: str | None,
    stated_target: str | None,
    languages: Languages | None,
    file: object,
    line: int | None = None,
) -> bool:
    """Whether a file that states its languages (None: it does not say) is the asked one reversed.

    A file of other languages is an error: to read it would be to learn the wrong ones.
    """
    if languages is None:
        return False
    source, target = languages

    def fits(one: str, other: str) -> bool:
        return (not stated_source or matches(stated_source, one)) and (
            not stated_target or matches(stated_target, other)
        )

    if fits(source, target):
        return False
    if fits(target, source):
        return True
    raise format_error(
        file,
        line,
        f"the languages are {stated_source or '?'} and {stated_target or '?'}, "
        f"but {source} and {target} were asked for",
        "ask for those of the file or take another file",
    )


def _subtags(tag: str) -> list[str]:
    return tag.lower().replace("_", "-").split("-")
