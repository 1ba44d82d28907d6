"""The schema: what a field of a dataclass says of an option, read here for all who offer it.

An option is a field: its name, its type, its default, and a docstring whose first sentence is its
summary. What else is known of it stands beside the type, as a mark:

    beam: Annotated[int, Range(1), Flag(at_most=10_000), Only("searching")] = 5
    \"\"\"Hypotheses kept at every step; 1 is greedy.\"\"\"

Of it are made the flags of commands (`regard.cli.option_flags`, `regard.cli.train_flags`) and their
help, the values of settings files (`config/settings.py`), the fields of HTTP requests
(`server/api/option_fields.py`), the keywords of Python (`config/search_keywords.py`), and the pages
of the reference.
"""

from __future__ import annotations

import ast
import functools
import inspect
import math
import operator
import sys
import typing
from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import cache
from itertools import pairwise
from types import UnionType
from typing import Annotated, Any, ClassVar, NamedTuple, TypeVar, Union

from regard.errors import InputError

Mark = TypeVar("Mark")

LARGEST = 2**31 - 1
"""The largest whole number that an option may be, unless its range goes further."""


@dataclass(frozen=True)
class Range:
    """The numbers that an option may be; `remedy` is said with a number that is outside."""

    at_least: float | None = None
    at_most: float | None = None
    above: float | None = None
    below: float | None = None
    remedy: str = ""

    def __contains__(self, value: float) -> bool:
        return (
            (self.at_least is None or value >= self.at_least)
            and (self.at_most is None or value <= self.at_most)
            and (self.above is None or value > self.above)
            and (self.below is None or value < self.below)
        )

    def __str__(self) -> str:
        if self.at_least is not None and self.below is not None:
            return f"from {self.at_least} to below {self.below}"
        limits = (
            ("at least", self.at_least),
            ("above", self.above),
            ("below", None if self.below == math.inf else self.below),
            ("at most", self.at_most),
        )
        return " and ".join(f"{what} {limit}" for what, limit in limits if limit is not None)


@dataclass(frozen=True)
class MultipleOf:
    """The option must be a multiple of another one."""

    name: str


@dataclass(frozen=True)
class Needs:
    """With a value that is not zero, another option must have a given value; `why` says it."""

    name: str
    value: Any
    why: str


@dataclass(frozen=True)
class Only:
    """The option is of one way to search only, "searching" or "sampling"."""

    mode: str


@dataclass(frozen=True)
class Word:
    """A word that may be written for a value."""

    word: str
    value: Any


@dataclass(frozen=True)
class Flag:
    """What a flag of a command has that the option's name and range do not say."""

    name: str = ""
    metavar: str = ""
    at_most: int | None = None


@dataclass(frozen=True)
class HttpField:
    """An HTTP request may have the option, with a limit."""

    at_most: float | None = None


PositiveInt = Annotated[int, Range(1)]
NonNegativeInt = Annotated[int, Range(0)]
PositiveFloat = Annotated[float, Range(above=0, below=math.inf)]
NonNegativeFloat = Annotated[float, Range(0)]
Fraction = Annotated[float, Range(0, below=1)]
Seed = Annotated[int, Range(at_most=2**63 - 1)]


class Option(NamedTuple):
    """A field of a dataclass of options; `type` is without the marks."""

    section: Any
    name: str
    type: Any
    default: Any
    marks: tuple[Any, ...]

    @property
    def help(self) -> str:
        """What it means: its docstring on one line."""
        return helps_of(self.section).get(self.name, "")

    @property
    def summary(self) -> str:
        """The first sentence of its help."""
        return first_sentence(self.help) + "."

    @property
    def full_name(self) -> str:
        """The option as settings files and messages name it."""
        section = getattr(self.section, "SECTION", "model")
        return f"{section}.{self.name}" if section else self.name

    @property
    def flag(self) -> str:
        """The flag of a command."""
        mark = self.mark(Flag)
        return "--" + (mark.name if mark and mark.name else self.name.replace("_", "-"))

    def mark(self, kind: type[Mark]) -> Mark | None:
        """Its mark of a kind, if it has one."""
        return next((mark for mark in self.marks if isinstance(mark, kind)), None)


def options_of(section: Any) -> Mapping[str, Option]:
    """The options of a dataclass by name, its own before inherited ones."""
    return _options(section)  # whose arguments, unlike these, type checkers want hashable


@cache
def _options(section: Any) -> Mapping[str, Option]:
    hints = typing.get_type_hints(section, include_extras=True)
    own = inspect.get_annotations(section)
    options = {}
    for field in sorted(fields(section), key=lambda field: field.name not in own):
        kind, marks = unwrap(hints[field.name])
        options[field.name] = Option(section, field.name, kind, field.default, marks)
    return options


def unwrap(hint: Any) -> tuple[Any, tuple[Any, ...]]:
    """A type without its marks, and the marks; those of the members of a union are its own.

    >>> unwrap(PositiveInt | None)
    (int | None, (Range(at_least=1, at_most=None, above=None, below=None, remedy=''),))
    """
    if typing.get_origin(hint) is Annotated:
        kind, marks = unwrap(hint.__origin__)
        return kind, (*marks, *hint.__metadata__)
    if typing.get_origin(hint) not in (Union, UnionType):
        return hint, ()
    members = [unwrap(member) for member in typing.get_args(hint)]
    marks = tuple(mark for _, inner in members for mark in inner)
    return functools.reduce(operator.or_, (kind for kind, _ in members)), marks


@cache
def helps_of(section: Any) -> Mapping[str, str]:
    """The docstring of each field of a class on one line, its own over those it inherits."""
    helps: dict[str, str] = {}
    for part in reversed(section.__mro__):
        if part.__module__ in ("builtins", __name__):  # which have no options
            continue
        for field, doc in pairwise(_classes(part.__module__)[part.__name__].body):
            match field, doc:
                case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(ast.Constant(str(text))):
                    helps[name] = " ".join(text.split())
    return helps


@cache
def _classes(module: str) -> Mapping[str, ast.ClassDef]:
    """The definitions of a module's classes."""
    parsed = ast.parse(inspect.getsource(sys.modules[module]))
    return {node.name: node for node in parsed.body if isinstance(node, ast.ClassDef)}


def first_sentence(text: str) -> str:
    """The first sentence of a text, without its period."""
    return " ".join(text.split()).partition(". ")[0].rstrip(".")


class Options:
    """Base of the dataclasses of options, which check their values when they are made."""

    SECTION: ClassVar[str] = "model"
    """What stands before their names in settings files and messages; may be empty."""

    def __post_init__(self) -> None:
        check(self)


def check(settings: Any) -> None:
    """Check every option against the marks beside its type; what is wrong is an `InputError`."""
    options = options_of(type(settings))
    for name, option in options.items():
        limits, value = option.mark(Range), getattr(settings, name)
        if limits is not None and value is not None and value not in limits:
            remedy = f"; {limits.remedy}" if limits.remedy else ""
            raise InputError(f"{option.full_name} must be {limits}, got {value}{remedy}.")
    for name, option in options.items():
        if multiple := option.mark(MultipleOf):
            check_multiple(settings, name, getattr(settings, multiple.name), multiple.name)
        needs = option.mark(Needs)
        if needs and getattr(settings, name) and getattr(settings, needs.name) != needs.value:
            raise InputError(
                f"{option.full_name} {needs.why}; set {options[needs.name].full_name} to "
                f"{needs.value}, got {getattr(settings, needs.name)}."
            )


def check_multiple(settings: Any, name: str, divisor: int, why: str) -> None:
    """Check that a number is a multiple of `divisor`."""
    value, option = getattr(settings, name), options_of(type(settings))[name]
    if value % divisor:
        raise InputError(
            f"{option.full_name} must be a multiple of {divisor} ({why}), got {value}."
        )
