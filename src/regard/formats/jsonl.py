"""JSON Lines: one object a line, the sides under the languages' names or "source" and "target"."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from os import PathLike
from typing import Any

from regard.formats.compressed import open_write
from regard.formats.lines import read_lines
from regard.formats.pair import Languages, RawPair, ReadReport, best_match, format_error


def read_jsonl(
    path: str | PathLike[str],
    languages: Languages | None = None,
    encoding: str = "utf-8",
    report: ReadReport | None = None,
) -> Iterator[RawPair]:
    """The pairs of {"en": …, "fr": …}, {"translation": {…}} or {"source": …, "target": …} lines.

    Other keys are ignored, and so are empty lines.
    """
    for number, line in enumerate(read_lines(path, encoding), start=1):
        if line.strip():
            source, target = _sides(_object(line, path, number), languages, path, number)
            yield RawPair(source, target, str(path), number)


def write_jsonl(path: str | PathLike[str], rows: Iterable[Mapping[str, Any]]) -> None:
    """Write one object a line."""
    with open_write(path) as file:
        for row in rows:
            file.write((json.dumps(row, ensure_ascii=False) + "\n").encode())


def _object(line: str, file: object, number: int) -> dict[str, Any]:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise format_error(
            file, number, f"this is not JSON ({error})", "write one whole object on each line"
        ) from error
    if not isinstance(value, dict):
        raise format_error(
            file,
            number,
            f"a JSON object is expected, not {type(value).__name__}",
            'write e.g. {"source": "…", "target": "…"}',
        )
    return value


def _sides(
    record: dict[str, Any], languages: Languages | None, file: object, number: int
) -> tuple[str, str]:
    inner = record.get("translation")
    fields: dict[str, Any] = inner if isinstance(inner, dict) else record
    keys = list(fields)
    found = [best_match(keys, language) for language in languages or ()]
    if found and None not in found:
        names = [keys[place] for place in found if place is not None]
    elif "source" in fields and "target" in fields:
        names = ["source", "target"]
    else:
        raise format_error(
            file,
            number,
            f"the keys are {', '.join(map(repr, keys)) or 'none'}",
            f'use "source" and "target"{_or_languages(languages)}',
        )
    for name in names:
        if not isinstance(fields[name], str):
            raise format_error(
                file,
                number,
                f'the value of "{name}" is {type(fields[name]).__name__}, not text',
                "put the sentence there as a string",
            )
    return fields[names[0]], fields[names[1]]


def _or_languages(languages: Languages | None) -> str:
    if languages is None:
        return ", or say which languages to read"
    return ' or "{}" and "{}"'.format(*languages)
