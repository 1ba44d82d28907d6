"""Pairs of any format, checked one after another: what is kept, and what is dropped and why."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from functools import partial
from itertools import islice
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from regard.config import CleaningSettings
from regard.corpus.pairs import CleaningReport, Pair, PairCheck
from regard.corpus.wrong_language import LanguageCheck
from regard.errors import InputError
from regard.formats import RawPair, ReadReport, read_pairs
from regard.formats.pair_output import check_pair_file, open_rows
from regard.text.language_names import parse_direction
from regard.text.normalization import normalize

if TYPE_CHECKING:
    from regard.tasks.data.pair_scores import PairScore
    from regard.tasks.translation.translator import Translator

File = str | PathLike[str]
WINDOW = 4096  # pairs that a model scores together
KEPT, DROPPED = ("source", "target"), ("reason", "file", "line", "source", "target", "score")
"""The columns of what is kept, and of what is dropped."""
STRICT = CleaningSettings(drop_identical=True)


class JudgedPair(NamedTuple):
    """A pair as it was read, and the reason to drop it (None: it is kept).

    score  of the model, where it is the reason
    """

    raw: RawPair
    reason: str | None
    score: float | None = None


class ModelCheck(NamedTuple):
    """Drops pairs that a trained model finds improbable, or whose words it cannot align."""

    translator: Translator
    min_probability: float = 0.0
    min_alignment: float = 0.0

    def faults(self, pairs: Sequence[Pair]) -> list[tuple[str | None, float | None]]:
        """For each pair the reason to drop it and the score, or None."""
        from regard.tasks.data.pair_scores import score_pairs

        scores = score_pairs(self.translator, pairs, alignment=self.min_alignment > 0)
        return [self._fault(score) for score in scores]

    def _fault(self, score: PairScore | None) -> tuple[str | None, float | None]:
        if score is None:
            return "tokens", None
        if score.probability < self.min_probability:
            return "probability", score.probability
        if score.alignment is not None and score.alignment < self.min_alignment:
            return "alignment", score.alignment
        return None, None


def judge(
    raw_pairs: Iterable[RawPair],
    rules: CleaningSettings = STRICT,
    languages: LanguageCheck | None = None,
    model: ModelCheck | None = None,
) -> Iterator[JudgedPair]:
    """Decide about pairs in their order; in memory are 8 bytes of each kept one and two windows.

    A model scores one window while the next is read and checked.
    """
    check, pairs = PairCheck(rules), iter(raw_pairs)
    scored: Callable[[], list[JudgedPair]] | None = None
    with ThreadPoolExecutor(1) as background:
        while window := list(islice(pairs, WINDOW)):
            normal = [Pair(normalize(raw.source), normalize(raw.target)) for raw in window]
            reasons: list[str | None] = list(map(check.fault, normal))
            if languages:
                reasons = [
                    reason or languages.fault(pair)
                    for reason, pair in zip(reasons, normal, strict=True)
                ]
            judged = list(map(JudgedPair, window, reasons))
            if model is None:
                yield from judged
                continue
            rest = [row for row, reason in enumerate(reasons) if reason is None]
            faults = background.submit(model.faults, [normal[row] for row in rest])
            if scored is not None:
                yield from scored()
            scored = partial(_with_faults, judged, rest, faults)
        if scored is not None:
            yield from scored()


def _with_faults(
    judged: list[JudgedPair],
    rows: Sequence[int],
    faults: Future[list[tuple[str | None, float | None]]],
) -> list[JudgedPair]:
    """The pairs with the faults that a model has found in some rows, when it is done."""
    for row, fault in zip(rows, faults.result(), strict=True):
        judged[row] = JudgedPair(judged[row].raw, *fault)
    return judged


def clean(
    files: File | Sequence[File],
    out: File,
    *,
    languages: str = "",
    dropped: File | None = None,
    rules: CleaningSettings = STRICT,
    any_language: bool = False,
    model: Translator | File | None = None,
    min_probability: float = 0.0,
    min_alignment: float = 0.0,
    encoding: str = "utf-8",
    progress: Callable[[int], None] = lambda pairs: None,
) -> CleaningReport:
    """Write the pairs of files that are fit to learn from, and report what was dropped.

    files            one file of pairs or more of any format, or two aligned text files
    out              .tsv or .jsonl for the pairs that are kept, unchanged
    languages        as in en-fr: text in another language is dropped, unless `any_language`
    dropped          .tsv or .jsonl for the others: reason, file, line, source, target, score
    rules            lengths, their ratio, copies and duplicates
    model            a translator (or its folder) that scores the pairs
    min_probability  least geometric mean of the probability of a target token (`PairScore`)
    min_alignment    least alignment score (`PairScore`)
    progress         called with the number of pairs that were read since the last call
    """
    for path in (out, dropped):
        if path is not None:
            check_pair_file(path)
    if dropped is not None and Path(dropped).absolute() == Path(out).absolute():
        raise InputError(f"{out}: what is kept and what is dropped need a file each.")
    source, _, target = parse_direction(languages).partition("-") if languages else ("", "", "")
    check = LanguageCheck(source, target) if target and not any_language else None
    scored = _model_check(model, min_probability, min_alignment)
    report = CleaningReport(passed_over=ReadReport())
    named = (source, target) if target else None
    raw = read_pairs(files, named, encoding=encoding, report=report.passed_over)
    with ExitStack() as stack:
        keep = stack.enter_context(open_rows(out, KEPT))
        drop = stack.enter_context(open_rows(dropped, DROPPED)) if dropped is not None else None
        for pair, reason, score in judge(raw, rules, check, scored):
            report.read += 1
            progress(1)
            if reason is None:
                report.kept += 1
                keep((pair.source, pair.target))
                continue
            report.drop(reason, pair)
            if drop:
                shown = None if score is None else round(score, 6)
                drop((reason, pair.file, pair.line, pair.source, pair.target, shown))
    return report


def _model_check(
    model: Translator | File | None, min_probability: float, min_alignment: float
) -> ModelCheck | None:
    for name, value in (("probability", min_probability), ("alignment", min_alignment)):
        if not 0 <= value <= 1:
            raise InputError(f"the least {name} must be from 0 to 1, got {value:g}.")
    if model is None:
        if min_probability or min_alignment:
            raise InputError("probability and alignment are scores of a model; give --model DIR.")
        return None
    if not (min_probability or min_alignment):
        raise InputError(
            "say what the model is to drop: --min-probability 0.02, --min-alignment 0.3 or both."
        )
    return ModelCheck(opened(model, "fp32"), min_probability, min_alignment)


def opened(model: Translator | File, precision: str = "auto") -> Translator:
    """The translator of a folder, with an engine of this precision, or the given one."""
    if not isinstance(model, str | PathLike):
        return model
    from regard.tasks.commands import open_model

    translator: Translator = open_model(str(model), "translate", precision=precision)
    return translator
