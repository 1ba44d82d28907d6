"""`regard demo`: learn the built-in language pair in minutes, and look inside."""

from __future__ import annotations

import argparse
import json
from pathlib import Path


def configure(parser: argparse.ArgumentParser) -> None:
    """Add this command's arguments."""
    parser.add_argument(
        "--kind", choices=("transformer", "rnn"), default="transformer",
        help="Transformer, or recurrent with Bahdanau attention (transformer)",
    )  # fmt: skip
    parser.add_argument(
        "--languages", choices=("en-fr", "en-zh"), default="en-fr", help="pair (en-fr)"
    )
    parser.add_argument("--quick", action="store_true", help="half a minute, and not very good")
    parser.add_argument(
        "--explain", action="store_true",
        help="then search for the heads that carry what “it” stands for (takes longer)",
    )  # fmt: skip
    parser.add_argument(
        "--out", metavar="DIR", type=Path, default=Path("regard-demo"),
        help="folder of the model and the page (regard-demo)",
    )  # fmt: skip
    parser.add_argument("--seed", metavar="N", type=int, default=0, help="another run (0)")
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def run(arguments: argparse.Namespace) -> int:
    """Run it."""
    from rich.console import Console

    from regard.demo.run import demo

    found = demo(
        arguments.out,
        arguments.kind,
        arguments.languages,
        quick=arguments.quick,
        explained=arguments.explain,
        seed=arguments.seed,
        console=Console(stderr=arguments.json),
    )
    if arguments.json:
        print(json.dumps(found, ensure_ascii=False))
    return 0
