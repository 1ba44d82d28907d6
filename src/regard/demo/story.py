"""What the demonstration prints, and the page it writes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from rich import box
from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from regard.config import SearchOptions
from regard.corpus.grammar import GrammarPair
from regard.demo.explain import OTHERS, PRONOUN, Explanation
from regard.demo.measure import Measured
from regard.tasks.inspection import describe_kind
from regard.tasks.translation.sentence_view import alignment_matrix, sentence_view
from regard.tasks.translation.translation import Sentence
from regard.tasks.translation.translator import Translator
from regard.training.report import clock
from regard.views import Page

DRAWN = (1, 6)  # the showcase sentences whose alignment is drawn


def showcase(translator: Translator, seeds: Sequence[GrammarPair]) -> list[Sentence]:
    """The showcase sentences translated, with every head's attention."""
    found = translator.translate(
        [pair.source for pair in seeds], settings=SearchOptions(beam=1), attention=True, split=False
    )
    return [one.sentences[0] for one in found]


def print_showcase(
    console: Console,
    translator: Translator,
    seeds: Sequence[GrammarPair],
    sentences: Sequence[Sentence],
) -> None:
    """All showcase sentences, and the alignment of some."""
    console.print("\n[bold]Sentences it never saw[/]")
    lines = Table.grid(padding=(0, 1))
    for pair, sentence in zip(seeds, sentences, strict=True):
        right = sentence.text == pair.target
        lines.add_row("", Text(pair.source))
        lines.add_row("[green]✓[/]" if right else "[red]✗[/]", Text(sentence.text))
        if not right:
            lines.add_row("", Text(f"expected: {pair.target}"))
    console.print(Padding(lines, (0, 0, 0, 2)))
    for place in DRAWN:
        if place < len(sentences):
            console.print()
            console.print(alignment_matrix(sentences[place], translator.run))


def print_figures(console: Console, found: Measured, seconds: float, language: str) -> None:
    """The figures on held-out sentences, and the best heads."""
    table = Table(box=box.SIMPLE, show_header=False, title=None)
    for label, text in figures(found, seconds, language).items():
        table.add_row(label, text)
    console.print(f"\n[bold]On {found.scores.sentences} held-out sentences[/]")
    console.print(table)
    if not found.heads:
        return
    heads = Table(box=box.SIMPLE, title_justify="left")
    for column in ("row", "attention", "layer", "head", "step"):
        heads.add_column(column, no_wrap=True)
    heads.add_column("antecedent", justify="right")
    for head, count in found.heads[:8]:
        heads.add_row(
            head.row, head.kind, str(head.layer), str(head.head), head.step, f"{count.share:.1%}"
        )
    console.print("[bold]Does any head point from “it” to what it stands for?[/]")
    console.print(heads)
    if len(found.heads) > 8:
        console.print(f"  … and {len(found.heads) - 8} more rows in --json\n", highlight=False)


def figures(found: Measured, seconds: float, language: str) -> dict[str, str]:
    """The figures, in words."""

    def share(value: float | None) -> str:
        return "–" if value is None else f"{value:.1%}"

    rows = {
        "translated exactly": share(found.scores.exact_match),
        "pronouns right": share(found.scores.pronoun_accuracy),
        "word senses right": share(found.scores.sense_accuracy),
        "alignment error rate": share(found.alignment_error_rate),
        "best head on the antecedent of “it”": share(found.coreference_accuracy),
        "time": clock(seconds),
    }
    if language == "zh":  # 它 has no gender to show
        rows["pronouns right"] += " (它 written where it belongs; it has no gender)"
    return rows


def print_explanation(console: Console, found: Explanation) -> None:
    """The smallest set of heads that carries the pronoun, beside random sets."""
    names = {"self": "encoder", "causal": "decoder", "cross": "cross"}
    listed = ", ".join(f"{names[k]} layer {n} head {h}" for k, n, h in found.dev.heads)
    if found.found:
        console.print("\n[bold]Heads that carry what “it” stands for[/]")
    else:
        console.print(
            f"\n[bold]No set of heads takes pronouns under {PRONOUN:.0%} and leaves {OTHERS:.0%} "
            "of the other words[/]; the nearest:"
        )
    console.print(f"  {listed}", highlight=False)
    table = Table(box=box.SIMPLE)
    table.add_column("switched off")
    table.add_column("pronouns right", justify="right")
    table.add_column("other words right", justify="right")
    for label, effect in (
        ("these heads, dev", found.dev),
        ("these heads, test", found.test),
        ("these heads, whole translations", found.translated),
    ):
        table.add_row(label, f"{effect.pronouns:.1%}", f"{effect.others:.1%}")
    if found.random:
        count = len(found.random)
        table.add_row(
            f"{count} random sets as large, mean",
            f"{sum(e.pronouns for e in found.random) / count:.1%}",
            f"{sum(e.others for e in found.random) / count:.1%}",
        )
    console.print(table)


def write_page(
    path: Path,
    translator: Translator,
    seeds: Sequence[GrammarPair],
    sentences: Sequence[Sentence],
    facts: Mapping[str, object],
) -> None:
    """The showcase sentences with all their maps, in one file."""
    shown = [
        sentence_view(sentence, translator.run, reference=pair.target)
        for pair, sentence in zip(seeds, sentences, strict=True)
    ]
    languages = translator.run.languages.replace("-", " → ")
    Page(f"regard · {languages} · {describe_kind(translator.run)}", tuple(shown), facts).save(path)
