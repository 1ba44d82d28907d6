"""A sentence pair as it is in a file, and the matching of language tags."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from importlib import import_module
from os import PathLike
from types import ModuleType
from typing import NamedTuple

from regard.errors import InputError

Path = str | PathLike[str]
Languages = tuple[str, str]  # source and target, e.g. ("en", "fr")


class RawPair(NamedTuple):
    """Source and target, unchanged, with the file and the line (from 1) where they begin."""

    source: str
    target: str
    file: str
    line: int


@dataclass
class ReadReport:
    """Skipped entries: their number for each reason, and where the first one is."""

    counts: Counter[str] = field(default_factory=Counter)
    first: dict[str, str] = field(default_factory=dict)
    """For each reason the position ("file:line") of its first entry."""

    def add(self, reason: str, file: object, line: int) -> None:
        """Count one entry."""
        self.counts[reason] += 1
        self.first.setdefault(reason, f"{file}:{line}")


def format_error(file: object, line: int | None, problem: str, remedy: str) -> InputError:
    """The error for a malformed file: position, problem, and what to do.

    >>> print(format_error("a.tsv", 3, "there is one column", "put a tab between the sides"))
    a.tsv, line 3: there is one column; put a tab between the sides.
    """
    position = f"{file}" if line is None else f"{file}, line {line}"
    return InputError(f"{position}: {problem}; {remedy}.")


def storage_module(module: str, file: object) -> ModuleType:
    """Import a storage module of translate-toolkit; an error says how to install it."""
    try:
        return import_module(f"translate.storage.{module}")
    except ImportError:
        problem = "catalogues are read by translate-toolkit, which is not installed"
        raise format_error(file, None, problem, "pip install 'regard[catalogues]'") from None


def matches(tag: str | None, language: str) -> bool:
    """Whether a file's language tag equals the requested language, or is more specific.

    >>> matches("en-US", "en"), matches("zh_CN", "ZH"), matches("en", "en-US"), matches("eng", "en")
    (True, True, False, False)
    """
    requested = _subtags(language)
    return _subtags(tag or "")[: len(requested)] == requested


def best_match(tags: list[str], language: str) -> int | None:
    """The index of the tag that matches `language`: an equal one, else the first match."""
    matching = [index for index, tag in enumerate(tags) if matches(tag, language)]
    equal = [index for index in matching if _subtags(tags[index]) == _subtags(language)]
    return next(iter(equal + matching), None)


def is_reversed(
    stated_source: str | None,
    stated_target: str | None,
    languages: Languages | None,
    file: object,
    line: int | None = None,
) -> bool:
    """Whether a file's languages (None: not stated) are the requested ones reversed.

    A file of other languages is an error.
    """
    if languages is None:
        return False
    source, target = languages

    def fits(first: str, second: str) -> bool:
        return (not stated_source or matches(stated_source, first)) and (
            not stated_target or matches(stated_target, second)
        )

    if fits(source, target):
        return False
    if fits(target, source):
        return True
    stated = f"{stated_source or '?'} and {stated_target or '?'}"
    problem = f"the languages must be {source} and {target}, got {stated}"
    raise format_error(file, line, problem, "name those of the file or give another file")


def _subtags(tag: str) -> list[str]:
    return tag.lower().replace("_", "-").split("-")
