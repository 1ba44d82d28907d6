"""Training of handwriting: the data, built-in or from files, and what the training loop needs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from torch import Tensor

from regard.config import Run
from regard.corpus.pairs import Pair
from regard.corpus.splits import dev_size, split_dev
from regard.errors import InputError
from regard.folder import Tokenizers
from regard.tasks.handwriting.batches import StrokeBatches, StrokeDevelopmentSet
from regard.tasks.handwriting.network import HandwritingModel, StrokeBatch
from regard.tasks.handwriting.settings import HandwritingSettings
from regard.tasks.handwriting.strokes.files import read_strokes
from regard.tasks.handwriting.strokes.lines import StrokeLine, sample
from regard.text.vocabulary import train_chars
from regard.training.checkpoint import matching
from regard.training.report import Reporter
from regard.training.run_files import CORPUS, read_corpus, write_corpus
from regard.training.task import Task, TrainData, TrainRequest


class HandwritingTask(Task):
    """From text to pen strokes: −log density of every point, given those before it."""

    def build(
        self, settings: HandwritingSettings, source_vocab: int, target_vocab: int
    ) -> HandwritingModel:
        return HandwritingModel(settings, source_vocab)

    def prepare(
        self, request: TrainRequest, run: Run, reporter: Reporter, started: float
    ) -> TrainData:
        data = _prepared(*request.plain_files(), run)
        assert isinstance(data.train, StrokeBatches) and isinstance(data.dev, StrokeDevelopmentSet)
        reporter.say(
            f"lines to learn from: {len(data.train):,} ({sum(data.train.lengths):,} points); "
            f"development: {len(data.dev):,}"
        )
        return data

    def store(self, folder: Path, data: TrainData) -> None:
        assert isinstance(data.train, StrokeBatches) and isinstance(data.dev, StrokeDevelopmentSet)
        tensors = data.train.tensors("train") | data.dev.lines.tensors("dev")
        write_corpus(folder, tensors, list(data.dev.texts))

    def restore(self, folder: Path, run: Run, tokenizers: Tokenizers) -> TrainData:
        tensors, texts = read_corpus(folder)
        with matching(folder / "checkpoints" / CORPUS):
            train, dev = (StrokeBatches.from_tensors(tensors, n, run) for n in ("train", "dev"))
            dev_set = StrokeDevelopmentSet(dev, texts or (), run, tokenizers)
        return TrainData(run, train, dev_set, tokenizers)

    def objective(
        self, run: Run, network: HandwritingModel, batch: StrokeBatch, scale: float
    ) -> Tensor:
        return network.loss(batch) * scale

    def example(self, run: Run) -> list[str]:
        return ["attention", "--out", "line.svg"]

    def describe_validation(self, dev: Mapping[str, Any]) -> list[tuple[str, str]]:
        if not dev:
            return []
        rows = [("nats per point (development set)", f"{dev['loss']:.3f}")]
        if dev.get("recognised") is not None:
            rows.append(("characters recognised (development set)", f"{dev['recognised']:.1%}"))
        return rows


Files = Sequence[str | PathLike[str]]
NUM_DEV_LINES = 100
"""Lines of the built-in development set."""


def _prepared(files: Files, dev_files: Files, run: Run) -> TrainData:
    """Read or generate lines, split off a development set, and encode both."""
    assert isinstance(run.model, HandwritingSettings)
    train, dev = _read(files, dev_files, run, run.model)
    unit = run.model.unit or _rms_movement(train)
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
        raise InputError("every line of the development set has a character that is not trained.")
    scale = np.array([1 / unit, 1 / unit, 1], np.float32)

    def encoded(lines: Sequence[StrokeLine]) -> StrokeBatches:
        texts = [chars.encode(line.text) for line in lines]
        return StrokeBatches(texts, [line.strokes * scale for line in lines], run)

    # the recognizer reads the built-in alphabet only
    texts = [] if files else [line.text for line in dev]
    dev_set = StrokeDevelopmentSet(encoded(dev), texts, run, tokenizers)
    return TrainData(run, encoded(train), dev_set, tokenizers)


def _read(
    files: Files, dev_files: Files, run: Run, model: HandwritingSettings
) -> tuple[list[StrokeLine], list[StrokeLine]]:
    seed = run.training.seed
    if not files:
        return sample("train", model.lines, seed), sample("dev", NUM_DEV_LINES, seed)
    train = [line for line in read_strokes(files) if len(line.strokes) <= model.max_length]
    if len(train) < 4:
        raise InputError(
            f"{', '.join(map(str, files))}: at least 4 lines of at most {model.max_length} points "
            f"are needed, got {len(train)}; give more lines, or raise model.max_length."
        )
    if dev_files:
        return train, list(read_strokes(dev_files))
    return _split(train, seed)


def _split(lines: Sequence[StrokeLine], seed: int) -> tuple[list[StrokeLine], list[StrokeLine]]:
    """Split off a development set of lines whose characters all occur in other lines too."""
    counts = Counter(character for line in lines for character in set(line.text))
    candidates = [
        Pair(line.text, str(number))
        for number, line in enumerate(lines)
        if all(counts[character] > 1 for character in line.text)
    ]
    size = min(dev_size(len(lines)), len(candidates) // 2)
    if not size:
        raise InputError(
            "no development set can be split off: each line has a character that no other line "
            "has; give more lines, or a development set with --dev."
        )
    chosen = {int(pair.target) for pair in split_dev(candidates, size, seed)[1]}
    train = [line for number, line in enumerate(lines) if number not in chosen]
    return train, [lines[number] for number in sorted(chosen)]


def _rms_movement(lines: Sequence[StrokeLine]) -> float:
    """Root mean square of all movements."""
    moves = np.concatenate([line.strokes[:, :2] for line in lines])
    return float(np.sqrt(np.mean(np.square(moves, dtype=np.float64))))
