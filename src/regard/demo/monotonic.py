"""A monotonic task: spelling out a word's letters, for aligners that only move forward.

cat ▶ cee ay tee
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any, cast

from rich.console import Console

from regard.config import RnnSettings, Run, SearchOptions, TextSettings, TrainingSettings
from regard.corpus.pairs import CleaningReport, Pair
from regard.corpus.spelling import sample
from regard.evaluation import exact_match
from regard.tasks import find_task, load
from regard.tasks.text.task import TextCorpus, TextTask
from regard.tasks.translation.translation import Sentence
from regard.tasks.translation.translator import Translator
from regard.training.report import Spoken, clock
from regard.training.run import train

NUM_WORDS, NUM_TEST = 20_000, 500
MINUTES = {False: 4.0, True: 0.2}
MAX_LENGTH = 150  # characters of a word of twelve letters, spelled out


def settings(attention: str, minutes: float, seed: int = 0) -> Run:
    """A small recurrent network over characters."""
    return Run(
        languages="en",
        model=RnnSettings(
            embedding=64,
            dim=128,
            attention_dim=64,
            dropout=0.0,
            max_length=MAX_LENGTH + 10,
            attention=cast(Any, attention),
        ),
        text=TextSettings(unit="char", shared=False, vocab_size=400),
        training=TrainingSettings(
            minutes=minutes,
            batch_tokens=2500,
            learning_rate=4e-3,
            schedule="linear",
            warmup=0.05,
            label_smoothing=0.0,
            ema_decay=0.99,
            validate_every=1_000_000,
            validate_sentences=0,
            checkpoint_minutes=60.0,
            keep=1,
            tensorboard=False,
            seed=seed,
        ),
        decoding=SearchOptions(beam=1, max_length=MAX_LENGTH),
    )


def spelling(
    folder: Path,
    attention: str,
    *,
    minutes: float | None = None,
    quick: bool = False,
    seed: int = 0,
    console: Console | None = None,
) -> dict[str, Any]:
    """Train on random words, and score unseen ones."""
    console, start = console or Console(), time.monotonic()
    num_words = NUM_WORDS // 20 if quick else NUM_WORDS
    run = settings(attention, MINUTES[quick] if minutes is None else minutes, seed)
    test = sample("test", NUM_TEST, seed)
    report = CleaningReport(read=num_words, kept=num_words)
    task = find_task(run.model.kind)
    assert isinstance(task, TextTask)
    corpus = TextCorpus(sample("train", num_words, seed), sample("dev", NUM_TEST, seed), report)
    console.print(
        f"Training to spell {num_words:,} words, with {attention} attention, for "
        f"{clock(60 * cast(float, run.training.minutes))} minutes …",
        highlight=False,
    )
    outcome = train(task, folder, task.encode_corpus(corpus, run), Spoken(console))
    if not outcome.finished:
        raise KeyboardInterrupt
    model = load(folder)
    assert isinstance(model, Translator)
    shares = {
        f"beam_{beam}" if beam > 1 else "greedy": _exact(model, test, beam) for beam in (1, 4)
    }
    examples = model.translate(
        [pair.source for pair in test[:5]], settings=_search(1), attention=True, split=False
    )
    if attention != "none":
        console.print("\n[bold]Output by the letter with the largest weight[/]")
        for example in examples:
            console.print(f"  {example.source}", highlight=False, markup=False)
            for letter, output in outputs_by_letter(example.sentences[0]):
                console.print(f"    {letter}  {output}", highlight=False, markup=False)
    console.print(
        f"\n{shares['greedy']:.1%} of {NUM_TEST} unseen words are spelled exactly "
        f"({shares['beam_4']:.1%} with beam search).",
        highlight=False,
    )
    return {
        "task": "spelling",
        "attention": attention,
        "exact_match": shares["greedy"],
        "exact_match_beam": shares["beam_4"],
        "test_words": NUM_TEST,
        "steps": outcome.step,
        "seconds": time.monotonic() - start,
    }


def outputs_by_letter(sentence: Sentence) -> list[tuple[str, str]]:
    """Consecutive output tokens, grouped by the letter with the largest cross-attention weight."""
    (cross,) = (layer_map for layer_map in sentence.attention if layer_map.kind == "cross")
    letters = [*sentence.source_tokens, "·"]  # EOS, attended to after the last letter
    groups: list[tuple[int, str]] = []
    for row, token in enumerate(sentence.tokens):
        position = int(cross.weights[0, 0, row].argmax())
        if groups and groups[-1][0] == position:
            groups[-1] = position, groups[-1][1] + token
        else:
            groups.append((position, token))
    return [(letters[position], output.replace("▁", " ").strip()) for position, output in groups]


def _exact(model: Translator, pairs: list[Pair], beam: int) -> float:
    translations = model.translate(
        [pair.source for pair in pairs], settings=_search(beam), alignment=False, split=False
    )
    return exact_match(
        [translation.text for translation in translations], [pair.target for pair in pairs]
    )


def _search(beam: int) -> SearchOptions:
    return SearchOptions(beam=beam, max_length=MAX_LENGTH)
