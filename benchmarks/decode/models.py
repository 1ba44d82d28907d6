"""The models and sentences of the benchmark: Multi30k, trained on first use and cached."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.regard_command import run_regard
from regard.errors import InputError

TEST = "test_2016_flickr"
MINUTES = {"transformer": 45, "rnn": 30}
NEEDS = "give --data DIR with train, val and test_2016_flickr of Multi30k (.en and .de)"


@dataclass(frozen=True)
class Sentences:
    """Sentences of the test set, and their references."""

    sources: Sequence[str]
    references: Sequence[str]


def test_sentences(data: str | None, count: int) -> Sentences:
    """The first sentences of the test set."""
    if data is None:
        raise InputError(f"the benchmark needs sentences to translate; {NEEDS}.")
    sources, references = (_lines(Path(data) / f"{TEST}.{side}", count) for side in ("en", "de"))
    return Sentences(sources, references)


def model_folder(kind: str, path: str | None, data: str | None) -> Path:
    """The folder of a kind of model: as given, or trained by the command and cached."""
    if path:
        return Path(path)
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    folder = cache / "regard" / "bench" / f"multi30k-{kind}"
    if not (folder / "metrics.json").is_file():
        if data is None:
            raise InputError(f"the {kind} of the benchmark is not trained yet; {NEEDS}.")
        minutes = MINUTES[kind]
        print(f"  training in {folder} ({minutes} minutes, once) …", file=sys.stderr, flush=True)
        train, dev = (
            [Path(data) / f"{name}.{side}" for side in ("en", "de")] for name in ("train", "val")
        )
        run_regard(
            "train",
            *train,
            "--dev",
            *dev,
            "--languages",
            "en-de",
            "--preset",
            "small",
            "--model.kind",
            kind,
            "--minutes",
            minutes,
            "--out",
            folder,
        )
    return folder


def _lines(path: Path, count: int) -> list[str]:
    if not path.is_file():
        raise InputError(f"{path}: there is no such file; {NEEDS}.")
    return path.read_text("utf-8").splitlines()[:count]
