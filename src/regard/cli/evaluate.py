"""`regard evaluate`: BLEU, chrF and TER of translations, or the error rate of word links."""

from __future__ import annotations

import argparse
import json
import time
from typing import TYPE_CHECKING

from regard.cli.evaluate_links import add_gold, check_gold, evaluate_links
from regard.cli.line_input import add_encoding, check_parent
from regard.cli.line_progress import LineProgress
from regard.cli.option_flags import add_options
from regard.cli.searching import add_search, add_target, search_options
from regard.config import SearchOptions
from regard.errors import InputError
from regard.tasks.commands import add_engine, add_model, open_model
from regard.tasks.translation.bulk import BLOCK_CHARACTERS, BLOCK_LINES

if TYPE_CHECKING:
    from regard.evaluation import Scores
    from regard.tasks.translation.translator import Translator


def configure(parser: argparse.ArgumentParser) -> None:
    """Add this command's arguments."""
    parser.add_argument(
        "files",
        nargs="*",
        metavar="FILE",
        help="source and reference, aligned by line, or one file of pairs; "
        "with --hypotheses only the reference, with --links nothing",
    )
    add_model(parser, required=False)
    add_engine(parser)
    add_options(parser, SearchOptions, "deterministic")
    parser.add_argument(
        "--hypotheses", metavar="FILE", help="score these translations instead of a model's"
    )
    parser.add_argument(
        "--language", metavar="fr", help="target language, for the tokenizer (the model's)"
    )
    add_target(parser)
    add_search(parser)
    add_encoding(parser)
    parser.add_argument(
        "--ter",
        action="store_true",
        help="compute TER too, which takes much longer than the others",
    )
    parser.add_argument(
        "--output", metavar="FILE", help="file for the translations (.gz compresses it)"
    )
    add_gold(parser)
    parser.add_argument("--json", action="store_true", help="print the scores as JSON")


def run(arguments: argparse.Namespace) -> int:
    """Translate or align, score, print."""
    if arguments.gold:
        model = arguments.model
        return evaluate_links(arguments, languages_of(model, arguments.to) if model else None)
    check_gold(arguments)
    if not arguments.files:
        raise InputError("give the source and the reference, or one file of pairs.")
    if bool(arguments.model) == bool(arguments.hypotheses):
        raise InputError("give either --model DIR or --hypotheses FILE.")
    if arguments.output:
        check_parent(arguments.output)
    language, seconds, encoding = arguments.language or "", 0.0, arguments.encoding
    if arguments.hypotheses:
        from regard.formats import read_lines

        references = _references(arguments.files, encoding)
        hypotheses = list(read_lines(arguments.hypotheses, encoding))
    else:
        sources, references = read_test_set(
            arguments.files, languages_of(arguments.model, arguments.to), encoding
        )
        translator: Translator = open_model(
            arguments.model, "translate", arguments.threads, arguments.engine, arguments.precision
        )
        translator = translator.into(arguments.to, tag=arguments.tag)
        language = language or translator.info.target_language
        hypotheses, seconds = translate_all(translator, sources, arguments)
        if arguments.output:
            from regard.formats import write_lines

            write_lines(arguments.output, hypotheses)
    scores = scores_of(hypotheses, references, language, ter=arguments.ter)
    if arguments.json:
        speed = len(hypotheses) / seconds if seconds else None
        took = {"seconds": seconds, "lines_per_second": speed}
        print(json.dumps({**as_json(scores), **took, "model": arguments.model}))
    else:
        _print(scores, seconds)
    return 0


def read_test_set(
    files: list[str], languages: tuple[str, str] | None = None, encoding: str = "utf-8"
) -> tuple[list[str], list[str]]:
    """Sources and references of two aligned files or one file of pairs."""
    from regard.formats import read_pairs

    pairs = list(read_pairs(files, languages, encoding=encoding))
    if not pairs:
        raise InputError(f"{', '.join(files)}: there are no sentence pairs.")
    return [pair.source for pair in pairs], [pair.target for pair in pairs]


def translate_all(
    translator: Translator, sources: list[str], arguments: argparse.Namespace
) -> tuple[list[str], float]:
    """One translation for each source, not split into sentences, and the seconds it took.

    As `regard translate` does it: in large windows, one searched while the next is tokenized.
    """
    settings = search_options(arguments, translator.run.decoding, sample=False)
    translator.prepare_engine()
    begun = time.perf_counter()
    texts: list[str] = []
    with LineProgress(len(sources)) as progress:
        windows = translator.translate_lines(
            sources,
            max_lines=BLOCK_LINES,
            max_characters=BLOCK_CHARACTERS,
            settings=settings,
            split=False,
        )
        for window in windows:
            texts += [translation.text for translation in window]
            progress.advance(len(window))
    return texts, time.perf_counter() - begun


def scores_of(hypotheses: list[str], references: list[str], language: str, *, ter: bool) -> Scores:
    """The scores of translations; shows the progress of TER."""
    from regard.evaluation import corpus_scores

    if not ter:
        return corpus_scores(hypotheses, references, language)
    with LineProgress(len(hypotheses), unit="sentences", label="TER") as progress:
        return corpus_scores(hypotheses, references, language, ter=True, progress=progress.advance)


def as_json(scores: Scores) -> dict[str, float | str | None]:
    """The scores as `--json` prints them; `ter` is null unless requested."""
    names = ("bleu", "bleu_lowercase", "chrf", "ter", "signature", "sentences")
    return {name: getattr(scores, name) for name in names}


def _references(files: list[str], encoding: str) -> list[str]:
    from regard.formats import pair_reader, read_lines, require_content

    if len(files) != 1:
        raise InputError(f"with --hypotheses give one file, the reference, got {len(files)}.")
    require_content(files[0])
    if pair_reader(files[0], encoding):
        return read_test_set(files, encoding=encoding)[1]
    return list(read_lines(files[0], encoding))


def languages_of(folder: str, to: str = "") -> tuple[str, str] | None:
    """Source and target language of a model, of several the one into `to`; None if unknown."""
    from regard.tasks import load_run
    from regard.tasks.translation.translator import find_direction

    run = load_run(folder)
    if to and run.languages:
        return find_direction(run, to)
    return run.directions[0] if "-" in run.languages else None


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
        ("TER (lower is better)", scores.ter),
    ):
        if value is not None:
            table.add_row(name, f"{value:.2f}")
    console = Console(highlight=False)
    console.print(table)
    speed = scores.sentences / seconds if seconds else 0.0
    took = f", {seconds:.1f} s, {speed:,.1f} lines/s" if seconds else ""
    console.print(f"{scores.sentences:,} sentences{took}\n{scores.signature}", soft_wrap=True)
