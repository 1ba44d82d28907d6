"""The whole demonstration, one step after another."""

from __future__ import annotations

import shutil
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

from rich.console import Console

from regard.command import command
from regard.demo.explain import explain
from regard.demo.lesson import BUDGETS, TARGET, kind_of, language_of, lesson, prepared, settings
from regard.demo.measure import measure
from regard.demo.story import (
    figures,
    print_explanation,
    print_figures,
    print_showcase,
    showcase,
    write_page,
)
from regard.errors import InputError
from regard.tasks import find_task, load
from regard.tasks.translation.translator import Translator
from regard.training.loop import TrainOutcome
from regard.training.report import Spoken, clock
from regard.training.run import train

PAGE, MODEL = "demo.html", "model"


def demo(
    out: Path,
    attention: str = "full",
    languages: str = "en-fr",
    *,
    minutes: float | None = None,
    quick: bool = False,
    explained: bool = False,
    seed: int = 0,
    console: Console | None = None,
) -> dict[str, Any]:
    """Learn, translate, measure, draw; what `--json` prints comes back."""
    console = console or Console()
    begun = time.monotonic()
    kind, language = kind_of(attention), language_of(languages)
    budget = BUDGETS[kind, quick]
    budget = budget if minutes is None else replace(budget, minutes=minutes)
    run = settings(attention, language, budget, seed)
    console.print(
        f"Writing {budget.sentences:,} sentence pairs ({languages}) with the built-in grammar …",
        highlight=False,
    )
    taught = lesson(language, budget, seed)
    ready = prepared(taught, run, budget.easy)
    console.print(
        f"Training a small {_name(attention)} until it translates {TARGET:.1%} of {budget.test} "
        f"other sentences exactly, for at most {clock(60 * budget.minutes)} minutes …",
        highlight=False,
    )
    folder = emptied(out) / MODEL
    outcome = train(find_task(kind), folder, ready, Spoken(console))
    if not outcome.finished:
        raise KeyboardInterrupt
    console.print(_learned(outcome), highlight=False)
    model = load(folder)
    assert isinstance(model, Translator)
    found = measure(model, taught.test, language)
    sentences = showcase(model, taught.seeds)
    seconds = time.monotonic() - begun
    facts = figures(found, seconds, language)
    write_page(out / PAGE, model, taught.seeds, sentences, facts)
    print_showcase(console, model, taught.seeds, sentences)
    print_figures(console, found, time.monotonic() - begun, language)
    result: dict[str, Any] = {
        "seconds": time.monotonic() - begun,
        "languages": languages,
        "kind": kind,
        "attention": attention,
        **found.as_dict(),
        "dev_exact_match": outcome.validation["exact"],
        "steps": outcome.step,
        "epochs": outcome.epochs,
        "tokens_per_second": outcome.tokens_per_second,
        "sentences": [
            {
                "source": pair.source,
                "translation": sentence.text,
                "reference": pair.target,
                "exact": sentence.text == pair.target,
                "alignment": [list(link) for link in sentence.alignment],
            }
            for pair, sentence in zip(taught.seeds, sentences, strict=True)
        ],
    }
    if explained:
        explanation = explain(model, taught.dev, taught.test, language, seed)
        print_explanation(console, explanation)
        result["explanation"] = explanation.as_dict()
    _tell(console, out, folder, quick)
    return result


def _learned(outcome: TrainOutcome) -> str:
    """Why training has ended."""
    share = float(outcome.validation["exact"])
    reason = "Learned" if share >= TARGET else "The time is over"
    return f"{reason}: {share:.1%} exact after {outcome.step:,} updates, {clock(outcome.seconds)}."


def _name(attention: str) -> str:
    if kind_of(attention) == "transformer":
        return "Transformer" if attention == "full" else f"Transformer with {attention} attention"
    name = {"none": "no", "bahdanau": "Bahdanau", "luong": "Luong", "graves": "Graves’"}
    return f"recurrent network with {name.get(attention, attention)} attention"


def emptied(out: Path) -> Path:
    """The folder, without what an earlier demonstration left in it; nothing else is touched."""
    if out.exists() and not out.is_dir():
        raise InputError(f"{out}: this is a file; give a folder as --out.")
    known = {PAGE, MODEL}
    if out.exists() and any(path.name not in known for path in out.iterdir()):
        raise InputError(f"{out}: other files are in this folder; give another as --out.")
    shutil.rmtree(out / MODEL, ignore_errors=True)
    (out / PAGE).unlink(missing_ok=True)
    out.mkdir(parents=True, exist_ok=True)
    return out


def _tell(console: Console, out: Path, folder: Path, quick: bool) -> None:
    own = "yours.tsv", "--languages", "en-fr", "--out", "model", "--minutes", 30
    for label, text in (
        ("See every head's attention, in a browser:", str(out / PAGE)),
        (
            "Try a sentence of yours:",
            command("translate", "--model", folder, "--align", "The owl chased the bat."),
        ),
        ("Learn from your own text:", command("train", *own)),
    ):
        console.print(f"[bold]{label}[/]")
        console.print(f"  {text}", highlight=False, markup=False, soft_wrap=True)
    if quick:
        console.print("This was --quick, a model of seconds; without it, it is a good one.")
