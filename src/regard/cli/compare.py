"""`regard compare`: is one model, or one output, better than another, and on which sentences?"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from regard.cli.evaluate import figures, languages_of, read_test, translations
from regard.cli.line_input import add_encoding
from regard.cli.searching import add_search
from regard.errors import InputError
from regard.tasks.commands import open_model, positive

if TYPE_CHECKING:
    from regard.evaluation import Difference, LengthScores, Scores

SIGNIFICANT = 0.05


def configure(parser: argparse.ArgumentParser) -> None:
    """Add this command's arguments."""
    parser.add_argument("a", metavar="A", help="folder of a model, or a file of translations")
    parser.add_argument("b", metavar="B", help="another")
    parser.add_argument(
        "files",
        nargs="*",
        metavar="FILE",
        help="source and reference, line by line, or one file of pairs",
    )
    parser.add_argument("--source", metavar="FILE", help="what is translated, line by line")
    parser.add_argument("--reference", metavar="FILE", help="right translations, line by line")
    parser.add_argument("--language", metavar="fr", help="target language (the model's)")
    add_search(parser)
    add_encoding(parser)
    parser.add_argument(
        "--resamples", metavar="N", type=positive, default=1000, help="draws to compare on (1000)"
    )
    parser.add_argument(
        "--seed", dest="draw", metavar="N", type=int, default=12345, help="of the draws (12345)"
    )
    parser.add_argument("--threads", metavar="N", type=positive, default=0, help="cores (all)")
    parser.add_argument("--json", action="store_true", help="print all figures as JSON")


def run(arguments: argparse.Namespace) -> int:
    """Translate where there is a model, compare, print."""
    files = _files(arguments)
    known = _languages([arguments.a, arguments.b])
    sources, references = read_test(files, known, arguments.encoding)
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
        print(json.dumps(_plain(arguments, scores, differences, lengths)))
    else:
        _print(arguments, differences, lengths)
    return 0


def _files(arguments: argparse.Namespace) -> list[str]:
    """The test set: two aligned files, or files of pairs."""
    named = [arguments.source, arguments.reference]
    if all(named) and not arguments.files:
        return [str(name) for name in named]
    if arguments.files and not any(named):
        return [str(name) for name in arguments.files]
    raise InputError(
        "give the test set once: one file of pairs, or source and reference (or --source FILE and "
        "--reference FILE)."
    )


def _languages(names: list[str]) -> tuple[str, str] | None:
    """The languages of the models; that they differ is an error, None if they are not known."""
    known = {name: found for name in names if Path(name).is_dir() and (found := languages_of(name))}
    if len(set(known.values())) > 1:
        told = " and ".join(f"{name} from {one} to {other}" for name, (one, other) in known.items())
        raise InputError(
            f"models that translate between the same languages can be compared, but {told} do not."
        )
    return next(iter(known.values()), None)


def _output(
    name: str, sources: list[str], arguments: argparse.Namespace, languages: list[str]
) -> list[str]:
    """The translations of a model or in a file; a model also says its languages."""
    if not Path(name).is_dir():
        from regard.formats import read_lines

        lines = list(read_lines(name, arguments.encoding))
        if len(lines) != len(sources):
            raise InputError(
                f"{name}: there are {len(lines)} translations for {len(sources)} sources; "
                "give one a line."
            )
        return lines
    translator = open_model(name, "translate", arguments.threads)
    languages[0] = languages[0] or translator.run.source_language
    languages[1] = languages[1] or translator.run.target_language
    return translations(translator, sources, arguments)[0]


def _plain(
    arguments: argparse.Namespace,
    scores: list[Scores],
    differences: list[Difference],
    lengths: list[LengthScores],
) -> dict[str, Any]:
    a, b = (
        {"name": n, **figures(s)} for n, s in zip((arguments.a, arguments.b), scores, strict=True)
    )
    return {
        "a": a,
        "b": b,
        "differences": [one._asdict() for one in differences],
        "by_length": [one._asdict() for one in lengths],
    }  # fmt: skip


def _print(
    arguments: argparse.Namespace, differences: list[Difference], lengths: list[LengthScores]
) -> None:
    from rich import box
    from rich.console import Console
    from rich.table import Table

    console = Console(highlight=False)
    console.print(f"A: {arguments.a}\nB: {arguments.b}", soft_wrap=True)
    table = Table(box=box.SIMPLE)
    for name in ("score", "A", "B", "B − A", "95 % of draws", "p"):
        table.add_column(name, justify="left" if name == "score" else "right")
    for one in differences:
        table.add_row(
            one.metric, f"{one.a:.2f}", f"{one.b:.2f}", f"{one.difference:+.2f}",
            f"{one.low:+.2f} … {one.high:+.2f}", f"{one.p_value:.3f}",
        )  # fmt: skip
    console.print(table)
    console.print(_verdict(differences[0]))
    table = Table(box=box.SIMPLE)
    for name in ("words of the source", "sentences", "BLEU A", "BLEU B", "chrF A", "chrF B"):
        table.add_column(name, justify="right")
    for row in lengths:
        end = f"{row.low}–{row.high}" if row.high is not None else f"{row.low} and more"
        cells = (row.bleu["a"], row.bleu["b"], row.chrf["a"], row.chrf["b"])
        table.add_row(end, f"{row.sentences:,}", *(f"{value:.2f}" for value in cells))
    console.print(table)


def _verdict(bleu: Difference) -> str:
    """What the p-value of BLEU says, in a sentence."""
    if bleu.p_value >= SIGNIFICANT or not bleu.difference:
        return f"In BLEU neither is better beyond chance (p = {bleu.p_value:.3f})."
    better = "B" if bleu.difference > 0 else "A"
    return f"In BLEU {better} is better, beyond chance (p = {bleu.p_value:.3f})."
