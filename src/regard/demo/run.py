"""The demonstration: train a small model, score it, and report."""

from __future__ import annotations

import shutil
import time
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

from rich.console import Console

from regard.command import command
from regard.corpus.grammar import Language
from regard.demo.data import draw_data, prepare_data
from regard.demo.head_ablation import ablate_heads
from regard.demo.report import (
    print_ablation,
    print_scores,
    print_showcase,
    score_rows,
    translate_showcase,
    write_page,
)
from regard.demo.settings import TARGET, choose_budget, kind_of, run_settings
from regard.demo.translation_scores import score
from regard.errors import InputError
from regard.tasks import find_task, load
from regard.tasks.translation.translator import Translator
from regard.training.loop import TrainOutcome
from regard.training.report import Spoken, clock
from regard.training.run import train

PAGE, MODEL, SHAPES = "demo.html", "model", "shapes.png"


def demo(
    out: Path,
    attention: str = "full",
    languages: str = "en-fr",
    *,
    minutes: float | None = None,
    quick: bool = False,
    ablation: bool = False,
    guided: bool = False,
    seed: int = 0,
    console: Console | None = None,
) -> dict[str, Any]:
    """Train, translate, score and report; return what `--json` prints."""
    console = console or Console()
    start = time.monotonic()
    kind, language = kind_of(attention), cast(Language, languages.partition("-")[2])
    budget = choose_budget(kind, language, quick=quick)
    budget = budget if minutes is None else replace(budget, minutes=minutes)
    run = run_settings(attention, language, budget, seed, guided)
    folder = clear_folder(out) / MODEL
    console.print(
        f"Sampling {budget.sentences:,} sentence pairs ({languages}) from the built-in grammar …",
        highlight=False,
    )
    data = draw_data(language, budget, seed, run.guides)
    prepared = prepare_data(data, run, budget.easy_updates)
    console.print(
        f"Training a small {_name(attention)} until it translates {TARGET:.1%} of {budget.dev:,} "
        f"other sentences exactly, with a time limit of {clock(60 * budget.minutes)} …",
        highlight=False,
    )
    outcome = train(find_task(kind), folder, prepared, Spoken(console))
    if not outcome.finished:
        raise KeyboardInterrupt
    console.print(_stopped(outcome), highlight=False)
    model = load(folder)
    assert isinstance(model, Translator)
    scores = score(model, data.test, language)
    sentences = translate_showcase(model, data.showcase)
    seconds = time.monotonic() - start
    facts = score_rows(scores, seconds, language)
    write_page(out / PAGE, model, data.showcase, sentences, facts)
    print_showcase(console, model, data.showcase, sentences)
    print_scores(console, scores, time.monotonic() - start, language)
    result: dict[str, Any] = {
        "seconds": time.monotonic() - start,
        "languages": languages,
        "kind": kind,
        "attention": attention,
        "guided": guided,
        **scores.as_dict(),
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
            for pair, sentence in zip(data.showcase, sentences, strict=True)
        ],
    }
    if ablation:
        ablated = ablate_heads(model, data.dev, data.test, language, seed)
        print_ablation(console, ablated)
        result["explanation"] = ablated.as_dict()
    _print_next_steps(console, out, folder, quick)
    return result


def _stopped(outcome: TrainOutcome) -> str:
    """Why training stopped."""
    share = float(outcome.validation["exact"])
    reason = "Target reached" if share >= TARGET else "Time limit reached"
    return f"{reason}: {share:.1%} exact after {outcome.step:,} updates, {clock(outcome.seconds)}."


def _name(attention: str) -> str:
    if kind_of(attention) == "transformer":
        return "Transformer" if attention == "full" else f"Transformer with {attention} attention"
    name = {"none": "no", "bahdanau": "Bahdanau", "luong": "Luong", "graves": "Graves’"}
    return f"recurrent network with {name.get(attention, attention)} attention"


def clear_folder(out: Path) -> Path:
    """Remove the files of an earlier demonstration; a folder with other files is an error."""
    if out.exists() and not out.is_dir():
        raise InputError(f"{out}: --out must be a folder, got a file.")
    known = {PAGE, MODEL, SHAPES}
    if out.exists() and any(path.name not in known for path in out.iterdir()):
        raise InputError(f"{out}: the folder contains other files; give another as --out.")
    shutil.rmtree(out / MODEL, ignore_errors=True)
    for name in (PAGE, SHAPES):
        (out / name).unlink(missing_ok=True)
    out.mkdir(parents=True, exist_ok=True)
    return out


def _print_next_steps(console: Console, out: Path, folder: Path, quick: bool) -> None:
    training = "yours.tsv", "--languages", "en-fr", "--out", "model", "--minutes", 30
    for label, text in (
        ("See every head's attention, in a browser:", str(out / PAGE)),
        (
            "Translate a sentence:",
            command("translate", "--model", folder, "--align", "The owl chased the bat."),
        ),
        ("Train on your own text:", command("train", *training)),
    ):
        console.print(f"[bold]{label}[/]")
        console.print(f"  {text}", highlight=False, markup=False, soft_wrap=True)
    if quick:
        console.print("This was --quick, a few seconds of training; without it, the model is good.")
