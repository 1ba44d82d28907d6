"""Pairs written one by one, as TSV or JSON Lines by the file's suffix."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from regard.errors import InputError
from regard.formats.compressed import open_write, suffix
from regard.formats.lines import one_line
from regard.formats.pair import Path

JSON_LINES = frozenset({".jsonl", ".ndjson"})
WRITTEN = (".tsv", ".txt", *sorted(JSON_LINES))

Row = Sequence[str | int | float | None]


def check_pair_file(path: Path) -> None:
    """Raise an error unless pairs can be written under this name."""
    if suffix(path) not in WRITTEN:
        raise InputError(
            f"{path}: pairs are written as {', '.join(WRITTEN)} (also with .gz, .bz2 or .xz); give "
            "such a name."
        )


def pair_line(path: Path, names: Sequence[str], row: Row) -> str:
    """One line of a file, without its end: columns, or an object with these names.

    >>> pair_line("a.tsv", ("source", "target"), ("a\\tb", "c")), pair_line("a.jsonl", ("n",), (1,))
    ('a b\\tc', '{"n": 1}')
    """
    if suffix(path) in JSON_LINES:
        return json.dumps(dict(zip(names, row, strict=True)), ensure_ascii=False)
    return "\t".join("" if item is None else _column(str(item)) for item in row)


@contextmanager
def open_rows(path: Path, names: Sequence[str]) -> Iterator[Callable[[Row], None]]:
    """A function that writes a row; the file appears when all rows are written.

    `names` are the keys of JSON objects; TSV has no header.
    """
    check_pair_file(path)
    with open_write(path) as file:
        yield lambda row: (file.write((pair_line(path, names, row) + "\n").encode()), None)[1]


def _column(text: str) -> str:
    return one_line(text).replace("\t", " ")
