"""`regard classify`: labels of texts or series, with explanations."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from regard.errors import InputError
from regard.tasks import load_run
from regard.tasks.commands import add_model, open_model

if TYPE_CHECKING:
    from rich.console import Console

    from regard.tasks.classification.classifier import Classification, Classifier

METHODS = ("gradient", "occlusion", "contribution", "attention")
BATCH = 256  # texts that are labeled before any is printed


def configure(parser: argparse.ArgumentParser) -> None:
    """Add this command's arguments."""
    parser.add_argument(
        "data",
        metavar="TEXT|FILE",
        nargs="*",
        help="a text, or files: a text a line (.txt), label and text (.tsv), series (.npz, .jsonl);"
        " without any, a text a line is read from standard input",
    )
    add_model(parser)
    parser.add_argument(
        "--why",
        choices=METHODS,
        default="gradient",
        help="method of the explanation: integrated gradients; the loss when a token is "
        "occluded; the contribution of the token's state; or the pooling's attention (gradient)",
    )
    parser.add_argument(
        "--brief", action="store_true", help="only label and probability, tab-separated"
    )
    parser.add_argument("--json", action="store_true", help="print a JSON object per line")


def run(arguments: argparse.Namespace) -> int:
    """Classify, and print the labels."""
    from rich.console import Console

    settings: Any = load_run(arguments.model).model
    empty: list[str] = []
    examples = (
        _series(arguments.data, settings.channels)
        if settings.kind == "classifier" and settings.input == "series"
        else _texts(arguments.data, empty)
    )
    model: Classifier = open_model(arguments.model, "classify", arguments.threads)
    console = Console(highlight=False)
    correct = known = 0
    for batch in _batches(examples):
        results = model.classify([data for data, _ in batch], why=arguments.why)
        for (data, true), result in zip(batch, results, strict=True):
            if true is not None:
                known, correct = known + 1, correct + (true == result.label)
            if arguments.json:
                print(json.dumps(as_dict(result, data, true), ensure_ascii=False))
            elif arguments.brief:
                print(f"{result.label}\t{result.probability:.4f}")
            else:
                show(console, model, result, true)
    if empty:
        print(f"Empty texts passed over: {len(empty)} (first: {empty[0]}).", file=sys.stderr)
    if known and not arguments.json:
        print(
            f"{correct} of {known} labeled as the file says ({correct / known:.1%}).",
            file=sys.stderr,
        )
    return 0


Example = tuple[Any, str | None]


def _texts(data: list[str], empty: list[str]) -> Iterator[Example]:
    """Texts with their labels, if known; the places of empty ones are added to `empty`."""
    from regard.text import normalize

    for text, label, place in _read(data):
        if place is None or normalize(text):
            yield text, label
        else:
            empty.append(place)


def _read(data: list[str]) -> Iterator[tuple[str, str | None, str | None]]:
    """Text, label and place, of arguments (which have no place), files, or standard input."""
    from regard.formats import read_lines
    from regard.formats.labeled import read_labeled

    if not data:
        if sys.stdin.isatty():
            raise InputError("give a text, a file, or lines on standard input.")
        content = sys.stdin.buffer.read().decode("utf-8", errors="replace")
        yield from _lines(content.splitlines(), "standard input")
    for word in data:
        if not _is_file(word):
            yield word, None, None
        elif word.removesuffix(".gz").endswith((".tsv", ".jsonl")):
            for row in read_labeled(word):
                yield row.text, row.label, f"{row.file}, line {row.line}"
        elif word.endswith(".npz"):
            raise InputError(f"{word}: this model reads text, not numeric series; give it text.")
        else:
            yield from _lines(read_lines(word), word)


def _lines(lines: Iterable[str], file: str) -> Iterator[tuple[str, None, str]]:
    """The lines that are not blank."""
    for number, line in enumerate(lines, start=1):
        if line.strip():
            yield line, None, f"{file}, line {number}"


def _series(files: list[str], channels: Sequence[str]) -> Iterator[Example]:
    """The series of files, their channels in the model's order, with their labels, if known."""
    from regard.formats.series import in_order, is_series, read_series

    if not files:
        raise InputError("this model reads numeric series; give a file of them (.npz or .jsonl).")
    for path in files:
        if not _is_file(path):
            raise InputError(
                f"{path}: there is no such file; this model reads numeric series (.npz or .jsonl)."
            )
        if not is_series(path):
            raise InputError(f"{path}: numeric series are read from .npz or .jsonl files.")
        file = read_series(path)
        labels: Sequence[str | None] = file.labels or [None] * len(file.rows)
        rows = in_order(file.rows, file.channels, channels, path)
        yield from zip(rows, labels, strict=True)


def _is_file(word: str) -> bool:
    """Whether an argument names a file; a text may be too long for a file name."""
    try:
        return Path(word).is_file()
    except (OSError, ValueError):
        return False


def _batches(examples: Iterator[Example]) -> Iterator[list[Example]]:
    while batch := list(islice(examples, BATCH)):
        yield batch


def as_dict(result: Classification, data: Any, true: str | None) -> dict[str, Any]:
    """A result in plain values."""
    values: dict[str, Any] = {"text": data} if isinstance(data, str) else {}
    if true is not None:
        values["true"] = true
    moment, channel = result.peak
    peaks = {"word" if result.words else "moments": moment, "channel": channel}
    values |= {
        "label": result.label,
        "probabilities": dict(result.probabilities),
        "why": result.why,
        "peak": {name: peak._asdict() for name, peak in peaks.items() if peak is not None},
    }
    for name in ("words", "channels", "moments"):
        if getattr(result, name):
            values[name] = [part._asdict() for part in getattr(result, name)]
    if result.grid is not None:
        values["grid"] = result.grid.tolist()
    return values


def show(
    console: Console, model: Classifier, result: Classification, true: str | None = None
) -> None:
    """Print label, probabilities and explanation."""
    import numpy as np
    from rich.text import Text

    from regard.views.terminal.decision import WeightStrip, WordWeights

    head = Text(result.label, "bold")
    if true is not None and true != result.label:
        head.append(f" (the file says {true})", "red")
    likely = list(result.probabilities.items())[:5]
    head.append(
        "  " + "  ".join(f"{name} {share:.1%}" for name, share in likely), "default not bold"
    )
    console.print(head)
    if result.words:
        words, weights = zip(*((word.name, word.weight) for word in result.words), strict=True)
        console.print(WordWeights(words, weights))
    elif result.grid is not None:
        console.print(WeightStrip(result.grid, model.settings.channels, model.settings.patch))
    elif result.moments:
        row = np.array([[moment.weight for moment in result.moments]])
        console.print(WeightStrip(row, ["moments"], model.settings.patch))
    elif result.channels:
        rows = np.array([[channel.weight] for channel in result.channels])
        console.print(WeightStrip(rows, model.settings.channels, result.channels[0].end))
    moment, channel = result.peak
    if not result.words:
        where = [f"moments {moment.name}"] if moment else []
        where += [f"channel {channel.name}"] if channel else []
        console.print(Text(f"most at {', '.join(where)}", "dim"))
    console.print()
