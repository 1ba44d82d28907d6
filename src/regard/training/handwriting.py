"""Learning to write by hand: lines as batches, the loss of every point, and looks at the rest.

At a look some lines of the development set are written and read back by the recogniser, where the
alphabet is the built-in one.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from regard.config import HandwritingSettings, Run
from regard.corpus.batches import batches
from regard.corpus.pairs import Pair
from regard.corpus.splits import dev_size, split_dev
from regard.corpus.strokes import Written, sample
from regard.corpus.strokes.files import read_written
from regard.errors import InputError
from regard.evaluation.strokes import character_error, recognise
from regard.folder import Tokenizers, load_weights, save_weights
from regard.models.batch import source_of
from regard.models.handwriting import HandwritingModel, Strokes
from regard.models.handwriting_drawing import draw
from regard.storage import replace_file
from regard.text.char_tokenizer import train_chars
from regard.training.checkpoint import fitting, verify_checksums, write_checksums
from regard.training.dev import Look
from regard.training.epochs import Epochs
from regard.training.shards import Crew

DEV_LINES, SHOWN = 100, 24
"""Lines of the built-in development set, and how many of them are written at a look."""
BIAS = 0.8
"""How carefully the lines of a look are written."""
CORPUS, NOTES = "corpus.safetensors", "dev.json"


@dataclass(frozen=True)
class LineLook(Look):
    """A look; recognised is the share of characters that are read back, None where none can be."""

    recognised: float | None = None

    def said(self) -> list[str]:
        """The figures that are told while training."""
        parts = [f"dev loss {self.loss:.3f} a point"]
        return parts if self.recognised is None else [*parts, f"recognised {self.recognised:.1%}"]


class Lines(Epochs[Strokes]):
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
    shown: tuple[str, ...] = ()

    def look(
        self,
        network: HandwritingModel,
        run: Run,
        tokenizers: Tokenizers,
        device: torch.device,
        crew: Crew,
    ) -> LineLook:
        """Measure the network as it is."""
        was = network.training
        network.eval()

        @torch.inference_mode()
        def measure(batch: Strokes) -> tuple[float, int]:
            return float(network.loss(batch.to(device))), batch.answers

        try:
            parts = crew.map(measure, self.examples.every())
            loss, count = (sum(column) for column in zip(*parts, strict=True))
            recognised = self._recognised(network, run, tokenizers, device) if self.shown else None
        finally:
            network.train(was)
        each = loss / max(1, count)
        return LineLook(each, math.exp(min(each, 50.0)), recognised or 0.0, recognised=recognised)

    def _recognised(
        self, network: HandwritingModel, run: Run, tokenizers: Tokenizers, device: torch.device
    ) -> float:
        assert isinstance(run.model, HandwritingSettings)
        source = source_of([tokenizers.source.encode(text) for text in self.shown])
        drawn = draw(network, source.to(device), bias=BIAS)
        unit = np.array([run.model.unit, run.model.unit, 1.0])
        read = [  # a line without an end is scribbling: nothing of it counts
            recognise(one.points.cpu().numpy() * unit) if one.finished else "" for one in drawn
        ]
        return max(0.0, 1 - character_error(self.shown, read))


@dataclass(frozen=True)
class PreparedLines:
    """All that a run is made of; `run` has the strokes' unit."""

    run: Run
    tokenizers: Tokenizers
    examples: Lines
    dev: LinesDev


def prepare_lines(
    files: Sequence[str | Path], dev_files: Sequence[str | Path], run: Run
) -> PreparedLines:
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
    return PreparedLines(
        run,
        tokenizers,
        _encoded(train, tokenizers, run),
        LinesDev(_encoded(dev, tokenizers, run), shown if built_in else ()),
    )


def store_lines(folder: Path, examples: Lines, dev: LinesDev) -> None:
    """Write what the run learns from beside its checkpoints, so that it can go on."""
    home = folder / "checkpoints"
    home.mkdir(exist_ok=True)
    tensors: dict[str, Tensor] = {}
    for name, part in (("train", examples), ("dev", dev.examples)):
        tensors[f"{name}.points"] = torch.from_numpy(np.concatenate(part.points))
        tensors[f"{name}.lengths"] = torch.tensor(part.lengths)
        tensors[f"{name}.texts"] = torch.tensor([n for text in part.texts for n in text])
        tensors[f"{name}.letters"] = torch.tensor(part.letters) - 1
    save_weights(home / CORPUS, tensors)
    replace_file(home / NOTES, json.dumps(list(dev.shown), ensure_ascii=False) + "\n")
    write_checksums(home, CORPUS, NOTES)


def stored_lines(folder: Path, run: Run) -> tuple[Lines, LinesDev]:
    """What `store_lines` wrote."""
    home = folder / "checkpoints"
    if not (home / CORPUS).is_file():
        raise InputError(
            f"{folder}: what the run was learning from is not in it ({home / CORPUS}), so it "
            "cannot go on; `regard train` begins a new one."
        )
    verify_checksums(home, CORPUS, NOTES)
    tensors = load_weights(home / CORPUS)

    def part(name: str) -> Lines:
        points = tensors[f"{name}.points"].split(tensors[f"{name}.lengths"].tolist())
        texts = tensors[f"{name}.texts"].split(tensors[f"{name}.letters"].tolist())
        return Lines([t.tolist() for t in texts], [p.numpy() for p in points], run)

    with fitting(home / CORPUS):
        shown = json.loads((home / NOTES).read_text("utf-8"))
        return part("train"), LinesDev(part("dev"), tuple(shown))


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
