"""Files of text and of sentence pairs: one module for each format, selected by the suffix.

    .tsv              source, tab, target; further columns are ignored
    one other file    the same, if its first line has a tab
    .jsonl .ndjson    one object a line: {"en": …, "fr": …}, {"source": …, "target": …} or
                      {"translation": {"en": …, "fr": …}}
    .tmx              translation memories
    .po               gettext catalogues
    .xlf .xliff       XLIFF 1.x and 2.x
    two other files   plain text, aligned line by line

Each may be compressed (`.gz`, `.bz2`, `.xz`). Text is UTF-8, with or without a byte order mark, or
in the encoding that is named (PO and the XML formats declare their own), and lines end at `\\n`
only. A malformed file is an `InputError` that names the file and the line.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from os import PathLike
from pathlib import Path as FilePath

from regard.errors import InputError
from regard.formats.compressed import require_content, suffix
from regard.formats.jsonl import read_jsonl
from regard.formats.lines import read_aligned, read_lines, write_lines
from regard.formats.pair import Languages, Path, RawPair, ReadReport
from regard.formats.po import read_po
from regard.formats.tmx import read_tmx
from regard.formats.tsv import has_tabs, read_tsv, write_tsv
from regard.formats.xliff import read_xliff

__all__ = [
    "Languages",
    "RawPair",
    "ReadReport",
    "pair_reader",
    "read_aligned",
    "read_lines",
    "read_pairs",
    "require_content",
    "write_lines",
    "write_tsv",
]

PairReader = Callable[[Path, Languages | None, str, ReadReport], Iterator[RawPair]]
"""Reads the pairs of one file in an encoding; counts the entries it skips in the report."""
READERS: dict[str, PairReader] = {
    ".tsv": read_tsv,
    ".jsonl": read_jsonl,
    ".ndjson": read_jsonl,
    ".tmx": read_tmx,
    ".po": read_po,
    ".xlf": read_xliff,
    ".xliff": read_xliff,
}


def pair_reader(path: Path, encoding: str = "utf-8") -> PairReader | None:
    """The reader of a file of pairs, by its suffix or by the tab in its first line, or None."""
    reader = READERS.get(suffix(path))
    if reader or not FilePath(path).is_file():
        return reader
    return read_tsv if has_tabs(path, encoding) else None


def read_pairs(
    paths: Path | Sequence[Path],
    languages: Languages | None = None,
    *,
    encoding: str = "utf-8",
    report: ReadReport | None = None,
) -> Iterator[RawPair]:
    """The sentence pairs of one or more files of pairs, or of two aligned files of plain text.

    `languages` is (source, target), e.g. ("en", "fr"); "en" also means "en-US". Formats that name
    their languages (TMX, JSONL with language keys) need it; PO and XLIFF files are checked against
    it, and swapped where they are reversed. Skipped entries are counted in `report`.
    """
    files = [paths] if isinstance(paths, str | PathLike) else list(paths)
    for path in files:
        require_content(path)
    if len(files) == 2 and not any(READERS.get(suffix(path)) for path in files):
        yield from read_aligned(files[0], files[1], encoding)
        return
    readers = [pair_reader(path, encoding) for path in files]
    if not readers or not all(readers):
        names = ", ".join(str(path) for path in files) or "nothing"
        raise InputError(
            f"{names}: sentence pairs are read from files ending in {', '.join(READERS)} "
            "(or these with .gz, .bz2 or .xz), from a text file with a tab between source and "
            "target, or from exactly two aligned files of plain text."
        )
    for path, reader in zip(files, readers, strict=True):
        assert reader is not None
        yield from reader(path, languages, encoding, report or ReadReport())
