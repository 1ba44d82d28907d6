"""`regard evaluate`: BLEU, chrF and TER of a model, or of translations there are already."""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import TYPE_CHECKING

from regard.cli.model import add_model, open_translator
from regard.cli.searching import add_search, asked_search
from regard.errors import InputError

if TYPE_CHECKING:
    from regard.evaluation import Scores
    from regard.translator import Translator


def configure(parser: argparse.ArgumentParser) -> None:
    """Add this command's arguments."""
    parser.add_argument(
        "files",
        nargs="+",
        metavar="FILE",
        help="source and reference, line by line, or one file of pairs; "
        "with --hypotheses the reference alone",
    )
    add_model(parser, required=False)
    parser.add_argument("--hypotheses", metavar="FILE", help="score these translations instead")
    parser.add_argument(
        "--language", metavar="fr", help="target language, for tokenisation (the model's)"
    )
    add_search(parser)
    parser.add_argument("--output", metavar="FILE", help="write the translations (or .gz)")
    parser.add_argument("--json", action="store_true", help="print the scores as JSON")


def run(arguments: argparse.Namespace) -> int:
    """Translate, score, print."""
    if bool(arguments.model) == bool(arguments.hypotheses):
        raise InputError("give either --model DIR or --hypotheses FILE.")
    if arguments.output and not Path(arguments.output).absolute().parent.is_dir():
        raise InputError(f"{arguments.output}: there is no such folder; make it first.")
    language, seconds = arguments.language or "", 0.0
    if arguments.hypotheses:
        from regard.formats import read_lines

        references = _references(arguments.files)
        hypotheses = list(read_lines(arguments.hypotheses))
    else:
        sources, references = read_test(arguments.files, _languages(arguments.model))
        translator = open_translator(arguments.model, arguments.threads)
        language = language or translator.run.target_language
        hypotheses, seconds = translations(translator, sources, arguments)
        if arguments.output:
            from regard.formats import write_lines

            write_lines(arguments.output, hypotheses)
    from regard.evaluation import corpus_scores

    scores = corpus_scores(hypotheses, references, language)
    if arguments.json:
        print(json.dumps({**figures(scores), "seconds": seconds, "model": arguments.model}))
    else:
        _print(scores, seconds)
    return 0


def read_test(
    files: list[str], languages: tuple[str, str] | None = None
) -> tuple[list[str], list[str]]:
    """Sources and references of two aligned files or one of pairs, no pair left out."""
    from regard.formats import read_pairs

    pairs = list(read_pairs(files, languages))
    if not pairs:
        raise InputError(f"{', '.join(files)}: no sentence is in it.")
    return [pair.source for pair in pairs], [pair.target for pair in pairs]


def translations(
    translator: Translator, sources: list[str], arguments: argparse.Namespace
) -> tuple[list[str], float]:
    """One translation for each source, taken as one sentence, and the seconds it took."""
    settings = asked_search(arguments, translator.run.decoding, sample=False)
    begun = time.perf_counter()
    done = translator.translate(sources, settings=settings, alignment=False, split=False)
    return [one.text for one in done], time.perf_counter() - begun


def figures(scores: Scores) -> dict[str, float | str]:
    """What `--json` prints of scores."""
    names = ("bleu", "bleu_lowercase", "chrf", "ter", "signature", "sentences")
    return {name: getattr(scores, name) for name in names}


def _references(files: list[str]) -> list[str]:
    from regard.formats import READERS, read_lines
    from regard.formats.compressed import suffix

    if len(files) != 1:
        raise InputError(f"with --hypotheses give the reference alone, but {len(files)} came.")
    if suffix(files[0]) in READERS:
        return read_test(files)[1]
    return list(read_lines(files[0]))


def _languages(folder: str) -> tuple[str, str] | None:
    """Both languages of a model; None if they are not known."""
    from regard.config.stored import load_run

    languages = load_run(folder)
    named = "-" in languages.languages
    return (languages.source_language, languages.target_language) if named else None


def _print(scores: Scores, seconds: float) -> None:
    from rich import box
    from rich.console import Console
    from rich.table import Table

    table = Table(box=box.SIMPLE)
    table.add_column("score")
    table.add_column("", justify="right")
    for name, value in (
        ("BLEU", scores.bleu),
        ("BLEU, lower case", scores.bleu_lowercase),
        ("chrF", scores.chrf),
        ("TER (less is better)", scores.ter),
    ):
        table.add_row(name, f"{value:.2f}")
    console = Console(highlight=False)
    console.print(table)
    took = f", {seconds:.1f} s" if seconds else ""
    console.print(f"{scores.sentences:,} sentences{took}\n{scores.signature}", soft_wrap=True)
