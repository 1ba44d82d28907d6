"""`regard write`: a handwritten line of text, as a picture, in the terminal or as JSON."""

from __future__ import annotations

import argparse
import json
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from regard.errors import InputError
from regard.tasks.commands import open_model, positive

if TYPE_CHECKING:
    from regard.tasks.handwriting.writer import HandwritingWriter, HandwrittenLine

BIAS = 0.8


def configure(parser: argparse.ArgumentParser) -> None:
    """Add this command's arguments."""
    parser.add_argument("text", nargs="?", metavar="TEXT", help="text to write")
    parser.add_argument("--model", metavar="DIR", help="folder of a model of the kind handwriting")
    parser.add_argument(
        "--out",
        metavar="FILE",
        type=Path,
        help="picture to draw (.svg); without it, in the terminal",
    )
    parser.add_argument(
        "--bias",
        metavar="B",
        type=float,
        default=BIAS,
        help=f"neatness, from 0, as varied as the training data ({BIAS})",
    )
    parser.add_argument("--seed", metavar="N", type=int, default=0, help="another style (0)")
    parser.add_argument(
        "--measure",
        metavar="N",
        type=positive,
        help="write N lines of the built-in test set, and print the share of recognized characters",
    )
    parser.add_argument(
        "--threads", metavar="N", type=positive, default=0, help="processor cores to use (all)"
    )
    parser.add_argument("--json", action="store_true", help="print strokes or figures as JSON")


def run(arguments: argparse.Namespace) -> int:
    """Write a line, or measure the recognition of many."""
    if not arguments.model:
        raise InputError(
            "give a handwriting model with --model DIR; `regard train --model.kind handwriting "
            "--out pen` makes one from the built-in strokes in a quarter of an hour."
        )
    if (arguments.text is None) == (arguments.measure is None):
        raise InputError('give a text to write, as in `regard write "attention"`, or --measure N.')
    if arguments.measure and arguments.out:
        raise InputError("--measure draws no picture; leave --out out, or give a text to write.")
    if arguments.out and arguments.out.suffix.lower() != ".svg":
        raise InputError(
            f"--out {arguments.out}: the picture is an SVG; name it {arguments.out.stem}.svg."
        )
    writer: HandwritingWriter = open_model(arguments.model, "write", arguments.threads)
    if arguments.measure:
        figures = measure(writer, arguments.measure, arguments.bias, arguments.seed)
        print(json.dumps(figures) if arguments.json else _summary(figures))
        return 0
    line = writer.write(arguments.text, bias=arguments.bias, seed=arguments.seed)
    from regard.tasks.handwriting.picture import line_svg, terminal_line

    if arguments.out:
        from regard.storage import replace_file

        replace_file(arguments.out, line_svg(line.text, line.strokes, line.weights))
        print(f"{arguments.out}: {len(line.strokes)} points", file=sys.stderr)
    if not line.finished:
        print("The line was cut off at the length limit; try another --seed.", file=sys.stderr)
    if arguments.json:
        print(json.dumps(_as_dict(line, arguments), ensure_ascii=False))
    elif not arguments.out:
        print(terminal_line(line.strokes, max(20, shutil.get_terminal_size().columns - 2)))
    return 0


def measure(writer: HandwritingWriter, count: int, bias: float, seed: int) -> dict[str, Any]:
    """Recognition figures of `count` written lines of the built-in test set."""
    from regard.tasks.handwriting.recognizer import character_error, recognize
    from regard.tasks.handwriting.strokes.lines import sample

    known = set(writer.alphabet)
    texts = [line.text for line in sample("test", 4 * count, seed) if set(line.text) <= known]
    if not texts:
        raise InputError(
            f"{writer.path}: this model does not know the built-in alphabet, which is all that the "
            "recognizer can read."
        )
    texts = [text for text in texts if len(text) <= writer.max_chars]
    if not texts:
        raise InputError(
            f"{writer.path}: this model writes at most {writer.max_chars} characters on a line, "
            "and all lines of the built-in test set have more."
        )
    lines = writer.write_all(texts[:count], bias=bias, seed=seed)
    references = [line.text for line in lines]
    hypotheses = [recognize(line.strokes) if line.finished else "" for line in lines]
    error = character_error(references, hypotheses)
    exact = sum(a == b for a, b in zip(references, hypotheses, strict=True))
    return {
        "lines": len(lines),
        "characters": sum(map(len, references)),
        "character_error": error,
        "recognised": max(0.0, 1 - error),
        "exact_lines": exact / len(lines),
        "finished": sum(line.finished for line in lines) / len(lines),
        "bias": bias,
        "seed": seed,
    }


def _summary(figures: dict[str, Any]) -> str:
    return (
        f"{figures['recognised']:.1%} of {figures['characters']:,} characters are read back, and "
        f"{figures['exact_lines']:.1%} of {figures['lines']} lines whole "
        f"(bias {figures['bias']}, seed {figures['seed']})."
    )


def _as_dict(line: HandwrittenLine, arguments: argparse.Namespace) -> dict[str, Any]:
    return {
        "text": line.text,
        "bias": arguments.bias,
        "seed": arguments.seed,
        "finished": line.finished,
        "strokes": [[round(x, 4), round(y, 4), int(lift)] for x, y, lift in line.strokes.tolist()],
        "characters": line.characters.tolist(),
        "weights": line.weights.round(4).tolist(),
    }
