"""`regard fill`: a masked model guesses hidden words."""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict
from typing import TYPE_CHECKING

from regard.cli.model import add_model, open_filler, positive
from regard.errors import InputError

if TYPE_CHECKING:
    from regard.translator import Guess

HIDDEN = "[MASK]"


def configure(parser: argparse.ArgumentParser) -> None:
    """Add this command's arguments."""
    parser.add_argument("text", metavar="TEXT", help=f"a text with one {HIDDEN} or several")
    add_model(parser)
    parser.add_argument("--count", metavar="N", type=positive, default=5, help="guesses each (5)")
    parser.add_argument("--json", action="store_true", help="print the guesses as JSON")


def run(arguments: argparse.Namespace) -> int:
    """Guess."""
    if HIDDEN not in arguments.text:
        raise InputError(
            f"there is no {HIDDEN} in {arguments.text!r}; write one where a word is hidden."
        )
    filler = open_filler(arguments.model, arguments.threads)
    found = filler.fill(arguments.text, arguments.count)
    if arguments.json:
        places = [[asdict(guess) for guess in guesses] for guesses in found]
        print(json.dumps({"text": arguments.text, "masks": places}, ensure_ascii=False))
    else:
        _print(found)
    return 0


def _print(found: list[list[Guess]]) -> None:
    from rich import box
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    console = Console(highlight=False)
    for number, guesses in enumerate(found, start=1):
        title = f"{HIDDEN} {number}" if len(found) > 1 else HIDDEN
        table = Table(box=box.SIMPLE)
        table.add_column(escape(title))
        table.add_column("probability", justify="right")
        table.add_column("text", overflow="fold")
        for guess in guesses:
            word = guess.token.replace("▁", " ").strip() or guess.token
            table.add_row(escape(word), f"{guess.probability:.1%}", escape(guess.text))
        console.print(table)
