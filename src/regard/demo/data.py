"""The demonstration's sentences, drawn from the built-in grammar and encoded."""

from __future__ import annotations

import gc
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

from regard.alignment import locate_words
from regard.config import Run
from regard.config.guides import Guide
from regard.cores import cores
from regard.corpus.grammar import GrammarPair, Language, sample, seed_sentences
from regard.corpus.grammar.pair import annotated_links
from regard.corpus.pairs import Pair, SpanLink
from regard.demo.curriculum import RARE, SAME_GENDER, CurriculumCorpus, is_easy
from regard.demo.settings import Budget
from regard.folder import Tokenizers
from regard.tasks import find_task
from regard.tasks.text.task import TextTask, train_tokenizer
from regard.tasks.translation.guided.links import PairWords, encoded_links, span_links
from regard.text import Tokenizer
from regard.training.task import TrainData
from regard.worker_pool import parallel_map

PARTS = 2  # samples that the training pairs consist of, each drawn by a process of its own


class TrainingPair(NamedTuple):
    """The text of a pair, and whether it is easy; smaller than the annotated pair.

    `links` are those of guided heads.
    """

    source: str
    target: str
    easy: bool
    links: tuple[tuple[SpanLink, ...], ...] = ()


@dataclass(frozen=True)
class DemoData:
    """Training, development and test pairs, and the showcase, which is in none of them."""

    train: Sequence[TrainingPair]
    dev: Sequence[GrammarPair]
    test: Sequence[GrammarPair]
    showcase: Sequence[GrammarPair]


def draw_data(
    language: Language, budget: Budget, seed: int = 0, guides: tuple[Guide, ...] = ()
) -> DemoData:
    """Draw the pairs of a budget; those of the training with the links of guided heads."""
    max_words = budget.max_words
    return DemoData(
        _draw_training(language, budget, seed, guides),
        sample("dev", budget.dev, language=language, seed=seed, max_words=max_words),
        sample("test", budget.test, language=language, seed=seed, max_words=max_words),
        seed_sentences(language),
    )


def _draw_training(
    language: Language, budget: Budget, seed: int, guides: tuple[Guide, ...]
) -> list[TrainingPair]:
    """The training pairs: samples of several seeds, without the sources that are in two of them."""
    count = budget.sentences
    drawn_each = int(1.03 * count / PARTS) + 1  # 1 % are in both, more where all are short
    draw = partial(_draw_part, language, drawn_each, budget.max_words, guides)
    seeds = [PARTS * seed + part for part in range(PARTS)]
    drawn = parallel_map(draw, seeds, cores(), fork=True)
    unique = {pair.source: pair for part in drawn for pair in part}
    return list(unique.values())[:count]


def _draw_part(
    language: Language, count: int, max_words: int, guides: tuple[Guide, ...], seed: int
) -> list[TrainingPair]:
    with _no_garbage_collection():  # it would take a third of the time and free nothing
        pairs = sample(
            "train",
            count,
            language=language,
            seed=seed,
            max_words=max_words,
            same_gender=SAME_GENDER,
            rare=RARE,
        )
    return [
        TrainingPair(pair.source, pair.target, is_easy(pair), _links(pair, guides))
        for pair in pairs
    ]


def _links(pair: GrammarPair, guides: tuple[Guide, ...]) -> tuple[tuple[SpanLink, ...], ...]:
    """The annotations that guided heads learn."""
    if not guides:
        return ()
    words = PairWords(
        locate_words(pair.source_words, pair.source), locate_words(pair.target_words, pair.target)
    )
    return tuple(span_links(guide, words, annotated_links(pair, guide.links)) for guide in guides)


def prepare_data(data: DemoData, run: Run, easy_updates: int = 0) -> TrainData:
    """Train the tokenizers and encode the pairs; the first updates use easy sentences only."""
    tokenizers = Tokenizers(
        _tokenizer([pair.source for pair in data.train], run, run.source_language),
        _tokenizer([pair.target for pair in data.train], run, run.target_language),
    )
    source, target = ChunkEncoder(tokenizers.source), ChunkEncoder(tokenizers.target)
    sources = [source.encode(pair.source) for pair in data.train]
    targets = [target.encode(pair.target) for pair in data.train]
    linked = [Pair(pair.source, pair.target, links=pair.links) for pair in data.train]
    examples = CurriculumCorpus(
        sources,
        targets,
        run.training.batch_tokens,
        run.training.seed,
        [row for row, pair in enumerate(data.train) if pair.easy],
        easy_updates,
        encoded_links(linked, sources, targets, tokenizers, run),
    )
    dev = [Pair(pair.source, pair.target) for pair in data.dev]
    task = find_task(run.model.kind)
    assert isinstance(task, TextTask)
    return task.data(examples, dev, tokenizers, run)


class ChunkEncoder:
    """Encodes text by its chunks between spaces, each once: ten times as fast as whole lines."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer
        self._ids: dict[str, list[int]] = {}

    def encode(self, text: str) -> list[int]:
        """The tokenizer's ids of a text with single spaces between its chunks."""
        ids: list[int] = []
        for chunk in text.split(" "):
            if chunk not in self._ids:
                self._ids[chunk] = self._tokenizer.encode(chunk)
            ids += self._ids[chunk]
        return ids


def _tokenizer(lines: Sequence[str], run: Run, language: str) -> Tokenizer:
    """A tokenizer trained on each chunk once: the grammar has few."""
    chunks = sorted({chunk for line in lines for chunk in line.split(" ")})
    return train_tokenizer(chunks, run.text, language, run.training.seed)


@contextmanager
def _no_garbage_collection() -> Iterator[None]:
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()
