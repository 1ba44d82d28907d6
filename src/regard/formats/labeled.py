"""Labeled text: `label<TAB>text` per line (.tsv), or {"label": …, "text": …} (.jsonl)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from regard.formats.compressed import require_content, suffix
from regard.formats.jsonl import read_object
from regard.formats.lines import read_lines
from regard.formats.pair import Path, format_error

JSON_LINES = (".jsonl", ".ndjson")


class LabeledText(NamedTuple):
    """A text and its label as read, with their file and line (from 1)."""

    label: str
    text: str
    file: str
    line: int


def read_labeled(path: Path, encoding: str = "utf-8") -> Iterator[LabeledText]:
    """Read the labeled texts of a file; empty lines are skipped.

    In a .tsv the first column is the label, the second the text, and further columns are ignored.
    """
    require_content(path)
    numbered = enumerate(read_lines(path, encoding), start=1)
    lines = ((number, line) for number, line in numbered if line.strip())
    if suffix(path) in JSON_LINES:
        yield from (_parse_object(line, path, number) for number, line in lines)
    elif suffix(path) == ".tsv":
        for number, line in lines:
            label, tab, rest = line.partition("\t")
            if not tab:
                raise format_error(
                    path,
                    number,
                    "there is one column where a label and a text are expected",
                    "put a tab between label and text",
                )
            if not label.strip():
                raise format_error(path, number, "the label is empty", "put a label before the tab")
            yield LabeledText(label.strip(), rest.partition("\t")[0], str(path), number)
    else:
        raise format_error(
            path,
            None,
            "labeled text is read from files ending in .tsv or .jsonl (or with .gz), "
            "labeled series from .npz or .jsonl",
            "rename or convert the file",
        )


def as_label(value: object) -> str | None:
    """A label as text, from text, a whole number or a boolean; None if it is none of these.

    >>> as_label(" joy "), as_label(3), as_label(True), as_label(0.5)
    ('joy', '3', 'true', None)
    """
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int):
        return str(value)
    return value.strip() or None if isinstance(value, str) else None


def _parse_object(line: str, path: Path, number: int) -> LabeledText:
    form = '{"label": "…", "text": "…"}'
    value = read_object(line, path, number, form)
    label, text = as_label(value.get("label")), value.get("text")
    if label is None or not isinstance(text, str):
        keys = ", ".join(map(repr, value)) or "none"
        raise format_error(
            path,
            number,
            f"a label and a text are expected, got the keys {keys}",
            f"write {form}",
        )
    return LabeledText(label, text, str(path), number)
