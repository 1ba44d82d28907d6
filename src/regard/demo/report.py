"""The demonstration's report: tables on the terminal, and the page."""

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
from regard.demo.head_ablation import MAX_PRONOUNS, MIN_OTHERS, HeadAblation
from regard.demo.translation_scores import DemoScores
from regard.tasks.inspection import describe_kind
from regard.tasks.translation.inspection import alignment_matrix, sentence_view
from regard.tasks.translation.translation import Sentence
from regard.tasks.translation.translator import Translator
from regard.training.report import clock
from regard.views import Page

DRAWN = (1, 6)  # showcase sentences whose alignment is drawn


def translate_showcase(translator: Translator, pairs: Sequence[GrammarPair]) -> list[Sentence]:
    """Translate the showcase sentences, with every head's attention."""
    translations = translator.translate(
        [pair.source for pair in pairs], settings=SearchOptions(beam=1), attention=True, split=False
    )
    return [translation.sentences[0] for translation in translations]


def print_showcase(
    console: Console,
    translator: Translator,
    pairs: Sequence[GrammarPair],
    sentences: Sequence[Sentence],
) -> None:
    """Print all showcase sentences, and the alignment of some."""
    console.print("\n[bold]Sentences it was not trained on[/]")
    lines = Table.grid(padding=(0, 1))
    for pair, sentence in zip(pairs, sentences, strict=True):
        right = sentence.text == pair.target
        lines.add_row("", Text(pair.source))
        lines.add_row("[green]✓[/]" if right else "[red]✗[/]", Text(sentence.text))
        if not right:
            lines.add_row("", Text(f"expected: {pair.target}"))
    console.print(Padding(lines, (0, 0, 0, 2)))
    for index in DRAWN:
        if index < len(sentences):
            console.print()
            console.print(alignment_matrix(sentences[index], translator.run))


def print_scores(console: Console, scores: DemoScores, seconds: float, language: str) -> None:
    """Print the scores on held-out sentences, and the best heads."""
    table = Table(box=box.SIMPLE, show_header=False, title=None)
    for label, text in score_rows(scores, seconds, language).items():
        table.add_row(label, text)
    console.print(f"\n[bold]On {scores.scores.sentences} held-out sentences[/]")
    console.print(table)
    if not scores.heads:
        return
    heads = Table(box=box.SIMPLE, title_justify="left")
    for column in ("row", "attention", "layer", "head", "step"):
        heads.add_column(column, no_wrap=True)
    heads.add_column("antecedent", justify="right")
    for head, count in scores.heads[:8]:
        heads.add_row(
            head.row, head.kind, str(head.layer), str(head.head), head.step, f"{count.share:.1%}"
        )
    console.print("[bold]Heads that attend from “it” or its translation to its antecedent[/]")
    console.print(heads)
    if len(scores.heads) > 8:
        console.print(f"  … and {len(scores.heads) - 8} more rows in --json\n", highlight=False)


def score_rows(scores: DemoScores, seconds: float, language: str) -> dict[str, str]:
    """The scores as text, by label."""

    def share(value: float | None) -> str:
        return "–" if value is None else f"{value:.1%}"

    rows = {
        "translated exactly": share(scores.scores.exact_match),
        "pronouns right": share(scores.scores.pronoun_accuracy),
        "word senses right": share(scores.scores.sense_accuracy),
        "alignment error rate": share(scores.alignment_error_rate),
        "best head on the antecedent of “it”": share(scores.coreference_accuracy),
        "time": clock(seconds),
    }
    if language == "zh":  # 它 has no gender to show
        rows["pronouns right"] += " (它 present; it has no gender)"
    return rows


def print_ablation(console: Console, ablation: HeadAblation) -> None:
    """Print the smallest set of heads that resolves `it`, beside random sets."""
    names = {"self": "encoder", "causal": "decoder", "cross": "cross"}
    listed = ", ".join(f"{names[k]} layer {n} head {h}" for k, n, h in ablation.dev.heads)
    if ablation.has_specialized_heads:
        console.print("\n[bold]Heads that resolve “it”[/]")
    else:
        console.print(
            f"\n[bold]No set of heads takes pronouns below {MAX_PRONOUNS:.0%} while "
            f"{MIN_OTHERS:.0%} of the other words stay right[/]; the nearest:"
        )
    console.print(f"  {listed}", highlight=False)
    table = Table(box=box.SIMPLE)
    table.add_column("switched off")
    table.add_column("pronouns right", justify="right")
    table.add_column("other words right", justify="right")
    for label, effect in (
        ("these heads, dev", ablation.dev),
        ("these heads, test", ablation.test),
        ("these heads, whole translations", ablation.translated),
    ):
        table.add_row(label, f"{effect.pronouns:.1%}", f"{effect.other_words:.1%}")
    if ablation.random:
        count = len(ablation.random)
        table.add_row(
            f"{count} random sets of this size, mean",
            f"{sum(e.pronouns for e in ablation.random) / count:.1%}",
            f"{sum(e.other_words for e in ablation.random) / count:.1%}",
        )
    console.print(table)


def write_page(
    path: Path,
    translator: Translator,
    pairs: Sequence[GrammarPair],
    sentences: Sequence[Sentence],
    facts: Mapping[str, object],
) -> None:
    """Write the showcase sentences with all their maps to one file."""
    shown = [
        sentence_view(sentence, translator.run, reference=pair.target)
        for pair, sentence in zip(pairs, sentences, strict=True)
    ]
    languages = translator.run.languages.replace("-", " → ")
    Page(f"regard · {languages} · {describe_kind(translator.run)}", tuple(shown), facts).save(path)
