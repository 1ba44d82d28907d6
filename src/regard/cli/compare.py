"""`regard compare`: compare two models or outputs, overall and by sentence length."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from regard.cli.evaluate import as_json, languages_of, read_test_set, translate_all
from regard.cli.line_input import add_encoding
from regard.cli.searching import add_search, add_target, bound
from regard.errors import InputError
from regard.tasks.commands import open_model, positive

if TYPE_CHECKING:
    from regard.evaluation import Difference, LengthScores, Scores

SIGNIFICANT = 0.05


def configure(parser: argparse.ArgumentParser) -> None:
    """Add this command's arguments."""
    parser.add_argument("a", metavar="A", help="model folder, or file of translations")
    parser.add_argument("b", metavar="B", help="the other model folder or file")
    parser.add_argument(
        "files",
        nargs="*",
        metavar="FILE",
        help="source and reference, aligned by line, or one file of pairs",
    )
    parser.add_argument("--source", metavar="FILE", help="source text, one sentence per line")
    parser.add_argument("--reference", metavar="FILE", help="reference translations, likewise")
    parser.add_argument("--language", metavar="fr", help="target language (the model's)")
    add_target(parser)
    add_search(parser)
    add_encoding(parser)
    parser.add_argument(
        "--resamples", metavar="N", type=positive, default=1000, help="bootstrap samples (1000)"
    )
    parser.add_argument(
        "--seed",
        dest="draw",
        metavar="N",
        type=int,
        default=12345,
        help="seed of the bootstrap (12345)",
    )
    parser.add_argument(
        "--threads", metavar="N", type=positive, default=0, help="CPU threads (all)"
    )
    parser.add_argument("--json", action="store_true", help="print all figures as JSON")


def run(arguments: argparse.Namespace) -> int:
    """Translate with the models, compare, print."""
    files = _files(arguments)
    known = _languages([arguments.a, arguments.b], arguments.to)
    sources, references = read_test_set(files, known, arguments.encoding)
    languages = ["", arguments.language or ""]
    outputs = [_output(name, sources, arguments, languages) for name in (arguments.a, arguments.b)]
    from regard.evaluation import by_length, corpus_scores, paired_bootstrap

    language = languages[1]
    scores = [corpus_scores(output, references, language) for output in outputs]
    differences = paired_bootstrap(
        outputs[0],
        outputs[1],
        references,
        language,
        resamples=arguments.resamples,
        seed=arguments.draw,
    )
    lengths = by_length(
        sources,
        references,
        dict(zip("ab", outputs, strict=True)),
        source_language=languages[0],
        language=language,
    )
    if arguments.json:
        print(json.dumps(_as_json(arguments, scores, differences, lengths)))
    else:
        _print(arguments, differences, lengths)
    return 0


def _files(arguments: argparse.Namespace) -> list[str]:
    """The files of the test set: two aligned ones, or files of pairs."""
    named = [arguments.source, arguments.reference]
    if all(named) and not arguments.files:
        return [str(name) for name in named]
    if arguments.files and not any(named):
        return [str(name) for name in arguments.files]
    raise InputError(
        "give the test set once: one file of pairs, source and reference, or --source FILE and "
        "--reference FILE."
    )


def _languages(names: list[str], to: str) -> tuple[str, str] | None:
    """The languages of the models, None if unknown; models of different languages are an error."""
    known = {
        name: pair for name in names if Path(name).is_dir() and (pair := languages_of(name, to))
    }
    if len(set(known.values())) > 1:
        stated = " and ".join(f"{name} ({src} to {tgt})" for name, (src, tgt) in known.items())
        raise InputError(f"models to compare must have the same languages, got {stated}.")
    return next(iter(known.values()), None)


def _output(
    name: str, sources: list[str], arguments: argparse.Namespace, languages: list[str]
) -> list[str]:
    """The translations of a model or in a file; a model also sets missing languages."""
    if not Path(name).is_dir():
        from regard.formats import read_lines

        lines = list(read_lines(name, arguments.encoding))
        if len(lines) != len(sources):
            raise InputError(
                f"{name}: there must be one translation per line for {len(sources)} sources, got "
                f"{len(lines)}."
            )
        return lines
    translator = bound(open_model(name, "translate", arguments.threads), arguments)
    languages[0] = languages[0] or translator.info.source_language
    languages[1] = languages[1] or translator.info.target_language
    return translate_all(translator, sources, arguments)[0]


def _as_json(
    arguments: argparse.Namespace,
    scores: list[Scores],
    differences: list[Difference],
    lengths: list[LengthScores],
) -> dict[str, Any]:
    return {
        "a": {"name": arguments.a, **as_json(scores[0])},
        "b": {"name": arguments.b, **as_json(scores[1])},
        "differences": [difference._asdict() for difference in differences],
        "by_length": [bucket._asdict() for bucket in lengths],
    }


def _print(
    arguments: argparse.Namespace, differences: list[Difference], lengths: list[LengthScores]
) -> None:
    from rich import box
    from rich.console import Console
    from rich.table import Table

    console = Console(highlight=False)
    console.print(f"A: {arguments.a}\nB: {arguments.b}", soft_wrap=True)
    table = Table(box=box.SIMPLE)
    for name in ("score", "A", "B", "B − A", "95 % interval", "p"):
        table.add_column(name, justify="left" if name == "score" else "right")
    for row in differences:
        table.add_row(
            row.metric,
            f"{row.a:.2f}",
            f"{row.b:.2f}",
            f"{row.difference:+.2f}",
            f"{row.low:+.2f} … {row.high:+.2f}",
            f"{row.p_value:.3f}",
        )
    console.print(table)
    console.print(_verdict(differences[0]))
    table = Table(box=box.SIMPLE)
    for name in ("source words", "sentences", "BLEU A", "BLEU B", "chrF A", "chrF B"):
        table.add_column(name, justify="right")
    for bucket in lengths:
        last = f"–{bucket.high}" if bucket.high is not None else " and more"
        cells = (bucket.bleu["a"], bucket.bleu["b"], bucket.chrf["a"], bucket.chrf["b"])
        values = (f"{value:.2f}" for value in cells)
        table.add_row(f"{bucket.low}{last}", f"{bucket.sentences:,}", *values)
    console.print(table)


def _verdict(bleu: Difference) -> str:
    """The result of the significance test of BLEU, as a sentence."""
    if bleu.p_value >= SIGNIFICANT or not bleu.difference:
        return f"The difference in BLEU is not significant (p = {bleu.p_value:.3f})."
    better = "B" if bleu.difference > 0 else "A"
    return f"{better} is significantly better in BLEU (p = {bleu.p_value:.3f})."
