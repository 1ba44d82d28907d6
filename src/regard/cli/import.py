"""`regard import`: a MarianMT folder (as OPUS-MT's) becomes a model folder."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from regard.cli.info import parameters
from regard.command import command


def configure(parser: argparse.ArgumentParser) -> None:
    """Add this command's arguments."""
    parser.add_argument(
        "folder",
        metavar="FOLDER",
        help="folder of the model: config.json, weights, vocab.json, source.spm, target.spm",
    )
    parser.add_argument("--out", metavar="DIR", required=True, help="new folder of the model")
    parser.add_argument(
        "--languages", metavar="en-de", default="", help="source and target (those it names)"
    )
    parser.add_argument("--json", action="store_true", help="print what was imported as JSON")


def run(arguments: argparse.Namespace) -> int:
    """Import, print what it is."""
    from regard.config import Run
    from regard.storage import check_new_folder

    Run(languages=arguments.languages)  # which checks the codes
    check_new_folder(arguments.out)
    from regard.exchange.marian_import import import_marian

    imported = import_marian(Path(arguments.folder), Path(arguments.out), arguments.languages)
    count = parameters(Path(arguments.out) / "model.safetensors")
    if arguments.json:
        figures = {"folder": arguments.out, "languages": imported.languages, "parameters": count}
        print(json.dumps(figures, ensure_ascii=False))
    else:
        named = imported.languages or "languages not named"
        print(f"{arguments.out}: {named}, {count:,} parameters. Try it:")
        print(f"  {command('translate', '…', '--model', arguments.out)}")
    return 0
