"""`python -m benchmarks alignment`: alignment error rate and seconds, against eflomal.

Both aligners learn from exactly the same text, in both directions, and their links are symmetrized
by the same functions. The error rate is in percent, over the sentences with gold links.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from functools import cache, partial
from io import StringIO
from pathlib import Path
from typing import NamedTuple

from benchmarks.alignment.corpora import CORPORA, GoldText
from benchmarks.kernel_regression import peer
from benchmarks.measurement import Measurement
from regard.alignment import BidirectionalLinks, align_bidirectional, symmetrize
from regard.errors import InputError
from regard.evaluation import gold_alignment_error_rate
from regard.formats.word_links import read_links

METHODS = ("intersection", "grow-diag-final-and")


class Aligned(NamedTuple):
    """Links of the sentences with gold ones, and the seconds that all of the text took."""

    links: BidirectionalLinks
    seconds: float

    def error_rate(self, text: GoldText, method: str) -> float:
        """The alignment error rate, in percent."""
        scores = gold_alignment_error_rate(symmetrize(*self.links, method), text.gold)
        return 100 * scores.error_rate


def measurements(repeats: int, data: str | None = None) -> Iterator[Measurement]:
    """The rows of both texts; one run of each aligner gives all of them."""
    if data is None:
        raise InputError("name the folder of gold alignments and text with --data DIR.")
    if repeats != 1:
        raise InputError("both aligners are deterministic enough for one run; leave --repeats out.")
    for name in CORPORA:
        for method in METHODS:
            yield Measurement(
                f"{name}, {method}: AER in %", partial(_error_rates, name, data, method), "<=", 1.0
            )
        yield Measurement(f"{name}: seconds", partial(_seconds, name, data), "<=", 2.0)


def _error_rates(name: str, data: str, method: str) -> tuple[float, float]:
    text = _text(name, data)
    ours, theirs = _ours(name, data), _eflomal(name, data)
    return ours.error_rate(text, method), theirs.error_rate(text, method)


def _seconds(name: str, data: str) -> tuple[float, float]:
    return _ours(name, data).seconds, _eflomal(name, data).seconds


@cache
def _text(name: str, data: str) -> GoldText:
    return CORPORA[name].read(Path(data))


@cache
def _ours(name: str, data: str) -> Aligned:
    text = _text(name, data)
    begun = time.perf_counter()
    forward, backward = align_bidirectional(text.sources, text.targets)
    num_gold = len(text.gold)
    links = BidirectionalLinks(forward[:num_gold], backward[:num_gold])
    return Aligned(links, time.perf_counter() - begun)


@cache
def _eflomal(name: str, data: str) -> Aligned:
    """The links of eflomal at its defaults: three samplers of its HMM with fertility."""
    text, eflomal = _text(name, data), peer("eflomal")
    lines = [
        StringIO("".join(" ".join(words) + "\n" for words in side))
        for side in (text.sources, text.targets)
    ]
    with tempfile.TemporaryDirectory() as folder:
        files = [Path(folder) / side for side in ("forward", "backward")]
        begun = time.perf_counter()
        eflomal.Aligner().align(
            *lines, links_filename_fwd=str(files[0]), links_filename_rev=str(files[1])
        )
        seconds = time.perf_counter() - begun
        links = [[line.sure for line in read_links(file)][: len(text.gold)] for file in files]
    return Aligned(BidirectionalLinks(*links), seconds)
