"""JSON Lines: one object a line, the sides under the languages' names or "source" and "target"."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from regard.formats.lines import read_lines
from regard.formats.pair import Languages, Path, RawPair, ReadReport, best_match, format_error


def read_jsonl(
    path: Path, languages: Languages | None, encoding: str, report: ReadReport
) -> Iterator[RawPair]:
    """The pairs of {"en": …, "fr": …}, {"translation": {…}} or {"source": …, "target": …} lines.

    Other keys and empty lines are ignored.
    """
    for number, line in enumerate(read_lines(path, encoding), start=1):
        if line.strip():
            record = read_object(line, path, number, '{"source": "…", "target": "…"}')
            source, target = _sides(record, languages, path, number)
            yield RawPair(source, target, str(path), number)


def read_object(line: str, file: object, number: int, form: str) -> dict[str, Any]:
    """The JSON object of a line; an error shows the form that is expected."""
    try:
        value = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise format_error(file, number, f"this is not JSON ({error})", f"write {form}") from error
    if not isinstance(value, dict):
        problem = f"a JSON object is expected, got {type(value).__name__}"
        raise format_error(file, number, problem, f"write {form}")
    return value


def _sides(
    record: dict[str, Any], languages: Languages | None, file: object, number: int
) -> tuple[str, str]:
    inner = record.get("translation")
    fields: dict[str, Any] = inner if isinstance(inner, dict) else record
    keys = list(fields)
    matches = [best_match(keys, language) for language in languages or ()]
    if matches and None not in matches:
        names = [keys[index] for index in matches if index is not None]
    elif "source" in fields and "target" in fields:
        names = ["source", "target"]
    else:
        named = ' or "{}" and "{}"'.format(*languages) if languages else ""
        alternative = named or ", or name the languages to read"
        problem = f"the keys are {', '.join(map(repr, keys)) or 'none'}"
        raise format_error(file, number, problem, f'use "source" and "target"{alternative}')
    for name in names:
        if not isinstance(fields[name], str):
            problem = f'the value of "{name}" must be a string, got {type(fields[name]).__name__}'
            raise format_error(file, number, problem, "put the sentence there")
    return fields[names[0]], fields[names[1]]
