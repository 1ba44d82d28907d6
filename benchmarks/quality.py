"""What `regard train … --minutes 60`, without any other setting, learns from real corpora.

`--data` is a folder with the corpora: multi30k-en-de (train, val and test_2016_flickr, each .en and
.de), tatoeba/en-fr.tsv and python-docs/en-zh.tsv. Of the last two, 2,000 pairs are held out; all
pairs of one English sentence are on one side. Models are kept below `--out`; one that is there
already is only evaluated.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from benchmarks.measurement import Measurement
from benchmarks.regard_command import run_regard
from regard.corpus.pairs import Pair
from regard.corpus.splits import split_dev
from regard.errors import InputError
from regard.formats import read_pairs
from regard.storage import replace_file

HELD_OUT = 2000
MINUTES = 60


def measurements(
    repeats: int, data: str | None = None, out: str = "quality", minutes: int = MINUTES
) -> Iterator[Measurement]:
    """The rows: BLEU, and for Chinese chrF, with a beam of 5."""
    if data is None:
        raise InputError("--data is missing; give the folder of the corpora.")
    source, target = Path(data), Path(out)

    def row(name: str, score: str, bar: float, trained: Callable[[], TrainedModel]) -> Measurement:
        return Measurement(name, lambda: (trained().scores[score], None), ">=", bar)

    multi30k, made = Multi30k(source / "multi30k-en-de"), dict[str, TrainedModel]()

    def model(name: str, corpus: Multi30k | HeldOut, *flags: str) -> Callable[[], TrainedModel]:
        return lambda: made.setdefault(name, TrainedModel(target / name, corpus, minutes, flags))

    tatoeba = HeldOut(source / "tatoeba" / "en-fr.tsv", "en-fr", target)
    docs = HeldOut(source / "python-docs" / "en-zh.tsv", "en-zh", target)
    lower = "bleu_lowercase"
    yield row("Multi30k en-de, lower-cased BLEU", lower, 40.0, model("multi30k", multi30k))
    rnn = model("multi30k-rnn", multi30k, "--model.kind", "rnn")
    yield row("Multi30k en-de, rnn, lower-cased BLEU", lower, 35.0, rnn)
    yield row("Tatoeba en-fr, BLEU", "bleu", 45.0, model("tatoeba", tatoeba))
    chinese = model("python-docs", docs)
    yield row("python-docs en-zh, BLEU (zh)", "bleu", 1.0, chinese)
    yield row("python-docs en-zh, chrF", "chrf", 1.0, chinese)


@dataclass(frozen=True)
class Multi30k:
    """The folder of Multi30k."""

    folder: Path
    languages = "en-de"

    def files(self) -> tuple[list[Path], list[Path]]:
        """Flags with the files to train on, and the files of the test set."""
        train, dev, test = (
            [self.folder / f"{name}.{side}" for side in ("en", "de")]
            for name in ("train", "val", "test_2016_flickr")
        )
        return [*train, Path("--dev"), *dev], test


@dataclass(frozen=True)
class HeldOut:
    """A file of pairs, some of which are held out for the test."""

    path: Path
    languages: str
    out: Path

    def files(self) -> tuple[list[Path], list[Path]]:
        """The files of the two parts, written on first use."""
        name = f"{self.path.parent.name}-{self.languages}"
        train, test = (self.out / f"{name}.{part}.tsv" for part in ("train", "test"))
        if not test.is_file():
            self.out.mkdir(parents=True, exist_ok=True)
            pairs = [Pair(raw.source, raw.target) for raw in read_pairs([str(self.path)], None)]
            for path, part in zip((train, test), split_dev(pairs, HELD_OUT, 0), strict=True):
                rows = (f"{pair.source}\t{pair.target}\n" for pair in part)
                replace_file(path, "".join(rows))
        return [train], [test]


@dataclass(frozen=True)
class TrainedModel:
    """A model folder, trained if it is not there yet."""

    folder: Path
    corpus: Multi30k | HeldOut
    minutes: int
    flags: tuple[str, ...]

    @cached_property
    def scores(self) -> dict[str, float]:
        """The scores of the test set, as `regard evaluate --json` prints them."""
        train, test = self.corpus.files()
        if not (self.folder / "metrics.json").is_file():
            run_regard(
                "train",
                *train,
                "--languages",
                self.corpus.languages,
                "--out",
                self.folder,
                "--minutes",
                self.minutes,
                *self.flags,
            )
        words = ["evaluate", *test, "--model", self.folder, "--beam", 5, "--json"]
        done = subprocess.run(
            [sys.executable, "-m", "regard", *map(str, words)],
            stdout=subprocess.PIPE,
            check=True,
            encoding="utf-8",
        )
        scores: dict[str, float] = json.loads(done.stdout)
        print(f"  {self.folder}: {scores}", file=sys.stderr, flush=True)
        return scores
