"""Tab-separated pairs: source, target, and columns that are ignored (attribution, scores).

There is no quoting, and no header is expected.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from regard.formats.compressed import open_write
from regard.formats.lines import one_line, read_lines
from regard.formats.pair import Languages, Path, RawPair, ReadReport, format_error


def read_tsv(
    path: Path, languages: Languages | None, encoding: str, report: ReadReport
) -> Iterator[RawPair]:
    """The pairs of the first two columns; an empty line is a pair of empty sides."""
    for number, line in enumerate(read_lines(path, encoding), start=1):
        columns = line.split("\t")
        if len(columns) > 2:
            report.add("columns", path, number)
        if len(columns) >= 2:
            yield RawPair(columns[0], columns[1], str(path), number)
        elif not line.strip():
            yield RawPair("", "", str(path), number)
        else:
            problem = "there is one column where two are expected"
            raise format_error(path, number, problem, "put a tab between source and target")


def has_tabs(path: Path, encoding: str = "utf-8") -> bool:
    """Whether the first line that is not empty has columns: then a text file is read as pairs."""
    first = next((line for line in read_lines(path, encoding) if line.strip()), "")
    return "\t" in first.strip()


def write_tsv(path: Path, rows: Iterable[Iterable[str]]) -> None:
    """Write rows of columns; a tab or a line break inside a column becomes a space."""
    with open_write(path) as file:
        for row in rows:
            columns = (one_line(column).replace("\t", " ") for column in row)
            file.write(("\t".join(columns) + "\n").encode())
