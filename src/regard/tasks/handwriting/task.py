"""Learning to write by hand: lines as batches, the loss of every point, and looks at the rest.

At a look some lines of the development set are written and read back by the recogniser, where the
alphabet is the built-in one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from regard.config import HandwritingSettings, Run
from regard.corpus.batches import batches
from regard.corpus.pairs import Pair
from regard.corpus.splits import dev_size, split_dev
from regard.corpus.strokes import Written, sample
from regard.corpus.strokes.files import read_written
from regard.errors import InputError
from regard.evaluation.strokes import character_error, recognise
from regard.folder import Tokenizers
from regard.models.batch import source_of
from regard.models.handwriting import HandwritingModel, Strokes
from regard.models.handwriting_drawing import draw
from regard.text.char_tokenizer import train_chars
from regard.training.checkpoint import matching
from regard.training.data_cursor import EpochBatches
from regard.training.report import Reporter
from regard.training.run_files import CORPUS, read_corpus, write_corpus
from regard.training.task import Task, TrainData, TrainRequest
from regard.training.validation import ValidationResult, perplexity
from regard.worker_pool import WorkerPool

DEV_LINES, SHOWN = 100, 24
"""Lines of the built-in development set, and how many of them are written at a look."""
BIAS = 0.8
"""How carefully the lines of a look are written."""


@dataclass(frozen=True)
class HandwritingResult(ValidationResult):
    """Figures of the development set; recognised: share of characters that are read back."""

    recognised: float | None = None

    def summary(self) -> list[str]:
        """Return the figures that are printed during training."""
        parts = [f"dev loss {self.loss:.3f} a point"]
        return parts if self.recognised is None else [*parts, f"recognised {self.recognised:.1%}"]


class Lines(EpochBatches[Strokes]):
    """Written lines as batches."""

    def __init__(
        self, texts: Sequence[Sequence[int]], points: Sequence[NDArray[np.float32]], run: Run
    ) -> None:
        super().__init__(run.training.seed)
        self.texts, self.points = texts, points
        self.room = run.training.batch_tokens
        self.letters = [len(text) + 1 for text in texts]
        self.lengths = [len(one) for one in points]

    def __len__(self) -> int:
        return len(self.texts)

    def cut(self, seed: int, epoch: int) -> list[list[int]]:
        """Batches of about equal cost, of lines of about equal length."""
        return batches(self.letters, self.lengths, self.room, seed, epoch)

    def batch(self, rows: Sequence[int]) -> Strokes:
        """The lines at `rows`."""
        lengths = torch.tensor([self.lengths[n] for n in rows])
        points = torch.zeros(len(rows), int(lengths.max()), 3)
        for row, n in enumerate(rows):
            points[row, : self.lengths[n]] = torch.from_numpy(self.points[n])
        return Strokes(source_of([list(self.texts[n]) for n in rows]), points, lengths)


@dataclass(frozen=True)
class LinesDev:
    """The development set: lines for the loss, and of `shown` the text, to be written and read."""

    examples: Lines
    shown: tuple[str, ...]
    tokenizers: Tokenizers
    unit: float

    def validate(
        self, network: HandwritingModel, device: torch.device, pool: WorkerPool
    ) -> HandwritingResult:
        """Measure the network, which is in evaluation mode."""

        @torch.inference_mode()
        def measure(batch: Strokes) -> tuple[float, int]:
            return float(network.loss(batch.to(device))), batch.answers

        parts = pool.map(measure, self.examples.every())
        total, count = (sum(column) for column in zip(*parts, strict=True))
        loss = total / max(1, count)
        recognised = self._recognised(network, device) if self.shown else None
        return HandwritingResult(loss, perplexity(loss), recognised or 0.0, recognised)

    def _recognised(self, network: HandwritingModel, device: torch.device) -> float:
        source = source_of([self.tokenizers.source.encode(text) for text in self.shown])
        drawn = draw(network, source.to(device), bias=BIAS)
        unit = np.array([self.unit, self.unit, 1.0])
        read = [  # a line without an end is scribbling: nothing of it counts
            recognise(one.points.cpu().numpy() * unit) if one.finished else "" for one in drawn
        ]
        return max(0.0, 1 - character_error(self.shown, read))


class HandwritingTask(Task):
    """Trains a network that writes by hand."""

    def build(self, settings: Any, source_vocab: int, target_vocab: int) -> nn.Module:
        """Return a network with random weights."""
        return HandwritingModel(settings, source_vocab)

    def prepare(
        self, request: TrainRequest, run: Run, reporter: Reporter, started: float
    ) -> TrainData:
        """Read strokes, or take the built-in ones."""
        data = prepare_lines([*map(Path, request.files)], [*map(Path, request.dev)], run)
        train, dev = cast("Lines", data.train), cast("LinesDev", data.dev)
        reporter.say(
            f"lines to learn from: {len(train):,} ({sum(train.lengths):,} points); "
            f"development: {len(dev.examples):,}"
        )
        return data

    def store(self, folder: Path, data: TrainData) -> None:
        """Write the lines, and the texts that are written at each validation."""
        dev = cast("LinesDev", data.dev)
        tensors: dict[str, Tensor] = {}
        for name, part in (("train", cast("Lines", data.train)), ("dev", dev.examples)):
            tensors[f"{name}.points"] = torch.from_numpy(np.concatenate(part.points))
            tensors[f"{name}.lengths"] = torch.tensor(part.lengths)
            tensors[f"{name}.texts"] = torch.tensor([n for text in part.texts for n in text])
            tensors[f"{name}.letters"] = torch.tensor(part.letters) - 1
        write_corpus(folder, tensors, list(dev.shown))

    def restore(self, folder: Path, run: Run, tokenizers: Tokenizers) -> TrainData:
        """Read what `store` wrote."""
        assert isinstance(run.model, HandwritingSettings)
        tensors, shown = read_corpus(folder)

        def part(name: str) -> Lines:
            points = tensors[f"{name}.points"].split(tensors[f"{name}.lengths"].tolist())
            texts = tensors[f"{name}.texts"].split(tensors[f"{name}.letters"].tolist())
            return Lines([t.tolist() for t in texts], [p.numpy() for p in points], run)

        with matching(folder / "checkpoints" / CORPUS):
            dev = LinesDev(part("dev"), tuple(shown or ()), tokenizers, run.model.unit)
            return TrainData(run, part("train"), dev, tokenizers)

    def objective(self, run: Run, network: Any, batch: Any, scale: float) -> Tensor:
        """Return −log density of every point, given those before it."""
        loss: Tensor = network.loss(batch)
        return loss * scale

    def num_parameters(self, run: Run) -> int:
        """Not known before the files are read; these models are small."""
        return 0

    def example(self, run: Run) -> list[str]:
        """Return arguments to try `regard write` with."""
        return ["attention", "--out", "line.svg"]

    def describe_validation(self, dev: Mapping[str, Any]) -> list[tuple[str, str]]:
        """Return labels and values of the validation's figures, for the model card."""
        if not dev:
            return []
        rows = [("nats per point (development set)", f"{dev['loss']:.3f}")]
        if dev["recognised"] is not None:
            rows.append(("characters recognised (development set)", f"{dev['recognised']:.1%}"))
        return rows


def prepare_lines(
    files: Sequence[str | Path], dev_files: Sequence[str | Path], run: Run
) -> TrainData:
    """The built-in strokes, or those of files but for lines of too many points."""
    assert isinstance(run.model, HandwritingSettings)
    built_in = not files
    train, dev = _lines(files, dev_files, run)
    unit = run.model.unit or _unit(train)
    run = replace(
        run,
        model=replace(run.model, unit=unit),
        text=replace(run.text, unit="char", shared=True, vocab_size=max(run.text.vocab_size, 1000)),
    )
    chars = train_chars((line.text for line in train), None)
    tokenizers = Tokenizers(chars, chars)
    known = set("".join(line.text for line in train))
    dev = [line for line in dev if set(line.text) <= known]
    if not dev:
        raise InputError("no line of the development set has only characters that are learned.")
    shown = tuple(line.text for line in dev[: min(SHOWN, run.training.validate_sentences)])
    examples = _encoded(dev, tokenizers, run)
    dev_set = LinesDev(examples, shown if built_in else (), tokenizers, unit)
    return TrainData(run, _encoded(train, tokenizers, run), dev_set, tokenizers)


def _lines(
    files: Sequence[str | Path], dev_files: Sequence[str | Path], run: Run
) -> tuple[list[Written], list[Written]]:
    assert isinstance(run.model, HandwritingSettings)
    seed = run.training.seed
    if not files:
        return sample("train", run.model.lines, seed), sample("dev", DEV_LINES, seed)
    train = [one for one in read_written(files) if len(one.strokes) <= run.model.max_length]
    if len(train) < 4:
        raise InputError(
            f"{', '.join(map(str, files))}: {len(train)} lines of at most {run.model.max_length} "
            "points are in it, too few to learn from; give at least 4, or raise model.max_length."
        )
    if dev_files:
        return train, list(read_written(dev_files))
    return _split(train, seed)


def _split(lines: Sequence[Written], seed: int) -> tuple[list[Written], list[Written]]:
    """Some lines set aside, of those whose characters all occur in others too."""
    counts = Counter(character for line in lines for character in set(line.text))
    spare = [
        Pair(line.text, str(number))
        for number, line in enumerate(lines)
        if all(counts[character] > 1 for character in line.text)
    ]
    size = min(dev_size(len(lines)), len(spare) // 2)
    if not size:
        raise InputError(
            "no line can be set aside as the development set: each has a character that no other "
            "line has; give more lines, or a development set with --dev."
        )
    aside = {int(pair.target) for pair in split_dev(spare, size, seed)[1]}
    kept = [line for number, line in enumerate(lines) if number not in aside]
    return kept, [lines[number] for number in sorted(aside)]


def _unit(lines: Sequence[Written]) -> float:
    """The root mean square of all movements."""
    moves = np.concatenate([line.strokes[:, :2] for line in lines])
    return float(np.sqrt(np.mean(np.square(moves, dtype=np.float64))))


def _encoded(lines: Sequence[Written], tokenizers: Tokenizers, run: Run) -> Lines:
    assert isinstance(run.model, HandwritingSettings)
    scale = np.array([1 / run.model.unit, 1 / run.model.unit, 1], np.float32)
    texts = [tokenizers.source.encode(line.text) for line in lines]
    return Lines(texts, [line.strokes * scale for line in lines], run)
