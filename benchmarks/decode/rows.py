"""`python -m benchmarks decode`: target tokens per second in translation, against the peers.

All sides have the same weights and sentences, and go from text to text. They take turns, round by
round, and the median of the rounds' ratios counts; a peer runs at its best setting of threads.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path

from benchmarks.decode.models import Sentences, model_folder, test_sentences
from benchmarks.decode.sides import Reference, Regard, Side, bare_ctranslate2, hugging_face
from benchmarks.measurement import Measurement
from benchmarks.model_names import row_prefix
from regard.bench.row import Row
from regard.tasks import load
from regard.tasks.translation.translation import OptionKeywords
from regard.tasks.translation.translator import Translator

SENTENCES = 512
SEARCHES = [(64, 1), (64, 5), (1, 1), (1, 5)]  # batch, beam
STARTS = 5
BARS = (0.8, 0.85, 0.7, 0.7)
ASKED: list[tuple[str, OptionKeywords, tuple[str, ...], tuple[float, ...]]] = [
    ("plain", {"alignment": False}, (), (0.95, 0.95, 0.92, 0.92)),
    ("as called by default", {}, (), BARS),
    ("with links and confidence read", {}, ("alignment", "confidence"), BARS),
    ("with all maps", {"attention": True}, ("attention",), (0.5, 0.6, 0.4, 0.4)),
]
"""What `translate` is asked for: options, fields of every sentence that are read besides its text,
and the bars of the searches."""

Sides = Callable[[], AbstractContextManager[Sequence[Side]]]


@dataclass(frozen=True)
class Race:
    """A row to be measured: a side of ours against the fastest of a peer's."""

    name: str
    bar: float
    batch: int
    beam: int
    translator: Callable[[], Translator] = field(repr=False)  # counts tokens
    ours: Callable[[], Side] = field(repr=False)
    peers: Sides = field(repr=False)
    sentences: Callable[[], Sentences] = field(repr=False)
    repeats: int = 3

    def __call__(self) -> Row:
        """Measure the row; the first round warms up and chooses the peer's fastest side."""
        ours = self.ours()
        with self.peers() as peers:
            self._speed(ours)
            best = max(peers, key=self._speed) if len(peers) > 1 else peers[0]
            rounds = [(self._speed(ours), self._speed(best)) for _ in range(self.repeats)]
        ratio = statistics.median(a / b for a, b in rounds)
        mine, theirs = (statistics.median(speeds) for speeds in zip(*rounds, strict=True))
        return Row(self.name, mine, theirs, ratio, ">=", self.bar)

    def _speed(self, side: Side) -> float:
        """Target tokens per second, those of </s> included."""
        start = time.perf_counter()
        texts = side.translate(self.sentences().sources, self.beam, self.batch)
        seconds = time.perf_counter() - start
        encode = self.translator().tokenizers.target.encode
        speed = sum(len(encode(text)) + 1 for text in texts) / seconds
        print(f"  {type(side).__name__}: {speed:,.0f} tokens/s", file=sys.stderr, flush=True)
        return speed


def measurements(
    repeats: int = 3,
    *,
    model: str | None = None,
    rnn: str | None = None,
    data: str | None = None,
    sentences: int = SENTENCES,
) -> Iterator[Race | Measurement]:
    """All rows of the benchmark."""

    @cache
    def texts() -> Sentences:
        return test_sentences(data, sentences)

    @cache
    def transformer(engine: str) -> Translator:
        translator: Translator = load(model_folder("transformer", model, data), engine=engine)
        return translator

    @cache
    def recurrent() -> Translator:
        translator: Translator = load(model_folder("rnn", rnn, data))
        return translator

    def opened() -> Translator:
        return transformer("torch")

    prefix = row_prefix(model)

    def race(
        name: str, bar: float, search: tuple[int, int], ours: Callable[[], Side], peers: Sides
    ) -> Race:
        batch, beam = search
        kind = "greedy" if beam == 1 else f"beam {beam}"
        counted = f"{prefix}{name}, batch {batch}, {kind}"
        return Race(counted, bar, batch, beam, opened, ours, peers, texts, repeats)

    for mode, options, read, bars in ASKED:
        for search, bar in zip(SEARCHES, bars, strict=True):
            yield race(
                f"translate {mode} over bare CTranslate2 int8",
                bar,
                search,
                partial(
                    lambda read, opened: Regard(transformer("auto"), read, **opened), read, options
                ),
                lambda: bare_ctranslate2(opened(), int8=True),
            )
    for search, bar in zip(SEARCHES, (1.0, 1.0, 0.6, 0.6), strict=True):
        yield race(
            "own engine over bare CTranslate2 fp32",
            bar,
            search,
            lambda: Regard(opened(), alignment=False),
            lambda: bare_ctranslate2(opened(), int8=False),
        )
    for batch in (64, 1):
        yield race(
            "own engine over transformers' generate",
            4.0,
            (batch, 1),
            lambda: Regard(opened(), alignment=False),
            lambda: hugging_face(opened()),
        )
    for beam in (1, 5):
        yield race(
            "recurrent (Bahdanau): prepared over plain network",
            3.0,
            (64, beam),
            lambda: Regard(recurrent(), alignment=False),
            lambda: nullcontext([Reference(recurrent())]),
        )
    yield Measurement(
        f"{prefix}BLEU of the chosen engine, away from fp32's",
        lambda: (_bleu_difference(transformer("auto"), opened(), texts()), None),
        "<=",
        0.1,
    )
    yield Measurement(
        f"{prefix}`regard translate` of one sentence, seconds from start to answer",
        lambda: (_start(model_folder("transformer", model, data), texts().sources[0]), None),
        "<=",
        0.45,
    )


def _bleu_difference(chosen: Translator, fp32: Translator, sentences: Sentences) -> float:
    from regard.evaluation.scores import corpus_scores

    first, second = (
        corpus_scores(
            Regard(translator, alignment=False).translate(sentences.sources, 5, 64),
            sentences.references,
            "de",
        ).bleu
        for translator in (chosen, fp32)
    )
    print(f"  BLEU {first:.2f}, in fp32 {second:.2f}", file=sys.stderr, flush=True)
    return abs(first - second)


def _start(folder: Path, sentence: str) -> float:
    """Median seconds of the command, with compiled bytecode as pip installs it.

    The first run, which does not count, may prepare the engine and write the bytecode.
    """
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    words = [sys.executable, "-m", "regard", "translate", "--model", str(folder), sentence]
    seconds = []
    for _ in range(1 + STARTS):
        start = time.perf_counter()
        subprocess.run(words, check=True, capture_output=True, env=environment)
        seconds.append(time.perf_counter() - start)
    return statistics.median(seconds[1:])
