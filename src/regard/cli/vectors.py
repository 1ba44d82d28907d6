"""`regard vectors`: train word vectors; find nearest words and analogies."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from regard.cli.line_input import check_parent
from regard.errors import InputError
from regard.tasks.commands import positive

if TYPE_CHECKING:
    from regard.vectors import Neighbor, Vectors

NUM_DRAWN = 40  # words of a plane, where none are given
METHODS = ("skip-gram", "cbow")
DEFAULTS = {"dim": 100, "window": 5, "negatives": 5, "epochs": 5, "min-count": 5}
HELP = {
    "dim": "size of a vector; equal to that of a model to be initialized with them",
    "window": "largest context on each side, in words",
    "negatives": "negative samples for each pair",
    "epochs": "passes over the text",
    "min-count": "smallest number of occurrences of a word",
}


def configure(parser: argparse.ArgumentParser) -> None:
    """Add this command's arguments."""
    actions = parser.add_subparsers(metavar="ACTION", required=True)
    learn = actions.add_parser("learn", help="train vectors on plain text (skip-gram or CBOW)")
    learn.add_argument("files", nargs="+", metavar="TEXT", help="plain text, one sentence per line")
    learn.add_argument(
        "--out",
        metavar="FILE",
        type=Path,
        required=True,
        help="output: .safetensors, .vec or .txt (word2vec text format; or .gz), or a folder",
    )
    learn.add_argument(
        "--method",
        choices=METHODS,
        default=METHODS[0],
        help="skip-gram: predict the context of a word; cbow: the word (skip-gram)",
    )
    for name, value in DEFAULTS.items():
        learn.add_argument(
            f"--{name}", metavar="N", type=positive, default=value, help=f"{HELP[name]} ({value})"
        )
    learn.add_argument("--language", metavar="zh", default="", help="language of the text")
    learn.add_argument("--lowercase", action="store_true", help="convert the text to lower case")
    learn.add_argument(
        "--subsample",
        metavar="T",
        type=float,
        default=1e-3,
        help="subsample words more frequent than this; 0 for none (0.001)",
    )
    learn.add_argument("--seed", metavar="N", type=int, default=0, help="random seed (0)")
    learn.set_defaults(act=_learn)
    near = actions.add_parser("near", help="the words nearest to a word")
    near.add_argument("words", nargs="+", metavar="WORD", help="query words")
    near.set_defaults(act=_near)
    analogy = actions.add_parser(
        "analogy", help="what is to C as B is to A: `analogy man king woman`"
    )
    analogy.add_argument("words", nargs=3, metavar=("A", "B", "C"), help="three words")
    analogy.set_defaults(act=_analogy)
    plane = actions.add_parser(
        "plane", help="draw words in a plane, and analogies as arrows: `plane man king woman queen`"
    )
    plane.add_argument(
        "words", nargs="*", metavar="WORD", help="words to draw; the most frequent by default"
    )
    plane.add_argument(
        "--analogy",
        nargs=3,
        action="append",
        default=[],
        metavar=("A", "B", "C"),
        help="arrows from A to B, and from C to what is to C as B is to A; repeatable",
    )
    plane.add_argument(
        "--out",
        metavar="FILE",
        type=Path,
        default=Path("vectors.png"),
        help="figure: .png, .svg or .pdf (vectors.png)",
    )
    plane.add_argument("--vectors", metavar="FILE", required=True, help="file of vectors")
    plane.set_defaults(act=_plane)
    for action in (near, analogy):
        action.add_argument("--vectors", metavar="FILE", required=True, help="file of vectors")
        action.add_argument(
            "--count", metavar="N", type=positive, default=10, help="number of words (10)"
        )
    for action in (learn, near, analogy, plane):
        action.add_argument("--json", action="store_true", help="print JSON")


def run(arguments: argparse.Namespace) -> int:
    """Run the action."""
    arguments.act(arguments)
    return 0


def _learn(arguments: argparse.Namespace) -> None:
    out: Path = arguments.out
    check_parent(out)
    from regard.formats import read_lines
    from regard.vectors import write_vectors
    from regard.vectors.skipgram import Cbow, SkipGram, learn, read_text

    names = ("dim", "window", "negatives", "epochs", "min_count", "subsample", "seed")
    method = Cbow if arguments.method == "cbow" else SkipGram
    settings = method(**{name: getattr(arguments, name) for name in names})
    lines = (line for file in arguments.files for line in read_lines(file))
    text = read_text(lines, arguments.language, settings.min_count, arguments.lowercase)
    print(
        f"{len(text.stream):,} words, {len(text.words):,} distinct ones that occur "
        f"{settings.min_count} times or more",
        file=sys.stderr,
    )
    begun = time.perf_counter()
    with _progress() as report:
        vectors = learn(text, settings, report)
    seconds = time.perf_counter() - begun
    speed = len(text.stream) * settings.epochs / seconds
    written = write_vectors(out, vectors)
    if arguments.json:
        figures: dict[str, Any] = {
            "file": str(written),
            "method": arguments.method,
            "words": len(vectors),
            "dim": vectors.dim,
            "text_words": len(text.stream),
            "seconds": seconds,
            "words_per_second": speed,
        }
        print(json.dumps(figures, ensure_ascii=False))
    else:
        print(
            f"{written}: {len(vectors):,} vectors of size {vectors.dim}, "
            f"{seconds:.1f} s ({speed:,.0f} words/s)",
            file=sys.stderr,
        )


@contextmanager
def _progress() -> Iterator[Callable[[float, float], None]]:
    """Show progress: a bar on a terminal, a log line every half minute elsewhere."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn

    columns = (BarColumn(None), TextColumn("{task.percentage:3.0f} %  {task.description}"))
    console = Console(stderr=True)
    bar = Progress(*columns, console=console, transient=True, disable=not console.is_terminal)
    task, logged = bar.add_task("", total=1.0), time.monotonic()

    def report(share: float, speed: float) -> None:
        nonlocal logged
        text = f"{speed:,.0f} words/s"
        bar.update(task, completed=share, description=text)
        if not console.is_terminal and time.monotonic() - logged > 30:
            logged = time.monotonic()
            print(f"{share:4.0%}  {text}", file=sys.stderr)

    with bar:
        yield report


def _near(arguments: argparse.Namespace) -> None:
    vectors = _vectors_of(arguments)
    answers = {word: vectors.near(word, arguments.count) for word in arguments.words}
    if arguments.json:
        print(json.dumps({w: _as_rows(near) for w, near in answers.items()}, ensure_ascii=False))
        return
    for word, nearest in answers.items():
        _print(word, nearest)


def _analogy(arguments: argparse.Namespace) -> None:
    first, second, third = arguments.words
    nearest = _vectors_of(arguments).analogy(first, second, third, arguments.count)
    if arguments.json:
        print(json.dumps(_as_rows(nearest), ensure_ascii=False))
    else:
        _print(f"{second} − {first} + {third}", nearest)


def _plane(arguments: argparse.Namespace) -> None:
    from regard.views.figures.figure import check_figure
    from regard.views.figures.vector_plane import MAX_POINTS, vector_plane

    check_figure(arguments.out)
    given = list(arguments.words)
    arguments.words = [*given, *(word for triple in arguments.analogy for word in triple)]
    vectors = _vectors_of(arguments)
    triples: list[tuple[str, str, str]] = [(a, b, c) for a, b, c in arguments.analogy]
    answers = [vectors.analogy(a, b, c, 1)[0] for a, b, c in triples]
    frequent = () if arguments.words else vectors.words[:NUM_DRAWN]
    words = list(dict.fromkeys([*arguments.words, *(near.word for near in answers), *frequent]))
    if not 2 <= len(words) <= MAX_POINTS:
        raise InputError(f"a plane holds 2 to {MAX_POINTS} words, got {len(words)}.")
    place = {word: number for number, word in enumerate(words)}
    arrows = []
    for (first, second, third), fourth in zip(triples, answers, strict=True):
        arrows += [(place[first], place[second]), (place[third], place[fourth.word])]
    groups = [1 if any(word == near.word for near in answers) else 0 for word in words]
    rows = [vectors.rows[word] for word in words]
    vector_plane(vectors.unit[rows], words, arrows, groups=groups).save(arguments.out)
    if arguments.json:
        found = {"figure": str(arguments.out), "words": words, "answers": _as_rows(answers)}
        print(json.dumps(found, ensure_ascii=False))
        return
    for (first, second, third), near in zip(triples, answers, strict=True):
        print(f"{first} is to {second} as {third} is to {near.word} ({near.cosine:.3f})")
    print(f"{arguments.out}: {len(words)} words")


def _vectors_of(arguments: argparse.Namespace) -> Vectors:
    """Read the file; one that lacks one of the words is an error with its name."""
    from regard.vectors import read_vectors

    vectors = read_vectors(arguments.vectors)
    try:
        for word in arguments.words:
            vectors[word]
    except InputError as error:
        raise InputError(
            f"{arguments.vectors} has {len(vectors):,} words, without this one: {error}"
        ) from error
    return vectors


def _as_rows(nearest: list[Neighbor]) -> list[dict[str, Any]]:
    return [near._asdict() for near in nearest]


def _print(query: str, nearest: list[Neighbor]) -> None:
    from rich import box
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    table = Table(box=box.SIMPLE)
    table.add_column(escape(query), overflow="fold")
    table.add_column("cosine", justify="right")
    for word, cosine in nearest:
        table.add_row(escape(word), f"{cosine:.3f}")
    Console(highlight=False).print(table)
