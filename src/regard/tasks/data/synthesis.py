"""New pairs by a model: back-translations of target text, and what a large model teaches.

The output is written as it proceeds; the same call continues after an interruption
(`regard.formats.partial_output`).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, replace
from os import PathLike
from typing import TYPE_CHECKING, Any, NamedTuple

from regard.config import SearchOptions
from regard.config.stored import model_checksum
from regard.errors import InputError
from regard.formats import pair_reader, read_lines, read_pairs, require_content
from regard.formats.lines import one_line
from regard.formats.pair_output import check_pair_file, pair_line
from regard.formats.partial_output import PartialOutput
from regard.tasks.data.clean import KEPT, opened
from regard.tasks.translation.bulk import BLOCK_CHARACTERS, BLOCK_LINES
from regard.text.tags import tag_token
from regard.version import __version__

if TYPE_CHECKING:
    from regard.tasks.translation.translation import Translation
    from regard.tasks.translation.translator import Translator

File = str | PathLike[str]
Report = Callable[[str], None]
Progress = Callable[[int], None]


class SynthesisReport(NamedTuple):
    """How many lines were read, and how many were left out since they or their output are empty.

    Both are of this call, without what one before it had done.
    """

    read: int
    skipped: int


def backtranslate(
    files: File | Sequence[File],
    out: File,
    *,
    model: Translator | File,
    settings: SearchOptions | None = None,
    to: str = "",
    tag: str = "",
    encoding: str = "utf-8",
    report: Report = lambda text: None,
    progress: Progress = lambda lines: None,
) -> SynthesisReport:
    """Write pairs of a model's translations, as sources, and the lines that it translated.

    files     text in the target language of the model to be trained, a line each
    out       .tsv or .jsonl
    model     translates back: from that language into the source language
    settings  the search, or sampling (`sample=True`), which gives more varied sources (Edunov et
              al. 2018, "Understanding back-translation at scale")
    to        the source language, if the model has several targets
    tag       written before each source, as in <bt>, so that a model can tell these pairs from
              others (Caswell et al. 2019, "Tagged back-translation")
    """
    translator = opened(model).into(to)
    mark = f"{tag_token(tag)} " if tag else ""
    paths = [files] if isinstance(files, str | PathLike) else list(files)
    lines = (line for path in _checked(paths) for line in read_lines(path, encoding))

    def pair(line: str, translation: Translation) -> tuple[str, str]:
        return mark + translation.text if translation.text.strip() else "", line

    job = _Job(translator, settings or translator.run.decoding, {"back": True, "tag": tag})
    return job.write(out, lines, lambda line: line, pair, report, progress)


def distill(
    files: File | Sequence[File],
    out: File,
    *,
    model: Translator | File,
    settings: SearchOptions | None = None,
    closest: bool = False,
    to: str = "",
    encoding: str = "utf-8",
    report: Report = lambda text: None,
    progress: Progress = lambda lines: None,
) -> SynthesisReport:
    """Write sources with a large model's translations, for a small one to learn from.

    files    pairs in any format, of which the targets are replaced; or text, a source a line
    closest  of all hypotheses of the beam, the one that is closest to the pair's own target by
             sentence chrF, instead of the most probable (Kim and Rush 2016, "Sequence-level
             knowledge distillation", which interpolates in this way)
    to       the target language, if the model has several
    """
    translator = opened(model).into(to)
    paths = [files] if isinstance(files, str | PathLike) else list(files)
    chosen = settings or translator.run.decoding
    if closest:
        if chosen.sample or chosen.beam == 1:
            raise InputError("the closest hypothesis is one of a beam; give a beam above 1.")
        chosen = replace(chosen, n_best=chosen.beam)
    score = _chrf() if closest else None

    def pair(line: str, translation: Translation) -> tuple[str, str]:
        source, _, reference = line.partition("\t")
        outputs = [translation.text, *(other.text for other in translation.alternatives)]
        if score is None:
            return source, outputs[0]
        return source, max(outputs, key=lambda output: score(output, reference))

    job = _Job(translator, chosen, {"closest": closest})
    lines = _pair_lines(_checked(paths), translator, closest, encoding)
    return job.write(
        out, lines, lambda line: line.partition("\t")[0], pair, report, progress, split=False
    )


class _Job(NamedTuple):
    """A model, its search, and what else the output depends on."""

    translator: Translator
    settings: SearchOptions
    more: dict[str, Any]

    def write(
        self,
        out: File,
        lines: Iterator[str],
        text_of: Callable[[str], str],
        pair: Callable[[str, Translation], tuple[str, str]],
        report: Report,
        progress: Progress,
        *,
        split: bool = True,
    ) -> SynthesisReport:
        """Translate the text of each line, and write the pair that the line and it make."""
        check_pair_file(out)
        translator, read, skipped = self.translator, 0, 0
        engine = translator.prepare_engine().engine
        identity = {
            "model": model_checksum(translator.path),
            "version": __version__,
            "engine": engine.precision if engine else "torch",
            "options": {**asdict(self.settings), **self.more, "tags": translator.tags},
        }
        with PartialOutput(out, identity, report) as output:
            rest = output.remaining(iter(lines))
            progress(output.done)
            waiting: deque[str] = deque()  # lines that were read and are not written yet

            def texts() -> Iterator[str]:
                for line in rest:
                    if line is not None:
                        waiting.append(line)
                        yield text_of(line)

            blocks = translator.translate_lines(
                texts(),
                first=output.done,
                max_lines=BLOCK_LINES,
                max_characters=BLOCK_CHARACTERS,
                settings=self.settings,
                split=split,
            )
            for done in blocks:
                block = [waiting.popleft() for _ in done]
                pairs = map(pair, block, done)
                rows = [
                    pair_line(out, KEPT, sides) for sides in pairs if all(map(str.strip, sides))
                ]
                output.write(block, rows)
                read, skipped = read + len(block), skipped + len(block) - len(rows)
                progress(len(block))
            output.finish()
        return SynthesisReport(read, skipped)


def _checked(paths: Sequence[File]) -> list[File]:
    """The files, none of which is missing or empty."""
    for path in paths:
        require_content(path)
    return list(paths)


def _pair_lines(
    paths: Sequence[File], translator: Translator, closest: bool, encoding: str
) -> Iterator[str]:
    """Source, tab, target of each pair; sources alone of a text file."""
    if len(paths) == 1 and pair_reader(paths[0], encoding) is None:
        if closest:
            raise InputError(f"{paths[0]}: the closest hypothesis needs targets; give pairs.")
        yield from (line.replace("\t", " ") for line in read_lines(paths[0], encoding))
        return
    info = translator.info
    languages = (info.source_language, info.target_language) if info.source_language else None
    for raw in read_pairs(paths, languages, encoding=encoding):
        yield "\t".join(one_line(side).replace("\t", " ") for side in (raw.source, raw.target))


def _chrf() -> Callable[[str, str], float]:
    from regard.evaluation.scores import chrf_metric

    metric = chrf_metric()
    return lambda output, reference: float(metric.sentence_score(output, [reference]).score)
