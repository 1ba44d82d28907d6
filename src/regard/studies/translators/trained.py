"""Translators of the built-in grammar that several studies measure, trained once and kept.

All of them learn the same sentences of at most `MAX_WORDS` words, so that mechanisms can be
compared: the Transformer ("full"), and recurrent networks whose attention to the source has the
additive score ("bahdanau"), the dot product ("luong"), or the additive score with a memory of the
last weights ("location") or of all weights ("coverage").

Each is trained on one core, for a number of updates and not of minutes, so that it depends on its
seed alone; several are trained side by side.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Sequence
from dataclasses import asdict, replace
from functools import cache, partial
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from regard.config import RnnSettings, Run, TransformerSettings
from regard.config.settings import plain
from regard.config.stored import METRICS
from regard.cores import cores
from regard.corpus.grammar import GrammarPair, Language, sample
from regard.demo.data import DemoData, draw_data, prepare_data
from regard.demo.settings import Budget, kind_of, run_settings
from regard.errors import InputError
from regard.studies.study import FindingsTable, StudyOptions
from regard.tasks import find_task, load, load_run
from regard.tasks.translation.translator import Translator
from regard.training.report import Silent
from regard.training.run import train
from regard.views.charts.panels import Bilingual, Words
from regard.worker_pool import can_fork, parallel_map

MAX_WORDS = 16
EXTRA = 4 / 3
"""Most updates, as a multiple of those over which the learning rate falls to zero."""
BUDGETS = {
    ("transformer", False): Budget(
        30_000, 60.0, 500, 0, updates=1_200, easy_updates=280, max_words=MAX_WORDS
    ),
    ("rnn", False): Budget(
        30_000, 60.0, 500, 0, updates=600, easy_updates=100, max_words=MAX_WORDS
    ),
    ("transformer", True): Budget(1_500, 60.0, 20, 0, updates=60, max_words=12),
    ("rnn", True): Budget(1_500, 60.0, 20, 0, updates=30, max_words=12),
}
"""By kind of model, and whether the study is quick."""

ATTENTIONS = {
    "bahdanau": Bilingual("additive", "加性"),
    "luong": Bilingual("dot product", "点积"),
    "location": Bilingual("location", "位置"),
    "coverage": Bilingual("coverage", "覆盖"),
    "full": Bilingual("Transformer", "Transformer"),
}
"""What the attention of each translator is called in figures."""


class TranslatorChoice(NamedTuple):
    """Which translator: its attention, the language it writes, and its seed."""

    attention: str = "full"
    language: Language = "fr"
    seed: int = 0

    @property
    def name(self) -> str:
        """Such as `en-fr-full-seed0`."""
        return f"en-{self.language}-{self.attention}-seed{self.seed}"


def trained_translator(
    options: StudyOptions, attention: str = "full", language: Language = "fr", seed: int = 0
) -> Translator:
    """The translator with this attention, trained now unless it is in `options.models`."""
    return trained_translators(options, [TranslatorChoice(attention, language, seed)])[0]


def trained_translators(
    options: StudyOptions, choices: Sequence[TranslatorChoice]
) -> list[Translator]:
    """Several translators; those that are not in `options.models` are trained side by side."""
    if options.models is None:
        with TemporaryDirectory(prefix="regard-study-") as home:
            translators = trained_translators(replace(options, models=Path(home)), choices)
            for translator in translators:
                _ = translator.network  # while its folder is there
            return translators
    folders = [model_folder(options, choice) for choice in choices]
    missing = [
        (choice, folder)
        for choice, folder in zip(choices, folders, strict=True)
        if not is_trained(folder, study_run(choice, options.quick))
    ]
    if missing:
        names = ", ".join(choice.name for choice, _ in missing)
        options.report(f"training {names}")
        for choice, _ in missing:  # once for all processes
            _data(choice.language, _budget(choice, options.quick), choice.seed)
        job = partial(_train, options, os.getpid())
        parallel_map(job, missing, cores() if can_fork() else 1, fork=True)
    return [load(folder, engine="torch") for folder in folders]


def model_folder(options: StudyOptions, choice: TranslatorChoice) -> Path:
    """The folder of a translator in `options.models`, named by its settings and their checksum."""
    assert options.models is not None
    run = study_run(choice, options.quick)
    settings = [plain(run), asdict(_budget(choice, options.quick))]
    digest = sha256(json.dumps(settings, sort_keys=True).encode()).hexdigest()[:8]
    return options.models / f"{choice.name}-{'quick-' if options.quick else ''}{digest}"


def study_run(choice: TranslatorChoice, quick: bool = False) -> Run:
    """The settings of a translator: those of the demonstration, ended by updates on one core."""
    if choice.attention not in ATTENTIONS:
        known = ", ".join(ATTENTIONS)
        raise InputError(f"attention must be one of {known}, got {choice.attention!r}.")
    budget = _budget(choice, quick)
    run = run_settings(choice.attention, choice.language, budget, choice.seed)
    assert budget.updates is not None
    training = replace(
        run.training, minutes=None, steps=int(EXTRA * budget.updates), threads=1, keep=1
    )
    model = run.model
    if isinstance(model, RnnSettings):
        model = replace(model, score="dot")
        model = replace(model, embedding=64, dim=64) if quick else model
    elif isinstance(model, TransformerSettings) and quick:
        model = replace(model, dim=48, num_heads=2, ff=96)
    return replace(run, model=model, training=training)


def is_trained(folder: Path, run: Run) -> bool:
    """Whether a folder has a finished model of these settings."""
    if not (folder / METRICS).is_file():
        return False
    try:
        return plain(replace(load_run(folder), alignment=None)) == plain(run)
    except InputError:
        return False


def held_out(
    options: StudyOptions, count: int, language: Language = "fr", split: str = "test"
) -> list[GrammarPair]:
    """Sentences of the same lengths that no translator was trained on."""
    budget = BUDGETS["transformer", options.quick]
    return sample(
        "dev" if split == "dev" else "test",
        count,
        language=language,
        seed=options.seed,
        max_words=budget.max_words,
    )


def training_table(
    choices: Sequence[TranslatorChoice], translators: Sequence[Translator]
) -> FindingsTable:
    """How each translator was trained, and how good it is; seconds depend on the machine."""
    rows: list[list[Words | float | int | None]] = []
    for choice, translator in zip(choices, translators, strict=True):
        metrics = translator.saved.metrics
        rows.append(
            [
                ATTENTIONS[choice.attention],
                choice.seed,
                f"{metrics['train_sentences']:,}",
                f"{metrics['parameters']:,}",
                metrics["steps"],
                metrics["dev"].get("exact"),
                round(metrics["seconds"]),
            ]
        )
    return FindingsTable(
        Bilingual("Translators, trained once for all studies", "各项研究共用的翻译模型"),
        [
            Bilingual("attention", "注意力"),
            Bilingual("seed", "种子"),
            Bilingual("sentences", "训练句数"),
            Bilingual("parameters", "参数"),
            Bilingual("updates", "更新次数"),
            Bilingual("translated exactly (dev)", "完全译对（开发集）"),
            Bilingual("seconds on one core", "单核训练秒数"),
        ],
        rows,
    )


def _budget(choice: TranslatorChoice, quick: bool) -> Budget:
    return BUDGETS[kind_of(choice.attention), quick]


@cache
def _data(language: Language, budget: Budget, seed: int) -> DemoData:
    return draw_data(language, budget, seed)


def _train(options: StudyOptions, pid: int, missing: tuple[TranslatorChoice, Path]) -> None:
    """Train one translator; its folder appears when it is finished."""
    choice, folder = missing
    run, budget = study_run(choice, options.quick), _budget(choice, options.quick)
    data = prepare_data(_data(choice.language, budget, choice.seed), run, budget.easy_updates)
    draft = folder.with_name(folder.name + ".unfinished")
    shutil.rmtree(draft, ignore_errors=True)
    shutil.rmtree(folder, ignore_errors=True)
    reporter = _Progress(options, choice.name) if os.getpid() == pid else Silent()
    if not train(find_task(run.model.kind), draft, data, reporter).finished:
        raise KeyboardInterrupt
    shutil.rmtree(draft / "checkpoints")
    draft.rename(folder)


class _Progress(Silent):
    """Reports every quarter of a training."""

    def __init__(self, options: StudyOptions, name: str) -> None:
        self._options, self._name, self._quarters = options, name, 0

    def update(self, share: float, seconds_left: float, figures: dict[str, Any]) -> None:
        """Report a quarter once."""
        if int(4 * share) > self._quarters:
            self._quarters = int(4 * share)
            self._options.report(f"training {self._name}: {25 * self._quarters} %")
