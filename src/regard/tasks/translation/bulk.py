"""Lines of a file translated in blocks, as rows of an output file."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Literal, NamedTuple

from regard.formats.lines import one_line

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
    """

    first: int
    sources: list[str]
    rows: list[str]
    num_copied: int = 0


def input_blocks(lines: Iterable[str | None], first: int = 0) -> Iterator[tuple[int, list[str]]]:
    """The blocks of lines, the first of which is number `first`, each with its first number."""
    from regard.tasks.translation.translator import windows

    for block in windows(lines, BLOCK_LINES, BLOCK_CHARACTERS):
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
) -> Iterator[LineBlock]:
    """The output for lines, the first of which is number `first`, in their order.

    With `max_characters` the blocks, and thus the batches, are the same in every run.
    """
    windows = translator.translate_lines(
        lines, first=first, max_lines=max_lines, max_characters=max_characters, **options
    )
    for window in windows:
        copied = sum(s.hypothesis is None for done in window for s in done.sentences)
        sources = [translation.source for translation in window]
        yield LineBlock(first, sources, list(_rows(window, layout, first + 1)), copied)
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


def _column(text: str) -> str:
    return one_line(text).replace("\t", " ")
