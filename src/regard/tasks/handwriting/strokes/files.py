"""Handwriting files: JSON Lines of {"text": …, "strokes": [[dx, dy, pen_up], …]}."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import NDArray

from regard.formats import read_lines
from regard.formats.pair import format_error
from regard.tasks.handwriting.strokes.lines import StrokeLine
from regard.text import normalize

REMEDY = 'write e.g. {"text": "hi", "strokes": [[0, 0, 0], [0.5, -1.2, 1]]}'


def read_strokes(files: Iterable[str | PathLike[str]]) -> Iterator[StrokeLine]:
    """Read and check the lines of files; dx and dy are movements, y up, pen_up is 0 or 1."""
    for path in files:
        for number, line in enumerate(read_lines(path), start=1):
            if line.strip():
                yield _parse(line, path, number)


def _parse(line: str, path: object, number: int) -> StrokeLine:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise format_error(path, number, f"this is not JSON ({error})", REMEDY) from error
    if not isinstance(value, dict) or not {"text", "strokes"} <= set(value):
        raise format_error(path, number, 'an object with "text" and "strokes" is expected', REMEDY)
    text = normalize(value["text"]) if isinstance(value["text"], str) else ""
    if not text:
        raise format_error(path, number, '"text" must be a non-empty string', REMEDY)
    return StrokeLine(text, _strokes(value["strokes"], path, number))


def _strokes(value: Any, path: object, number: int) -> NDArray[np.float32]:
    if not isinstance(value, Sequence) or len(value) < 2:
        raise format_error(path, number, '"strokes" must be a list of at least two points', REMEDY)
    for index, point in enumerate(value, start=1):
        if not isinstance(point, list) or len(point) != 3 or not all(map(_is_number, point)):
            what = f"point {index} must be three numbers, got {point!r}"
            raise format_error(path, number, what, REMEDY)
        if point[2] not in (0, 1):
            what = f"point {index} must end in 0 (pen down) or 1 (lifted), got {point[2]!r}"
            raise format_error(path, number, what, REMEDY)
    try:
        strokes = np.asarray(value, np.float32)
    except OverflowError:  # a whole number beyond all floats
        strokes = np.full(1, np.inf, np.float32)
    if not np.isfinite(strokes).all():
        raise format_error(path, number, "a movement is not a finite number", REMEDY)
    if not strokes[:, :2].any():
        raise format_error(
            path, number, "the pen never moves", "give dx and dy from point to point"
        )
    strokes[-1, 2] = 1
    return strokes


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
