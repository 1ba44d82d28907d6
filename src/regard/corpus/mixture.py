"""Several corpora in one training: how often their pairs are seen, and what marks them.

news.tsv:2.0:tag=news    each pair twice an epoch, with the tag <news> before its source
train.en,train.de:en-de  two aligned files of a language pair of their own
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

from regard.errors import InputError
from regard.text.language_names import parse_direction, parse_directions
from regard.text.tags import tag_token

if TYPE_CHECKING:  # the help of `regard train` reads this module, and is to be fast
    import numpy as np
    from numpy.typing import NDArray

_WEIGHT = re.compile(r"\d+(\.\d*)?|\.\d+")
_DIRECTION = re.compile(r"[A-Za-z]{2,3}(_[A-Za-z]+)?-[A-Za-z]{2,3}(_[A-Za-z]+)?")
MAX_WEIGHT = 1000.0


@dataclass(frozen=True)
class CorpusPart:
    """Files of pairs, with their weight, languages and tag.

    files      one file of pairs or more, or two aligned text files
    weight     how often each pair is seen in an epoch, on average; of a run's default, once
    languages  their language pair, if it is not the run's
    tag        token before every source sentence, as in <news>
    """

    files: tuple[str, ...]
    weight: float = 1.0
    languages: str = ""
    tag: str = ""

    def __post_init__(self) -> None:
        if not 0 < self.weight <= MAX_WEIGHT:
            raise InputError(
                f"{', '.join(self.files)}: a weight must be above 0 and at most {MAX_WEIGHT:g}, "
                f"got {self.weight:g}."
            )


def parse_part(text: str) -> CorpusPart:
    """A corpus as `regard train --corpus` takes it: FILE[:WEIGHT][:LANGUAGES][:tag=NAME].

    What follows the file may be in any order. Two aligned files are FILE,FILE.

    >>> parse_part("news.tsv:2.0:tag=news")
    CorpusPart(files=('news.tsv',), weight=2.0, languages='', tag='<news>')
    >>> parse_part("train.en,train.de:en-de").languages
    'en-de'
    """
    name, options = text, dict[str, str]()
    while ":" in name:
        before, _, last = name.rpartition(":")
        kind = _kind_of(last)
        if kind is None:
            break
        if kind in options:
            raise InputError(f"--corpus {text}: the {kind} is given twice; leave one out.")
        options[kind], name = last, before
    if not name:
        raise InputError(f"--corpus {text}: the file is missing; write FILE:WEIGHT:tag=NAME.")
    _, colon, last = name.rpartition(":")
    if colon and not Path(name).exists():
        raise InputError(
            f"--corpus {text}: {last!r} is neither a weight (2.0), languages (en-fr) nor a tag "
            "(tag=news)."
        )
    return CorpusPart(
        _files(name),
        float(options.get("weight", 1)),
        parse_direction(options["languages"]) if "languages" in options else "",
        tag_token(options["tag"].removeprefix("tag=")) if "tag" in options else "",
    )


def parse_dev(files: Sequence[str | PathLike[str]]) -> list[str | CorpusPart]:
    """The files of a development set; where one names its languages or its tag, each is a part."""
    parts = [parse_part(str(file)) for file in files]
    if any(part.languages or part.tag for part in parts):
        return list(parts)
    return [str(file) for file in files]


def all_languages(stated: str | None, parts: Sequence[CorpusPart]) -> str:
    """The language pairs of a run: those stated and those of the parts, with commas between."""
    known = parse_directions(stated).split(",") if stated else []
    return ",".join(filter(None, dict.fromkeys([*known, *(part.languages for part in parts)])))


def _kind_of(word: str) -> str | None:
    """What follows a file's name, or None if it is part of the name."""
    if _WEIGHT.fullmatch(word):
        return "weight"
    if word.startswith("tag="):
        return "tag"
    return "languages" if _DIRECTION.fullmatch(word) else None


def _files(name: str) -> tuple[str, ...]:
    """One file, or two with a comma between, unless there is a file of that name."""
    return (name,) if Path(name).exists() or name.count(",") != 1 else tuple(name.split(","))


def occurrences(
    weights: Sequence[float] | NDArray[np.float64], seed: int, epoch: int
) -> NDArray[np.int64]:
    """How often each pair occurs in an epoch, so that it is seen `weight` times on average.

        n(e) = ⌊(e + 1) · w + u⌋ − ⌊e · w + u⌋,   u drawn from [0, 1) for each pair

    So after any number of epochs E each pair was seen ⌊E · w⌋ or ⌈E · w⌉ times. It depends on seed
    and epoch alone. At least one pair occurs.

    >>> [occurrences([2.0, 0.5], 0, epoch).tolist() for epoch in range(4)]
    [[2, 1], [2, 0], [2, 1], [2, 0]]
    """
    import numpy as np

    often = np.asarray(weights, np.float64)
    offset = np.random.default_rng([seed, 0x3D]).random(len(often))
    counts = np.floor((epoch + 1) * often + offset) - np.floor(epoch * often + offset)
    if len(counts) and not counts.any():
        counts[epoch % len(counts)] = 1
    return counts.astype(np.int64)
