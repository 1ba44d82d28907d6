"""Training of models of text: tokenizers, the size of the model, the corpus as ids."""

from __future__ import annotations

import io
import time
from abc import abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table
from torch import Tensor

from regard.config import Run, TextSettings
from regard.config.settings import ENDS
from regard.corpus.mixture import CorpusPart
from regard.corpus.pairs import CleaningReport, Pair
from regard.corpus.splits import dev_size, split_dev
from regard.errors import InputError
from regard.folder import WEIGHTS, Tokenizers, load_weights, put_weights
from regard.tasks.text.encoded_corpus import (
    EncodedCorpus,
    TextDevelopmentSet,
    corpus_tensors,
    stored_ids,
)
from regard.tasks.text.guided_rows import GuidedRows, stored_rows
from regard.tasks.text.id_rows import Rows
from regard.tasks.text.kept_vocabulary import grown_weights, known_tokenizers
from regard.tasks.text.loss import token_loss
from regard.tasks.text.r_drop import twice
from regard.text import Tokenizer
from regard.text.sentencepiece_tokenizer import train_sentencepiece
from regard.text.tags import tagged_language
from regard.text.vocabulary import train_chars, train_words
from regard.training.checkpoint import matching
from regard.training.report import Reporter
from regard.training.run_files import CORPUS, read_corpus, write_corpus
from regard.training.stopping import end_seconds
from regard.training.task import Task, TrainData, TrainRequest
from regard.vectors.initialize import initialize_embeddings

Files = Sequence[str | PathLike[str] | CorpusPart]


@dataclass(frozen=True)
class TextCorpus:
    """A corpus before it is encoded; text without translation is a pair of equal sides.

    `report` counts what cleaning dropped.
    """

    train: list[Pair]
    dev: list[Pair]
    report: CleaningReport


class TextTask(Task):
    """A kind of model that learns from text; subclasses say what an example is."""

    can_start_from = True
    has_r_drop = True
    has_segmentations = False
    """Whether a corpus can have several segmentations (text.subword_dropout)."""

    @abstractmethod
    def read(
        self, files: Sequence[str], run: Run, encoding: str
    ) -> tuple[list[Pair], CleaningReport]:
        """Read and clean files."""

    def read_parts(
        self, parts: Sequence[CorpusPart], run: Run, encoding: str
    ) -> tuple[list[Pair], CleaningReport]:
        """Read and clean a corpus of several parts."""
        if len(parts) != 1 or parts[0] != CorpusPart(parts[0].files):
            raise InputError(
                "--corpus is for models that translate; give the files without it, and without "
                "weight, languages and tag."
            )
        return self.read(parts[0].files, run, encoding)

    @abstractmethod
    def train_tokenizers(self, pairs: Sequence[Pair], run: Run) -> Tokenizers:
        """Train the tokenizers on the corpus."""

    @abstractmethod
    def encode(
        self, pairs: Sequence[Pair], tokenizers: Tokenizers, run: Run, report: CleaningReport
    ) -> EncodedCorpus:
        """Encode pairs; count those with too many tokens in `report`."""

    def encoded_corpus(
        self,
        sources: Rows | None,
        targets: Rows,
        tokenizers: Tokenizers,
        run: Run,
        weights: Sequence[float] | None = None,
        guided: Sequence[GuidedRows] = (),
        num_segmentations: int = 1,
    ) -> EncodedCorpus:
        """Return the batches of encoded sentences."""
        limits = run.training.batch_tokens, run.training.seed
        return EncodedCorpus(sources, targets, *limits, weights, guided, num_segmentations)

    def development_set(
        self, corpus: EncodedCorpus, pairs: Sequence[Pair], tokenizers: Tokenizers, run: Run
    ) -> TextDevelopmentSet:
        """Return the development set of encoded pairs."""
        return TextDevelopmentSet(corpus)

    def prepare(
        self, request: TrainRequest, run: Run, reporter: Reporter, started: float
    ) -> TrainData:
        """Read the files, choose the size of the model, and encode the corpus."""
        corpus = self.read_corpus(request.files, request.dev, run, request.encoding)
        data = self.encode_corpus(corpus, self._sized(request, corpus, run, reporter, started))
        num_dev = len(data.dev.corpus)  # type: ignore[union-attr]  # a TextDevelopmentSet
        reporter.say(corpus_table(corpus.report, len(data.train), num_dev))
        if corpus.report.dropped["tokens"]:
            reporter.say(
                f"To keep sentences of more than {run.model.max_length} tokens, raise "
                "--model.max_length, or cut them with --cleaning.truncate true."
            )
        source, target = len(data.tokenizers.source), len(data.tokenizers.target)
        if data.tokenizers.shared:
            reporter.say(f"vocabulary: {source:,} tokens{' shared' if run.text.shared else ''}")
        else:
            reporter.say(f"vocabularies: {source:,} and {target:,} tokens")
        return data

    def read_corpus(
        self, files: Files, dev_files: Files, run: Run, encoding: str = "utf-8"
    ) -> TextCorpus:
        """Read and clean files; without files for the development set, split one off."""
        parts, dev_parts = corpus_parts(files), corpus_parts(dev_files)
        train, report = self.read_parts(parts, run, encoding)
        if not train:
            raise InputError(
                f"{_names(parts)}: no sentence is left after cleaning "
                f"({report.read} were read); check the cleaning settings."
            )
        if dev_parts:
            dev, _ = self.read_parts(dev_parts, run, encoding)
            if not dev:
                raise InputError(f"{_names(dev_parts)}: no sentence is in it.")
            return TextCorpus(train, dev, report)
        if len(train) < 4:
            raise InputError(f"{len(train)} sentences are too few to learn from; give at least 4.")
        return TextCorpus(*_split(train, run.training.seed), report)

    def encode_corpus(
        self, corpus: TextCorpus, run: Run, tokenizers: Tokenizers | None = None
    ) -> TrainData:
        """Encode the corpus; without tokenizers, train them first."""
        if run.text.subword_dropout and not self.has_segmentations:
            raise InputError("text.subword_dropout is for models that translate; leave it out.")
        start = run.training.start_from
        if start:
            tokenizers = known_tokenizers(Path(start), corpus.train)
        tokenizers = tokenizers or self.train_tokenizers(corpus.train, run)
        train = self.encode(corpus.train, tokenizers, run, corpus.report)
        if not run.model.max_length:
            longest = int(max(train.lengths_src.max(), train.lengths_tgt.max()))
            run = replace(run, model=replace(run.model, max_length=longest))
        return self.data(train, corpus.dev, tokenizers, run)

    def data(
        self, train: EncodedCorpus, dev: Sequence[Pair], tokenizers: Tokenizers, run: Run
    ) -> TrainData:
        """Return the data of an encoded corpus and a development set of pairs."""
        encoded = self.encode(dev, tokenizers, run, CleaningReport())
        dev_set = self.development_set(encoded, dev, tokenizers, run)
        return TrainData(run, train, dev_set, tokenizers)

    def initialize(self, network: Any, data: TrainData, reporter: Reporter) -> None:
        """Begin with the weights of a model, or the word vectors, that the settings name."""
        start = data.run.training.start_from
        if start:
            weights = grown_weights(load_weights(Path(start) / WEIGHTS), network, data.tokenizers)
            put_weights(network, weights, start)
            reporter.say(
                f"Starting from {start}: its vocabulary and model are kept; learning rate "
                f"{data.run.training.learning_rate:g}."
            )
            return
        source, target = data.tokenizers.source, data.tokenizers.target
        initialize_embeddings(network, data.run.training, source, target, reporter.say)

    def objective(self, run: Run, network: Any, batch: Any, scale: float) -> Tensor:
        """Return the loss of a batch; with R-Drop, of two passes over it."""
        if run.training.r_drop:
            return self.batch_loss(run, network, twice(batch), scale / 2)
        return self.batch_loss(run, network, batch, scale)

    def batch_loss(self, run: Run, network: Any, batch: Any, scale: float) -> Tensor:
        """Return the cross-entropy of the labels."""
        return token_loss(run, network, batch, scale)

    def store(self, folder: Path, data: TrainData) -> None:
        """Write the corpus as ids, and the development set's text."""
        dev: Any = data.dev
        tensors = {
            **corpus_tensors("train", data.train),  # type: ignore[arg-type]  # an EncodedCorpus
            **corpus_tensors("dev", dev.corpus),
        }
        pairs = getattr(dev, "pairs", ())
        write_corpus(folder, tensors, [list(pair[: 3 if pair.tags else 2]) for pair in pairs])

    def restore(self, folder: Path, run: Run, tokenizers: Tokenizers) -> TrainData:
        tensors, notes = read_corpus(folder)

        def part(name: str) -> EncodedCorpus:
            sources = stored_ids(tensors, f"{name}.source")
            targets: Rows = stored_ids(tensors, f"{name}.target") or []
            weights = tensors.get(f"{name}.weights")
            often = None if weights is None else weights.tolist()
            guides = run.guides if name == "train" else ()
            guided = [stored_rows(tensors, name, guide, run, targets) for guide in guides]
            number = int(tensors.get(f"{name}.segmentations", 1))
            return self.encoded_corpus(sources, targets, tokenizers, run, often, guided, number)

        with matching(folder / "checkpoints" / CORPUS):
            pairs = [Pair(*pair[:2], *map(tuple, pair[2:3])) for pair in notes or ()]
            dev = self.development_set(part("dev"), pairs, tokenizers, run)
            return TrainData(run, part("train"), dev, tokenizers)

    def _sized(
        self,
        request: TrainRequest,
        corpus: TextCorpus,
        run: Run,
        reporter: Reporter,
        started: float,
    ) -> Run:
        """Return the settings of the preset asked for, or of the one that suits corpus and time."""
        from regard.tasks.text.size import SizeSearch  # which imports this module

        if run.training.start_from:
            return run
        search = SizeSearch(self, corpus, request.given)
        training = request.given.get("training") or {}
        minutes = training.get("minutes")
        budget = None
        if minutes is not None:
            spent = time.monotonic() - started
            budget = max(1.0, 60 * minutes - end_seconds(minutes) - spent)
        if request.preset is None:
            size = search.choose(budget)
            reporter.say(size.line)
            return size.run
        others = any(training.get(end) is not None for end in ENDS if end != "minutes")
        if budget is not None and not others:
            warning = search.warning(request.preset, budget)
            if warning:
                reporter.say(warning)
        return run


def corpus_parts(files: Files) -> list[CorpusPart]:
    """Return the parts of a corpus; files without weight and tag are one part."""
    parts = [file for file in files if isinstance(file, CorpusPart)]
    plain = tuple(str(file) for file in files if not isinstance(file, CorpusPart))
    return [CorpusPart(plain), *parts] if plain else parts


def _names(parts: Sequence[CorpusPart]) -> str:
    return ", ".join(file for part in parts for file in part.files)


def _split(pairs: list[Pair], seed: int) -> tuple[list[Pair], list[Pair]]:
    """Return training and development pairs; the latter without tag of a corpus, if there are such.

    A tag marks pairs that differ from those that the model will translate, as synthetic ones do.
    """
    plain = [pair for pair in pairs if all(map(tagged_language, pair.tags))]
    plain = plain if len(plain) >= 4 else pairs
    _, dev = split_dev(plain, dev_size(len(plain)), seed)
    sources = {pair.source for pair in dev}
    return [pair for pair in pairs if pair.source not in sources], dev


def train_tokenizer(
    lines: Iterable[str], text: TextSettings, language: str, seed: int
) -> Tokenizer:
    """Train the tokenizer that the settings describe."""
    match text.unit:
        case "word":
            return train_words(lines, text.vocab_size, language, text.min_count)
        case "char":
            return train_chars(lines, text.vocab_size, language, text.min_count)
        case unit:
            return train_sentencepiece(lines, text.vocab_size, unit, seed)


def shortened(text: str, width: int = 40) -> str:
    """Return the beginning of a sentence, in quotation marks."""
    return f"“{text}”" if len(text) <= width else f"“{text[:width].rstrip()} …”"


def corpus_table(report: CleaningReport, train: int, dev: int) -> str:
    """Format what was read, dropped and kept; `train` and `dev` are numbers of sentences."""
    table = Table(box=box.SIMPLE, show_header=True)
    table.add_column("sentences")
    table.add_column("number", justify="right")
    table.add_column("first seen at", overflow="fold")
    for what, number, where in report.rows():
        table.add_row(what, f"{number:,}", where)
    table.add_row("to learn from", f"{train:,}", "")
    table.add_row("development", f"{dev:,}", "")
    text = io.StringIO()
    Console(width=100, file=text, force_jupyter=False).print(table)
    return "\n".join(line.rstrip() for line in text.getvalue().rstrip().split("\n"))
