"""`regard classify`: labels for texts or series, and what decided."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from regard.cli.model import add_model, open_classifier
from regard.config import ClassifierSettings
from regard.errors import InputError
from regard.tasks import load_run

if TYPE_CHECKING:
    from rich.console import Console

    from regard.translator import Classified, Classifier

WHYS = ("gradient", "occlusion", "contribution", "attention")
TOGETHER = 256  # texts that are labelled before any is printed


def configure(parser: argparse.ArgumentParser) -> None:
    """Add this command's arguments."""
    parser.add_argument(
        "given", metavar="TEXT|FILE", nargs="*",
        help="a text, or files: a text a line (.txt), label and text (.tsv), series (.npz, .jsonl);"
        " without any, a text a line is read from standard input",
    )  # fmt: skip
    add_model(parser)
    parser.add_argument(
        "--why", choices=WHYS, default="gradient",
        help="how what decided is measured: integrated gradients; the loss when a token is "
        "silenced; what the token's state brought; or the pooling's attention (gradient)",
    )  # fmt: skip
    parser.add_argument(
        "--brief", action="store_true", help="only label and probability, tab-separated"
    )
    parser.add_argument("--json", action="store_true", help="one JSON object a line")


def run(arguments: argparse.Namespace) -> int:
    """Label."""
    from rich.console import Console

    settings = load_run(arguments.model).model
    empty: list[str] = []
    examples = (
        _series(arguments.given, settings.channels)
        if isinstance(settings, ClassifierSettings) and settings.input == "series"
        else _texts(arguments.given, empty)
    )
    model = open_classifier(arguments.model, arguments.threads)
    console = Console(highlight=False)
    right = known = 0
    for part in _parts(examples):
        found = model.classify([example[0] for example in part], why=arguments.why)
        for (given, true), one in zip(part, found, strict=True):
            if true is not None:
                known, right = known + 1, right + (true == one.label)
            if arguments.json:
                print(json.dumps(as_dict(one, given, true), ensure_ascii=False))
            elif arguments.brief:
                print(f"{one.label}\t{one.probability:.4f}")
            else:
                show(console, model, one, true)
    if empty:
        print(f"Empty texts passed over: {len(empty)} (first: {empty[0]}).", file=sys.stderr)
    if known and not arguments.json:
        print(
            f"{right} of {known} labelled as the file says ({right / known:.1%}).", file=sys.stderr
        )
    return 0


Example = tuple[Any, str | None]


def _texts(given: list[str], empty: list[str]) -> Iterator[Example]:
    """Texts with their labels, if known; where a file has an empty one is put into `empty`."""
    from regard.text import normalize

    for text, label, place in _read(given):
        if place is None or normalize(text):
            yield text, label
        else:
            empty.append(place)


def _read(given: list[str]) -> Iterator[tuple[str, str | None, str | None]]:
    """Text, label and place, of arguments (which have none), of files, or of standard input."""
    from regard.formats import read_lines
    from regard.formats.labelled import read_labelled

    if not given:
        if sys.stdin.isatty():
            raise InputError("give a text, a file, or lines on standard input.")
        held = sys.stdin.buffer.read().decode("utf-8", errors="replace")
        yield from _lines(held.splitlines(), "standard input")
    for word in given:
        if not _is_file(word):
            yield word, None, None
        elif word.removesuffix(".gz").endswith((".tsv", ".jsonl")):
            for one in read_labelled(word):
                yield one.text, one.label, f"{one.file}, line {one.line}"
        elif word.endswith(".npz"):
            raise InputError(f"{word}: this model reads text, not numeric series; give it text.")
        else:
            yield from _lines(read_lines(word), word)


def _lines(lines: Iterable[str], place: str) -> Iterator[tuple[str, None, str]]:
    """The lines but blank ones, which are no texts."""
    for number, line in enumerate(lines, start=1):
        if line.strip():
            yield line, None, f"{place}, line {number}"


def _series(given: list[str], channels: Sequence[str]) -> Iterator[Example]:
    """The series of files, their channels in the model's order, with their labels, if known."""
    from regard.formats.series import in_order, is_series, read_series

    if not given:
        raise InputError("this model reads numeric series; give a file of them (.npz or .jsonl).")
    for word in given:
        if not _is_file(word):
            raise InputError(
                f"{word}: there is no such file; this model reads numeric series (.npz or .jsonl)."
            )
        if not is_series(word):
            raise InputError(f"{word}: numeric series are read from .npz or .jsonl files.")
        file = read_series(word)
        labels: Sequence[str | None] = file.labels or [None] * len(file.rows)
        rows = in_order(file.rows, file.channels, channels, word)
        yield from zip(rows, labels, strict=True)


def _is_file(word: str) -> bool:
    """Whether an argument names a file: a text that is too long for a name does not."""
    try:
        return Path(word).is_file()
    except (OSError, ValueError):
        return False


def _parts(examples: Iterator[Example]) -> Iterator[list[Example]]:
    part: list[Example] = []
    for example in examples:
        part.append(example)
        if len(part) == TOGETHER:
            yield part
            part = []
    if part:
        yield part


def as_dict(one: Classified, given: Any, true: str | None) -> dict[str, Any]:
    """What is known of one example, in plain values."""
    found: dict[str, Any] = {"text": given} if isinstance(given, str) else {}
    if true is not None:
        found["true"] = true
    moment, channel = one.peak
    found |= {
        "label": one.label,
        "probabilities": dict(one.probabilities),
        "why": one.why,
        "peak": {
            name: weighed._asdict()
            for name, weighed in (
                ("word" if one.words else "moments", moment),
                ("channel", channel),
            )
            if weighed is not None
        },
    }
    for name in ("words", "channels", "moments"):
        if getattr(one, name):
            found[name] = [weighed._asdict() for weighed in getattr(one, name)]
    if one.grid is not None:
        found["grid"] = one.grid.tolist()
    return found


def show(console: Console, model: Classifier, one: Classified, true: str | None = None) -> None:
    """Label, probabilities and what decided, for people."""
    import numpy as np
    from rich.text import Text

    from regard.views.terminal.decision import WeightStrip, WordWeights

    head = Text(one.label, "bold")
    if true is not None and true != one.label:
        head.append(f" (the file says {true})", "red")
    likely = list(one.probabilities.items())[:5]
    head.append(
        "  " + "  ".join(f"{name} {share:.1%}" for name, share in likely), "default not bold"
    )
    console.print(head)
    if one.words:
        words, weights = zip(*((word.name, word.weight) for word in one.words), strict=True)
        console.print(WordWeights(words, weights))
    elif one.grid is not None:
        console.print(WeightStrip(one.grid, model.settings.channels, model.settings.patch))
    elif one.moments:
        row = np.array([[one_of.weight for one_of in one.moments]])
        console.print(WeightStrip(row, ["moments"], model.settings.patch))
    elif one.channels:
        rows = np.array([[channel.weight] for channel in one.channels])
        console.print(WeightStrip(rows, model.settings.channels, one.channels[0].end))
    moment, channel = one.peak
    if not one.words:
        where = [f"moments {moment.name}"] if moment else []
        where += [f"channel {channel.name}"] if channel else []
        console.print(Text(f"most at {', '.join(where)}", "dim"))
    console.print()
