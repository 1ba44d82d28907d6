"""`regard write`: a line of text by hand, with the alignment under it."""

from __future__ import annotations

import argparse
import json
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from regard.cli.model import open_penman, positive
from regard.errors import InputError

if TYPE_CHECKING:
    from regard.translator import Line, Penman

BIAS = 0.8


def configure(parser: argparse.ArgumentParser) -> None:
    """Add this command's arguments."""
    parser.add_argument("text", nargs="?", metavar="TEXT", help="what to write")
    parser.add_argument("--model", metavar="DIR", help="folder of a model of the kind handwriting")
    parser.add_argument(
        "--out",
        metavar="FILE",
        type=Path,
        help="picture to draw (.svg); without it, in the terminal",
    )
    parser.add_argument(
        "--bias", metavar="B", type=float, default=BIAS,
        help=f"how carefully, from 0, as varied as it was learned ({BIAS})",
    )  # fmt: skip
    parser.add_argument("--seed", metavar="N", type=int, default=0, help="another hand (0)")
    parser.add_argument(
        "--measure", metavar="N", type=positive,
        help="write N lines of the built-in test set, and tell how many characters are read back",
    )  # fmt: skip
    parser.add_argument(
        "--threads", metavar="N", type=positive, default=0, help="processor cores to use (all)"
    )
    parser.add_argument("--json", action="store_true", help="print strokes or figures as JSON")


def run(arguments: argparse.Namespace) -> int:
    """Write, or measure."""
    if not arguments.model:
        raise InputError(
            "give a model that writes, --model DIR; `regard train --model.kind handwriting --out "
            "pen` makes one from the built-in strokes in a quarter of an hour."
        )
    if (arguments.text is None) == (arguments.measure is None):
        raise InputError('give a text to write, as in `regard write "attention"`, or --measure N.')
    if arguments.measure and arguments.out:
        raise InputError("--measure draws no picture; leave --out out, or give a text to write.")
    if arguments.out and arguments.out.suffix.lower() != ".svg":
        raise InputError(
            f"--out {arguments.out}: the picture is an SVG; name it {arguments.out.stem}.svg."
        )
    penman = open_penman(arguments.model, arguments.threads)
    if arguments.measure:
        _tell(measured(penman, arguments.measure, arguments.bias, arguments.seed), arguments.json)
        return 0
    line = penman.write(arguments.text, bias=arguments.bias, seed=arguments.seed)
    if arguments.out:
        from regard.storage import replace_file
        from regard.views.strokes import line_svg

        replace_file(arguments.out, line_svg(line.text, line.strokes, line.weights))
        print(f"{arguments.out}: {len(line.strokes)} points", file=sys.stderr)
    if not line.finished:
        print("The line has no end: the pen lost its place; try another --seed.", file=sys.stderr)
    if arguments.json:
        print(json.dumps(_plain(line, arguments), ensure_ascii=False))
    elif not arguments.out:
        from regard.views.strokes import terminal_line

        print(terminal_line(line.strokes, max(20, shutil.get_terminal_size().columns - 2)))
    return 0


def measured(penman: Penman, count: int, bias: float, seed: int) -> dict[str, Any]:
    """How much of `count` written lines of the built-in test set is read back."""
    from regard.corpus.strokes import sample
    from regard.evaluation.strokes import character_error, recognise

    known = set(penman.alphabet)
    texts = [line.text for line in sample("test", 4 * count, seed) if set(line.text) <= known]
    if not texts:
        raise InputError(
            f"{penman.path}: this model does not know the built-in alphabet, which is all that the "
            "recogniser can read."
        )
    texts = [text for text in texts if len(text) <= penman.longest]
    if not texts:
        raise InputError(
            f"{penman.path}: this model writes at most {penman.longest} characters on a line, and "
            "all lines of the built-in test set have more."
        )
    lines = penman.write_all(texts[:count], bias=bias, seed=seed)
    read = [recognise(line.strokes) if line.finished else "" for line in lines]
    asked = [line.text for line in lines]
    error = character_error(asked, read)
    return {
        "lines": len(lines),
        "characters": sum(map(len, asked)),
        "character_error": error,
        "recognised": max(0.0, 1 - error),
        "exact_lines": sum(a == b for a, b in zip(asked, read, strict=True)) / len(lines),
        "finished": sum(line.finished for line in lines) / len(lines),
        "bias": bias,
        "seed": seed,
    }


def _tell(found: dict[str, Any], as_json: bool) -> None:
    if as_json:
        print(json.dumps(found))
        return
    print(
        f"{found['recognised']:.1%} of {found['characters']:,} characters are read back, and "
        f"{found['exact_lines']:.1%} of {found['lines']} lines whole "
        f"(bias {found['bias']}, seed {found['seed']})."
    )


def _plain(line: Line, arguments: argparse.Namespace) -> dict[str, Any]:
    """A line in plain values."""
    return {
        "text": line.text,
        "bias": arguments.bias,
        "seed": arguments.seed,
        "finished": line.finished,
        "strokes": [[round(x, 4), round(y, 4), int(lift)] for x, y, lift in line.strokes.tolist()],
        "characters": line.characters.tolist(),
        "weights": line.weights.round(4).tolist(),
    }
