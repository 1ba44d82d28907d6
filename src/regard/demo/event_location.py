"""Time series with a planted cause: does the classifier's map locate it?

One event on one channel at one time decides the label. A classifier is trained on the labels alone;
then, for unseen series, the peak of its map is compared with the position of the event, for every
attribution method.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from rich import box
from rich.console import Console
from rich.table import Table

from regard.config import ClassifierSettings, Run, TrainingSettings
from regard.corpus.planted_series import PlantedSeries, planted
from regard.folder import SavedModel
from regard.models.classifier.explain import METHODS, Method
from regard.tasks import find_task
from regard.tasks.classification.classifier import Classification, Classifier
from regard.tasks.classification.task import LabeledData, prepare_examples
from regard.training.loop import Trainer
from regard.training.report import Spoken, clock
from regard.training.run import new_network
from regard.views.terminal.decision import WeightStrip

Encoder = Literal["transformer", "rnn"]
Tokens = Literal["time", "channels"]
TEST = 300
STEPS: dict[Tokens, int] = {"time": 800, "channels": 350}


@dataclass(frozen=True)
class SeriesScores:
    """Scores of one classifier, from 0 to 1.

    accuracy  of labels
    causes    by attribution method: share of the series with an event in which the map's peak is
              within it in time (tokens are moments) or on its channel (tokens are channels)
    both      by gradients: share in which both moment and channel are located
    """

    encoder: Encoder
    tokens: Tokens
    accuracy: float
    causes: dict[Method, float]
    both: float
    seconds: float

    def as_dict(self) -> dict[str, Any]:
        """The scores for JSON."""
        return {**vars(self), "causes": dict(self.causes)}


def planted_demo(
    *,
    encoders: Sequence[Encoder] = ("transformer", "rnn"),
    tokens: Sequence[Tokens] = ("time", "channels"),
    train: int = 12_000,
    test: int = TEST,
    steps: int | None = None,
    seed: int = 0,
    threads: int = 0,
    console: Console | None = None,
) -> dict[str, Any]:
    """Generate series, train classifiers, and count how often the map locates the cause.

    `steps` is the number of updates of each classifier (default: `STEPS`).
    """
    console = console or Console()
    start = time.monotonic()
    train_set, dev, unseen = (planted(n, 10 * seed + k) for k, n in enumerate((train, 200, test)))
    console.print(
        f"Generated {train:,} series of {len(train_set.channels)} channels × "
        f"{train_set.x.shape[2]} moments: noise, slow waves and spikes; "
        "one planted event decides the label.",
        highlight=False,
    )
    scores, shown = [], None
    for encoder in encoders:
        for kind in tokens:
            run = demo_settings(encoder, kind, steps or STEPS[kind], seed, threads)
            scored, model = _train_and_score(run, (train_set, dev, unseen), console)
            scores.append(scored)
            shown = shown or model
    if shown is not None:
        _show(console, shown, unseen)
    _print(console, scores, test)
    return {
        "seconds": time.monotonic() - start,
        "series": test,
        "models": [scored.as_dict() for scored in scores],
        "found": min(scored.causes["gradient"] for scored in scores),
    }


def demo_settings(
    encoder: Encoder, tokens: Tokens, steps: int, seed: int = 0, threads: int = 0
) -> Run:
    """A small classifier of series."""
    return Run(
        model=ClassifierSettings(
            encoder=encoder,
            tokens=tokens,
            patch=8,
            kernel=16,
            dim=48,
            num_layers=1,
            num_heads=4,
            ff=192,
            pooled="tokens",
            dropout=0.0,
            max_length=64,
        ),
        training=TrainingSettings(
            steps=steps,
            batch_tokens=1024,  # 64 series
            learning_rate=2e-3 if tokens == "time" else 4e-3,
            warmup=0.1,
            schedule="linear",
            weight_decay=0.01,
            label_smoothing=0.05,
            ema_decay=0.98,
            precision="fp32",
            validate_every=1_000_000,  # at the end only
            tensorboard=False,
            threads=threads,
            seed=seed,
        ),
    )


def located_share(
    results: Sequence[Classification],
    data: PlantedSeries,
    *,
    moment: bool = True,
    channel: bool = True,
) -> float:
    """Share of series with an event whose peak is within it and on its channel."""
    hits = 0
    for result, start, end, index in zip(results, data.start, data.end, data.channel, strict=True):
        if index < 0:
            continue
        at, on = result.peak
        hit = not moment or (at is not None and start <= (at.start + at.end) / 2 < end)
        hit = hit and (not channel or (on is not None and on.name == data.channels[index]))
        hits += bool(hit)
    return hits / int((data.channel >= 0).sum())


def _train_and_score(
    run: Run, data: tuple[PlantedSeries, PlantedSeries, PlantedSeries], console: Console
) -> tuple[SeriesScores, Classifier]:
    """Train one classifier in memory and score it."""
    start = time.monotonic()
    train_set, dev, test = data
    settings = run.model
    assert isinstance(settings, ClassifierSettings)
    encoder, tokens = settings.encoder, settings.tokens
    prepared = prepare_examples(_labeled(train_set), _labeled(dev), run, "the planted series")
    console.print(f"Training: {_name(encoder)}, {tokens} as tokens …", highlight=False)
    task, reporter = find_task("classifier"), Spoken(console)
    network = new_network(task, prepared)
    task.initialize(network, prepared, reporter)
    outcome = Trainer(task, network, prepared, reporter=reporter).train()
    if not outcome.finished:
        raise KeyboardInterrupt
    model = Classifier(SavedModel(Path(), prepared.run, prepared.tokenizers, lambda: network, {}))
    by_method = {method: model.classify(list(test.x), why=method) for method in METHODS}
    results = by_method["gradient"]
    right = sum(result.label == test.labels[y] for result, y in zip(results, test.y, strict=True))
    axis = {"moment": tokens == "time", "channel": tokens == "channels"}
    causes = {method: located_share(answers, test, **axis) for method, answers in by_method.items()}
    seconds = time.monotonic() - start
    both = located_share(results, test)
    return SeriesScores(encoder, tokens, right / len(results), causes, both, seconds), model


def _labeled(data: PlantedSeries) -> LabeledData:
    return LabeledData(list(data.x), [data.labels[y] for y in data.y], data.channels)


def _name(encoder: Encoder) -> str:
    return "Transformer" if encoder == "transformer" else "recurrent network"


def _show(console: Console, model: Classifier, data: PlantedSeries) -> None:
    """Print the map of one series beside its planted cause."""
    result = model.classify(data.x[0])
    moment, channel = result.peak
    assert result.grid is not None and moment is not None and channel is not None
    console.print(
        f"\n[bold]An unseen series[/]: classified as {result.label} ({result.probability:.1%}); "
        f"planted was {data.labels[data.y[0]]} on {data.channels[data.channel[0]]} at "
        f"{data.start[0]}–{data.end[0] - 1}; the map is highest on {channel.name} at "
        f"{moment.name}.",
        highlight=False,
        soft_wrap=True,
    )
    console.print(WeightStrip(result.grid, model.settings.channels, model.settings.patch))


def _print(console: Console, scores: Sequence[SeriesScores], test: int) -> None:
    table = Table(box=box.SIMPLE)
    for column in ("encoder", "tokens"):
        table.add_column(column)
    for column in ("labels right", *METHODS, "moment and channel", "time"):
        table.add_column(column, justify="right")
    for scored in scores:
        table.add_row(
            _name(scored.encoder),
            scored.tokens,
            f"{scored.accuracy:.1%}",
            *(f"{scored.causes[method]:.1%}" for method in METHODS),
            f"{scored.both:.1%}",
            clock(scored.seconds),
        )
    console.print(f"\n[bold]Share of {test} series in which the map locates the planted cause[/]")
    console.print(table)
