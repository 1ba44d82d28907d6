"""Lines of a file translated in blocks, as rows of an output file."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Literal, NamedTuple

from regard.formats.lines import one_line
from regard.text.segments import MAX_WORD

if TYPE_CHECKING:
    from regard.tasks.translation.translation import TranslateKeywords, Translation
    from regard.tasks.translation.translator import Translator

Layout = Literal["text", "tsv", "json", "n-best"]
BLOCK_LINES, BLOCK_CHARACTERS = 4096, 64_000
"""Most lines and characters of a block; fixed, so that blocks do not depend on the speed."""


class LineBlock(NamedTuple):
    """Consecutive lines and their output.

    first       number of the first line, from 0
    sources     the lines
    rows        the rows of output; several for each line if n-best
    num_copied  the number of words that were copied because of their length
    notes       what a reader should look at, with the line's number
    """

    first: int
    sources: list[str]
    rows: list[str]
    num_copied: int = 0
    notes: Sequence[str] = ()


def input_blocks(lines: Iterable[str | None], first: int = 0) -> Iterator[tuple[int, list[str]]]:
    """The blocks of lines, the first of which is number `first`, each with its first number."""
    from regard.tasks.translation.batching import windows

    for block in filter(None, windows(lines, BLOCK_LINES, BLOCK_CHARACTERS)):
        yield first, block
        first += len(block)


def translate_blocks(
    translator: Translator,
    lines: Iterable[str | None],
    layout: Layout,
    options: TranslateKeywords,
    *,
    first: int = 0,
    max_lines: int = BLOCK_LINES,
    max_characters: int | None = BLOCK_CHARACTERS,
    check: bool = False,
) -> Iterator[LineBlock]:
    """The output for lines, the first of which is number `first`, in their order.

    With `check` the notes are also about what may be left out or repeated.
    With `max_characters` the blocks, and thus the batches, are the same in every run.
    """
    windows = translator.translate_lines(
        lines, first=first, max_lines=max_lines, max_characters=max_characters, **options
    )
    for window in windows:
        copied = sum(
            len(s.source) >= MAX_WORD and s.source == s.text and s.hypothesis is None
            for done in window
            for s in done.sentences
        )
        sources = [translation.source for translation in window]
        rows, notes = list(_rows(window, layout, first + 1)), list(_notes(window, check, first + 1))
        yield LineBlock(first, sources, rows, copied, notes)
        first += len(window)


def _rows(window: list[Translation], layout: Layout, number: int) -> Iterator[str]:
    """The rows of output for translations, the first of which is of line `number`, from 1."""
    for line, best in enumerate(window, start=number):
        if layout == "json":
            yield json.dumps(best.as_dict(), ensure_ascii=False)
        elif layout == "tsv":
            yield "\t".join(map(_column, (best.source, best.text)))
        elif layout == "n-best":
            alternatives = [(other.text, other.score) for other in best.alternatives]
            if len(best.sentences) == 1:
                alternatives = list(best.sentences[0].alternatives)
            for text, score in ((best.text, best.score), *alternatives):
                yield f"{line}\t{score:.4f}\t{_column(text)}"
        else:
            yield best.text


def _notes(window: list[Translation], check: bool, number: int) -> Iterator[str]:
    """The warnings; with `check`, those about numbers and all flags too."""
    for line, translation in enumerate(window, start=number):
        for warning in translation.warnings:
            if check or warning.kind != "number":
                yield f"line {line}: {warning.message}"
        for note in translation.notes if check else ():
            yield f"line {line}: {note}"


def _column(text: str) -> str:
    return one_line(text).replace("\t", " ")
