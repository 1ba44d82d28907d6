"""What the training loop needs to know of a kind of model.

A kind brings its data, batches, objective and development set in one `Task`; the loop, optimizer,
checkpoints, validation and averaging are the same for all. Nothing in this package knows a kind.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import Any, Generic, Protocol, Self, TypeVar

import torch
from torch import Tensor, nn

from regard.config import Run
from regard.config.kind import Kind
from regard.config.settings import Settings
from regard.corpus.mixture import CorpusPart
from regard.errors import InputError
from regard.folder import Tokenizers, no_tokenizers
from regard.models.build import build_network
from regard.training.checkpoint import DataCursor
from regard.training.report import Reporter
from regard.training.validation import DevelopmentSet

AnyBatch = TypeVar("AnyBatch")


class EpochBatches(ABC, Generic[AnyBatch]):
    """Batches of a corpus; a subclass says how an epoch is cut and how a batch is made."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self._epoch: tuple[int, list[list[int]]] | None = None  # the last one computed

    @abstractmethod
    def __len__(self) -> int:
        """Return the number of examples."""

    @abstractmethod
    def cut(self, seed: int, epoch: int) -> list[list[int]]:
        """Return the batches of an epoch, as indices of examples."""

    @abstractmethod
    def batch(self, rows: Sequence[int]) -> AnyBatch:
        """Return the examples with these indices as one batch."""

    def epoch(self, epoch: int) -> list[list[int]]:
        """Return the batches of an epoch for this corpus' seed."""
        if self._epoch is None or self._epoch[0] != epoch:
            self._epoch = epoch, self.cut(self.seed, epoch)
        return self._epoch[1]

    def take(self, cursor: DataCursor) -> tuple[AnyBatch, DataCursor]:
        """Return the batch at a cursor, and the cursor after it."""
        rows = self.epoch(cursor.epoch)
        after = DataCursor(cursor.epoch, cursor.number + 1)
        if after.number == len(rows):
            after = DataCursor(cursor.epoch + 1, 0)
        return self.batch(rows[cursor.number]), after

    def every(self) -> Iterator[AnyBatch]:
        """Yield all examples once, in batches, in a fixed order."""
        for rows in self.cut(0, 0):
            yield self.batch(rows)

    def epochs_done(self, cursor: DataCursor) -> float:
        """Return how many epochs are over at a cursor."""
        return cursor.epoch + cursor.number / len(self.epoch(cursor.epoch))


class TrainBatch(Protocol):
    """One batch of B examples."""

    @property
    def answers(self) -> int:
        """Number of labels in the batch: the loss is a mean over them."""
        ...

    @property
    def costs(self) -> Tensor:
        """(B,): the cost of each example, in any unit."""
        ...

    def rows(self, rows: Tensor) -> Self:
        """Return the batch of chosen examples."""
        ...

    def to(self, device: torch.device) -> Self:
        """Move the batch to a device."""
        ...


class BatchSource(Protocol):
    """All batches of a corpus, in an order that depends on the seed alone."""

    def __len__(self) -> int: ...

    def take(self, cursor: DataCursor) -> tuple[Any, DataCursor]:
        """Return the batch at a cursor, and the cursor after it."""
        ...

    def epochs_done(self, cursor: DataCursor) -> float:
        """Return how many epochs are over at a cursor."""
        ...


@dataclass(frozen=True)
class TrainRequest:
    """What a new run is made from.

    files   to learn from; a `CorpusPart` has a weight, languages or a tag of its own
    given   settings by section, over those of the preset
    preset  tiny, small or base; None: chosen from the corpus and the time budget
    """

    files: Sequence[str | PathLike[str] | CorpusPart]
    out: Path
    dev: Sequence[str | PathLike[str] | CorpusPart] = ()
    given: Settings = field(default_factory=dict)
    preset: str | None = None
    encoding: str = "utf-8"

    def plain_files(self) -> tuple[list[str], list[str]]:
        """Return the files to learn from and of the development set, none with weight or tag."""
        if any(isinstance(file, CorpusPart) for file in (*self.files, *self.dev)):
            raise InputError(
                "--corpus is for models that translate; give the files without it, and without "
                "weight, languages and tag."
            )
        return [str(file) for file in self.files], [str(file) for file in self.dev]


@dataclass(frozen=True)
class TrainData:
    """What a run is trained and validated on; `run` has the settings completed from the data."""

    run: Run
    train: BatchSource
    dev: DevelopmentSet | None = None
    tokenizers: Tokenizers = field(default_factory=no_tokenizers)


class Task(ABC):
    """A kind of model as training sees it; what has a body here is right for most kinds."""

    can_start_from = False
    """Whether a run can begin with the weights and vocabulary of another (--from)."""
    has_r_drop = False
    """Whether the objective knows R-Drop (training.r_drop)."""

    def __init__(self, kind: Kind) -> None:
        self.kind = kind

    @abstractmethod
    def build(self, settings: Any, source_vocab: int, target_vocab: int) -> nn.Module:
        """Return a network for the kind's settings, with random weights."""

    @abstractmethod
    def prepare(
        self, request: TrainRequest, run: Run, reporter: Reporter, started: float
    ) -> TrainData:
        """Read the files of a new run; its time budget began at `started` (time.monotonic())."""

    @abstractmethod
    def store(self, folder: Path, data: TrainData) -> None:
        """Write the data below `folder`, so that the run can be resumed without its files."""

    @abstractmethod
    def restore(self, folder: Path, run: Run, tokenizers: Tokenizers) -> TrainData:
        """Read what `store` wrote."""

    @abstractmethod
    def objective(self, run: Run, network: Any, batch: Any, scale: float) -> Tensor:
        """Return the loss summed over the batch's labels, times `scale`."""

    def reads_text(self, run: Run) -> bool:
        """Whether the model folder has tokenizers."""
        return True

    def initialize(self, network: Any, data: TrainData, reporter: Reporter) -> None:
        """Set weights of a new network that come from the data or from files."""
        return

    def finish(self, network: Any, data: TrainData) -> tuple[Run, dict[str, Any]]:
        """Return the settings to save with the trained model, and metrics to add."""
        return data.run, {}

    def num_parameters(self, run: Run) -> int:
        """Estimate the number of weights before the data are read, for the space on disk."""
        vocab = run.text.vocab_size
        with torch.device("meta"):
            network = build_network(self.build, run.model, vocab, vocab)
        return sum(parameter.numel() for parameter in network.parameters())

    def example(self, run: Run) -> list[str]:
        """Return arguments to try the kind's command with."""
        return ["…"]

    def describe_purpose(self, run: Run) -> str:
        """Describe what the model does, for the model card."""
        return self.kind.purpose

    def describe_input(self, run: Run) -> str:
        """Describe in one sentence what the model reads, for the model card."""
        if not self.reads_text(run):
            return ""
        return f"Text: {run.text.unit} tokens, vocabulary of at most {run.text.vocab_size}."

    def describe_validation(self, dev: Mapping[str, Any]) -> list[tuple[str, str]]:
        """Return labels and values of the validation's figures, for the model card."""
        return [("perplexity (development set)", f"{dev['perplexity']:.2f}")] if dev else []
