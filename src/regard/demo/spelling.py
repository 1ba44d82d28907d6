"""A monotone task: a word's letters spelled out, for aligners that only move forward.

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

WORDS, TEST = 20_000, 500
MINUTES = {False: 4.0, True: 0.2}
LONGEST = 150  # letters of a word of twelve, spelled out


def settings(attention: str, minutes: float, seed: int = 0) -> Run:
    """A small recurrent network over characters."""
    return Run(
        languages="en",
        model=RnnSettings(
            embedding=64, dim=128, attention_dim=64, dropout=0.0, max_length=LONGEST + 10,
            attention=cast(Any, attention),
        ),
        text=TextSettings(unit="char", shared=False, vocab_size=400),
        training=TrainingSettings(
            minutes=minutes, batch_tokens=2500, learning_rate=4e-3, schedule="linear", warmup=0.05,
            label_smoothing=0.0, ema_decay=0.99, validate_every=1_000_000, validate_sentences=0,
            checkpoint_minutes=60.0, keep=1, tensorboard=False, seed=seed,
        ),
        decoding=SearchOptions(beam=1, max_length=LONGEST),
    )  # fmt: skip


def spelling(
    folder: Path,
    attention: str,
    *,
    minutes: float | None = None,
    quick: bool = False,
    seed: int = 0,
    console: Console | None = None,
) -> dict[str, Any]:
    """Learn to spell, and measure words that were never seen."""
    console, begun = console or Console(), time.monotonic()
    words = WORDS // 20 if quick else WORDS
    run = settings(attention, MINUTES[quick] if minutes is None else minutes, seed)
    test = sample("test", TEST, seed)
    report = CleaningReport(read=words, kept=words)
    task = find_task(run.model.kind)
    assert isinstance(task, TextTask)
    corpus = TextCorpus(sample("train", words, seed), sample("dev", TEST, seed), report)
    console.print(
        f"Spelling out {words:,} words, with {attention} attention, for "
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
    found = model.translate(
        [pair.source for pair in test[:5]], settings=_search(1), attention=True, split=False
    )
    if attention != "none":
        console.print("\n[bold]What it wrote while it looked at each letter[/]")
        for one in found:
            console.print(f"  {one.source}", highlight=False, markup=False)
            for letter, written in looked_at(one.sentences[0]):
                console.print(f"    {letter}  {written}", highlight=False, markup=False)
    console.print(
        f"\n{shares['greedy']:.1%} of {TEST} words that it never saw are spelled exactly "
        f"({shares['beam_4']:.1%} by beam search).",
        highlight=False,
    )
    return {
        "task": "spelling",
        "attention": attention,
        "exact_match": shares["greedy"],
        "exact_match_beam": shares["beam_4"],
        "test_words": TEST,
        "steps": outcome.step,
        "seconds": time.monotonic() - begun,
    }


def looked_at(sentence: Sentence) -> list[tuple[str, str]]:
    """The letters in the order of looking, each with what was written meanwhile."""
    (seen,) = (one for one in sentence.attention if one.kind == "cross")
    tokens = [*sentence.source_tokens, "·"]  # the end, which is looked at after the last letter
    found: list[tuple[int, str]] = []
    for row, token in enumerate(sentence.tokens):
        place = int(seen.weights[0, 0, row].argmax())
        if found and found[-1][0] == place:
            found[-1] = place, found[-1][1] + token
        else:
            found.append((place, token))
    return [(tokens[place], written.replace("▁", " ").strip()) for place, written in found]


def _exact(model: Translator, pairs: list[Pair], beam: int) -> float:
    found = model.translate(
        [pair.source for pair in pairs], settings=_search(beam), alignment=False, split=False
    )
    return exact_match([one.text for one in found], [pair.target for pair in pairs])


def _search(beam: int) -> SearchOptions:
    return SearchOptions(beam=beam, max_length=LONGEST)
