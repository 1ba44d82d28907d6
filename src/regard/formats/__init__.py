"""Files of text and of sentence pairs: one module for each format, chosen by the file's suffix.

    .tsv              source, tab, target; further columns are ignored
    .jsonl .ndjson    one object a line: {"en": …, "fr": …}, {"source": …, "target": …} or
                      {"translation": {"en": …, "fr": …}}
    .tmx              translation memories
    .po               gettext catalogues
    .xlf .xliff       XLIFF 1.x and 2.x
    two other files   plain text, aligned line by line

Each may be compressed (`.gz`). Text is UTF-8, with or without a byte order mark (PO and the XML
formats may declare another encoding), and lines end at `\\n` only. What is wrong with a file is an
`InputError` that names the file and the line.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from os import PathLike

from regard.errors import InputError
from regard.formats.compressed import suffix
from regard.formats.jsonl import read_jsonl, write_jsonl
from regard.formats.lines import read_aligned, read_lines, write_lines
from regard.formats.pair import Languages, RawPair
from regard.formats.po import read_po
from regard.formats.tmx import read_tmx
from regard.formats.tsv import read_tsv, write_tsv
from regard.formats.xliff import read_xliff

__all__ = [
    "Languages",
    "RawPair",
    "read_aligned",
    "read_lines",
    "read_pairs",
    "write_jsonl",
    "write_lines",
    "write_tsv",
]

Path = str | PathLike[str]
Reader = Callable[[Path, Languages | None], Iterator[RawPair]]

READERS: dict[str, Reader] = {
    ".tsv": read_tsv,
    ".jsonl": read_jsonl,
    ".ndjson": read_jsonl,
    ".tmx": read_tmx,
    ".po": read_po,
    ".xlf": read_xliff,
    ".xliff": read_xliff,
}


def read_pairs(
    paths: Path | Sequence[Path], languages: Languages | None = None
) -> Iterator[RawPair]:
    """The sentence pairs of one or more files of pairs, or of two aligned files of plain text.

    `languages` is (source, target), e.g. ("en", "fr"); "en" also means "en-US". Formats that name
    their languages (TMX, JSONL with language keys) need it; PO and XLIFF files are checked against
    it, and read backwards where they go the other way.
    """
    chosen = [paths] if isinstance(paths, str | PathLike) else list(paths)
    readers = [READERS.get(suffix(path)) for path in chosen]
    if chosen and all(readers):
        for path, reader in zip(chosen, readers, strict=True):
            assert reader is not None
            yield from reader(path, languages)
    elif len(chosen) == 2 and not any(readers):
        yield from read_aligned(chosen[0], chosen[1])
    else:
        named = ", ".join(str(path) for path in chosen) or "nothing"
        raise InputError(
            f"{named}: sentence pairs are read from files ending in {', '.join(READERS)} "
            "(or these with .gz), or from exactly two aligned files of plain text."
        )
