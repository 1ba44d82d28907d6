"""The registration of a kind of model: what is known of it before torch is loaded."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any, ClassVar, NamedTuple, Protocol


class ModelSettings(Protocol):
    """What the settings of every kind of model have; they are frozen dataclasses."""

    __dataclass_fields__: ClassVar[dict[str, Any]]

    @property
    def kind(self) -> str:
        """Name of the kind, as in `--model.kind`."""
        ...

    @property
    def max_length(self) -> int:
        """Most tokens, points or moments of an example."""
        ...


class Command(NamedTuple):
    """A command of the command line: one line of help, and the module that has it.

    The module has `configure(parser)` and `run(arguments) -> int`.
    """

    help: str
    module: str


class SizeOption(NamedTuple):
    """A size that `regard train` may choose without `--preset`, and what it takes to be chosen.

    name        as it is printed, with settings of the model in braces
    preset      whose settings it has
    settings    sections of settings over those of the preset
    sentences   fewest training sentences
    updates     fewest updates within the time budget
    per_weight  fewest target tokens seen in training, divided by the number of weights
    """

    name: str
    preset: str
    settings: Mapping[str, Any] = {}
    sentences: int = 0
    updates: int = 0
    per_weight: float = 0.0


SIZES = (
    SizeOption("tiny", "tiny"),
    SizeOption("small", "small", sentences=20_000, updates=2_000),
    SizeOption("base", "base", sentences=1_000_000, updates=10_000),
)
"""The sizes of most kinds, from the smallest to the largest."""


@dataclass(frozen=True)
class Kind:
    """A kind of model.

    `task` and `facade` import torch only when they are called.
    """

    name: str
    """As in `--model.kind NAME`."""
    settings: type[Any]
    """Frozen dataclass of its settings (see `ModelSettings`), in a module without torch."""
    task: Callable[[Kind], Any]
    """Returns the `regard.training.task.Task` that trains it."""
    facade: Callable[[Any, int], Any]
    """Of a `regard.folder.SavedModel` and a number of threads: what `regard.load` returns."""
    command: str
    """The command that uses a model of this kind."""
    purpose: str
    """What a model of this kind does, as in "continues text"."""
    learns_from: str
    """What the files for `regard train` hold."""
    title: str = ""
    """The kind in prose, as in "language model"; its name if empty."""
    inspect: Callable[[Any, Any, Any], Any] | None = None
    """Of a façade, texts and `InspectOptions`: what `regard inspect` shows (None: nothing)."""
    needs_files: bool = True
    """Whether `regard train` needs files; else there is a built-in corpus."""
    speed_unit: str = "tokens"
    """What is counted per second in training."""
    presets: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """For each preset the sections of settings that differ from the preset's common ones."""
    sizes: Sequence[SizeOption] = SIZES
    """The sizes among which a run without a preset chooses, from the smallest to the largest."""
    commands: Mapping[str, Command] = field(default_factory=dict)
    """Commands that this kind adds to the command line."""


def deferred(module: str, name: str) -> Callable[..., Any]:
    """A function or class of a module that is imported only when it is called."""

    def call(*arguments: Any) -> Any:
        return getattr(import_module(module), name)(*arguments)

    return call
