"""Numeric series with labels: NumPy archives (.npz) and JSON Lines. Never a pickle.

N series, C channels, T time steps ("moments" in messages).

    .npz     x (N, C, T) numbers; y (N,) labels, text or whole numbers (optional); channels (C,)
             their names (optional)
    .jsonl   an object per line: {"label": …, "series": [[…], …]}, a list for each channel; lengths
             may differ between lines; {"channels": […]} may be in any line
"""

from __future__ import annotations

import io
import json
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from regard.formats.compressed import read_bytes, suffix
from regard.formats.jsonl import read_object
from regard.formats.labeled import JSON_LINES, as_label
from regard.formats.lines import read_lines
from regard.formats.pair import Path, format_error
from regard.storage import atomic_open

SeriesArray = NDArray[np.float32]
FORM = '{"label": "…", "series": [[…], …]}'


class SeriesFile(NamedTuple):
    """Content of a series file.

    rows      N series (C, T); lengths may differ
    labels    N labels; None if the file has none
    channels  names of the channels; empty if the file has none
    """

    rows: list[SeriesArray]
    labels: list[str] | None
    channels: tuple[str, ...]


def is_series(path: Path) -> bool:
    """Whether a file holds series, by its suffix, or by the first line of a .jsonl."""
    if suffix(path) == ".npz":
        return True
    if suffix(path) not in JSON_LINES:
        return False
    first = next((line for line in read_lines(path) if line.strip()), "")
    try:
        value = json.loads(first)
    except (json.JSONDecodeError, RecursionError):
        return False
    return isinstance(value, dict) and bool({"series", "channels"} & value.keys())


def read_series(path: Path) -> SeriesFile:
    """Read the series of a file."""
    file = _npz(path) if suffix(path) == ".npz" else _jsonl(path)
    if not file.rows:
        raise format_error(path, None, "there is no series in it", "give a file with some")
    for number, row in enumerate(file.rows):
        if not np.isfinite(row).all():
            channel, moment = np.argwhere(~np.isfinite(row))[0]
            raise format_error(
                path,
                None,
                f"series {number}, channel {channel} has {row[channel, moment]} at moment {moment}",
                "fill the gap or leave the series out",
            )
    return file


def numbered(count: int) -> tuple[str, ...]:
    """Default names of channels.

    >>> numbered(2)
    ('ch0', 'ch1')
    """
    return tuple(f"ch{number}" for number in range(count))


def in_order(
    rows: Sequence[SeriesArray], channels: Sequence[str], wanted: Sequence[str], path: object
) -> list[SeriesArray]:
    """Reorder series from the `channels` to the order of `wanted`.

    Channels without names, or with default names, keep their order.
    """
    channels, wanted = tuple(channels), tuple(wanted)
    if set(channels) == set(wanted):
        order = [channels.index(name) for name in wanted]
        return list(rows) if channels == wanted else [row[order] for row in rows]
    if channels == numbered(len(channels)) or wanted == numbered(len(wanted)):
        return list(rows)
    missing = next((name for name in wanted if name not in channels), None)
    if missing is not None:
        problem = f"there is no channel {missing!r} among its channels ({', '.join(channels[:8])})"
        raise format_error(path, None, problem, f"give the channels {', '.join(wanted)}")
    extra = next(name for name in channels if name not in wanted)
    raise format_error(
        path,
        None,
        f"the channel {extra!r} is not one of those known ({', '.join(wanted)})",
        "leave it out",
    )


def write_npz(path: Path, **arrays: NDArray[Any]) -> None:
    """Write arrays to a compressed .npz, atomically."""
    with atomic_open(path) as file:
        np.savez_compressed(file, **arrays)  # type: ignore[arg-type]  # numpy takes any arrays by name


def _npz(path: Path) -> SeriesFile:
    content = read_bytes(path)
    try:
        with np.load(io.BytesIO(content), allow_pickle=False) as archive:
            arrays = {name: archive[name] for name in ("x", "y", "channels") if name in archive}
            names = list(archive)
            values = {name: arrays[name].tolist() for name in ("y", "channels") if name in arrays}
    except Exception as error:  # zipfile and numpy raise a dozen kinds for a damaged file
        line = " ".join(str(error).split()).rstrip(".")
        raise format_error(
            path,
            None,
            f"this is not an .npz of plain arrays ({line})",
            "write it with numpy.savez(path, x=…, y=…), numbers and text only",
        ) from error
    if "x" not in arrays:
        listed = ", ".join(names) or "none"
        raise format_error(
            path, None, f"an array x (N, C, T) is expected, got {listed}", "name the series x"
        )
    x = arrays["x"]
    if x.ndim != 3 or x.dtype.kind not in "iufb" or 0 in x.shape[1:]:
        raise format_error(
            path,
            None,
            f"x must be numbers of shape (N, C, T), got {x.dtype} of shape {x.shape}",
            "put series first, channels second, moments last",
        )
    labels = None
    if "y" in arrays:
        labels = _labels(arrays["y"], values["y"], len(x), path)
    channels = _names(_flat(values.get("channels")), x.shape[1], path)
    return SeriesFile(list(x.astype(np.float32)), labels, channels)


def _labels(y: NDArray[Any], values: Any, count: int, path: Path) -> list[str]:
    if y.shape != (count,) or y.dtype.kind not in "iubU":
        raise format_error(
            path,
            None,
            f"y must be {count} labels (whole numbers or text), got {y.dtype} of shape {y.shape}",
            "give one label for each series",
        )
    labels = [as_label(value) for value in values]
    if None in labels:
        raise format_error(
            path, None, f"label {labels.index(None)} of y is empty", "name each label"
        )
    return [label for label in labels if label is not None]


def _flat(values: Any) -> list[Any]:
    """The values in lists that may be inside each other.

    >>> _flat([["a"], ["b"]]), _flat("a"), _flat(None)
    (['a', 'b'], ['a'], [])
    """
    if isinstance(values, list):
        return [value for part in values for value in _flat(part)]
    return [] if values is None else [values]


def _names(values: Sequence[Any], count: int, path: Path) -> tuple[str, ...]:
    if not values:
        return ()
    names = [str(name) for name in values]
    if len(names) != count or len(set(names)) < count:
        raise format_error(
            path,
            None,
            f"channels must be {count} different names, got {len(names)} ({', '.join(names[:8])})",
            "give each channel its name, or leave channels out",
        )
    return tuple(names)


def _jsonl(path: Path) -> SeriesFile:
    rows: list[SeriesArray] = []
    labels: list[str | None] = []
    channels: tuple[str, ...] = ()
    for number, line in enumerate(read_lines(path), start=1):
        if not line.strip():
            continue
        value = read_object(line, path, number, FORM)
        if "channels" in value:
            listed = value["channels"]
            channels = _names(_flat(listed), len(listed) if isinstance(listed, list) else 0, path)
        if "series" in value or "channels" not in value:
            rows.append(_row(value.get("series"), rows, path, number))
            labels.append(as_label(value.get("label")))
            if labels[-1] is None and value.get("label") is not None:
                problem = f"the label must be text or a whole number, got {value['label']!r}"
                raise format_error(path, number, problem, f"write {FORM}")
    if rows and channels:
        channels = _names(channels, len(rows[0]), path)
    known = [label for label in labels if label is not None]
    if known and len(known) < len(labels):
        at = labels.index(None)
        raise format_error(
            path, None, f"series {at} has no label, but others have", "label all or none"
        )
    return SeriesFile(rows, known or None, channels)


def _row(value: object, before: Sequence[SeriesArray], path: Path, number: int) -> SeriesArray:
    try:
        row = np.asarray(value, np.float64)
    except (ValueError, TypeError, OverflowError):  # of whole numbers beyond all floats
        row = np.zeros(0)
    if row.ndim != 2 or 0 in row.shape:
        raise format_error(
            path,
            number,
            "the series must be lists of numbers, one for each channel and all of one length",
            f"write {FORM}",
        )
    if before and len(row) != len(before[0]):
        raise format_error(
            path,
            number,
            f"the series has {len(row)} channels, but those before have {len(before[0])}",
            "give all series the same channels",
        )
    return row.astype(np.float32)
