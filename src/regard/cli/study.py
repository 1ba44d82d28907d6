"""`regard study`: measure a claim about attention, and write its table, figure and numbers."""

from __future__ import annotations

import argparse
import datetime
import json
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from regard.errors import InputError

if TYPE_CHECKING:
    from rich.console import Console

    from regard.views.charts.panels import LanguageCode

OUT = "regard-studies"


def configure(parser: argparse.ArgumentParser) -> None:
    """Add this command's arguments."""
    parser.add_argument(
        "names",
        metavar="NAME",
        nargs="+",
        help="studies to run; all: every one; list: only list them",
    )
    parser.add_argument(
        "--quick", action="store_true", help="small sizes and one seed: seconds instead of minutes"
    )
    parser.add_argument(
        "--out",
        metavar="DIR",
        type=Path,
        default=Path(OUT),
        help=f"folder of the results, with one folder per study ({OUT})",
    )
    parser.add_argument(
        "--language", choices=("en", "zh"), default="en", help="of the figure and the page (en)"
    )
    parser.add_argument(
        "--data",
        metavar="FILE",
        type=Path,
        help="your own pairs, tab-separated, for the study bahdanau",
    )
    parser.add_argument(
        "--redraw",
        action="store_true",
        help="measure nothing: write the page and the figures again from the results in --out",
    )
    parser.add_argument("--seed", metavar="N", type=int, default=0, help="first random seed (0)")
    parser.add_argument("--json", action="store_true", help="print the results as JSON")


def run(arguments: argparse.Namespace) -> int:
    """Run the studies one after another; each is written when it is finished."""
    from rich.console import Console

    from regard.studies import STUDIES, find_study

    if arguments.names == ["list"]:
        return _list(arguments)
    names = list(STUDIES) if arguments.names == ["all"] else arguments.names
    for name in names:
        find_study(name)
    if arguments.out.exists() and not arguments.out.is_dir():
        raise InputError(f"{arguments.out}: --out must be a folder, got a file.")
    console = Console(stderr=True)
    results: list[dict[str, Any]] = []
    try:
        for name in names:
            results.append(_run_one(name, arguments, console))
    except KeyboardInterrupt:
        if results:
            kept = ", ".join(each["study"] for each in results)
            console.print(f"Kept in {arguments.out}: {kept}.", highlight=False)
        raise
    if arguments.json:
        print(json.dumps(results[0] if len(names) == 1 else results, ensure_ascii=False))
    elif len(results) > 1:
        _print_summary(results, arguments.language)
    return 0


def _list(arguments: argparse.Namespace) -> int:
    """Print the names and titles of all studies."""
    from regard.studies import STUDIES
    from regard.views.charts.panels import in_language

    if arguments.json:
        print(json.dumps({name: each.title._asdict() for name, each in STUDIES.items()}))
    else:
        for name, each in STUDIES.items():
            print(f"{name:<13}{in_language(each.title, arguments.language)}")
    return 0


def _run_one(name: str, arguments: argparse.Namespace, console: Console) -> dict[str, Any]:
    """Run or redraw one study, write its files and print its claims; returns its JSON."""
    from regard.studies import run_study
    from regard.studies.output import restored, stored, write_study
    from regard.studies.study import StudyOptions

    folder = arguments.out / name
    if arguments.redraw:
        findings, values = restored(folder / f"{name}.json")
    else:
        start = time.monotonic()
        with _progress(name, console) as report:
            options = StudyOptions(
                arguments.quick, arguments.seed, arguments.data, arguments.out / "models", report
            )
            findings = run_study(name, options)
        flags = ["--quick"] if options.quick else []
        flags += ["--seed", str(options.seed)] if options.seed else []
        flags += ["--data", options.data.name] if options.data else []
        about = {
            "command": " ".join(["regard", "study", name, *flags]),
            "date": datetime.date.today().isoformat(),
            "seconds": time.monotonic() - start,
            "quick": options.quick,
            "seed": options.seed,
        }
        values = stored(name, findings, about)
    write_study(folder, values, findings, arguments.language)
    if not arguments.json:
        _print_claims(values, arguments.language)
        page = name if arguments.language == "en" else f"{name}.{arguments.language}"
        print(f"  {folder / f'{page}.md'}, .png, .svg; {folder / f'{name}.json'}")
    return values


@contextmanager
def _progress(name: str, console: Console) -> Iterator[Callable[[str], None]]:
    """A status line on a terminal, a line for each step elsewhere."""
    if not console.is_terminal:
        yield lambda text: console.print(f"{name}: {text}", highlight=False, soft_wrap=True)
        return
    with console.status(f"{name} …") as status:
        yield lambda text: status.update(f"{name}: {text}")


def _print_claims(values: dict[str, Any], language: LanguageCode) -> None:
    """Print the claims of a study: claimed, measured, and whether each holds."""
    from rich.console import Console
    from rich.padding import Padding
    from rich.text import Text

    from regard.studies.output import WORDS, verdict
    from regard.views.charts.panels import in_language, restored_words

    console = Console(highlight=False)
    console.print(
        Text(f"{values['study']}: {in_language(restored_words(values['title']), language)}", "bold")
    )
    for claim in values["claims"]:
        for key in ("claimed", "measured"):
            label = f"{in_language(WORDS[key], language)}: "
            words = in_language(restored_words(claim[key]), language)
            console.print(Padding(Text.assemble((label, "dim"), words), (0, 0, 0, 2)))
        words = in_language(verdict(claim["holds"], quick=values["quick"]), language)
        console.print(Padding(Text(words, "green" if claim["holds"] else "yellow"), (0, 0, 1, 2)))


def _print_summary(results: Sequence[dict[str, Any]], language: LanguageCode) -> None:
    """Print how many claims of each study hold, and the time it took."""
    from rich import box
    from rich.console import Console
    from rich.table import Table

    from regard.views.charts.panels import in_language, restored_words

    table = Table(box=box.SIMPLE)
    for column in ("study", ""):
        table.add_column(column)
    for column in ("claims", "hold", "seconds"):
        table.add_column(column, justify="right")
    for each in results:
        title = in_language(restored_words(each["title"]), language)
        held = sum(claim["holds"] for claim in each["claims"])
        table.add_row(
            each["study"], title, str(len(each["claims"])), str(held), f"{each['seconds']:.0f}"
        )
    Console().print(table)
