"""Does the classifier's map find the cause? Series whose cause is planted, learned and explained.

A label is decided by one event on one channel at one time. A classifier learns the labels alone;
then, for series that it never saw, the map is asked where it is highest, and the answer is compared
with where the event was planted. Every measure of what decided is compared, also those that find it
less often.
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
from regard.corpus.series import PlantedSeries, planted
from regard.folder import SavedModel
from regard.models.classifier.explain import METHODS, Method
from regard.tasks import find_task
from regard.tasks.classification.classification import Classification
from regard.tasks.classification.classifier import Classifier
from regard.tasks.classification.prepare import LabeledData, prepare_examples
from regard.training.loop import Trainer
from regard.training.report import Spoken, clock
from regard.training.run import new_network
from regard.views.terminal.decision import WeightStrip

Encoder = Literal["transformer", "rnn"]
Tokens = Literal["time", "channels"]
TEST = 300
STEPS: dict[Tokens, int] = {"time": 800, "channels": 350}


@dataclass(frozen=True)
class Found:
    """What one classifier was like, as shares from 0 to 1.

    accuracy  of labels
    causes    by measure: of series with an event, those in which the map's peak lies within it in
              time (where tokens are moments) or on its channel (where tokens are channels)
    both      by gradients: series in which moment and channel are both found
    """

    encoder: Encoder
    tokens: Tokens
    accuracy: float
    causes: dict[Method, float]
    both: float
    seconds: float

    def as_dict(self) -> dict[str, Any]:
        """In plain values."""
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
    """Write series, learn them, and count in how many the map finds what was planted.

    `steps` updates are made for each classifier (by default as many as its kind needs).
    """
    console = console or Console()
    begun = time.monotonic()
    taught, dev, unseen = (planted(n, 10 * seed + k) for k, n in enumerate((train, 200, test)))
    console.print(
        f"Wrote {train:,} series of {len(taught.channels)} channels × {taught.x.shape[2]} moments: "
        "noise, slow waves and spikes; one planted event decides the label.",
        highlight=False,
    )
    found, shown = [], None
    for encoder in encoders:
        for kind in tokens:
            one, model = _learned(
                encoder, kind, (taught, dev, unseen), steps or STEPS[kind], seed, threads, console
            )
            found.append(one)
            shown = shown or model
    if shown is not None:
        _show(console, shown, unseen)
    _print(console, found, test)
    return {
        "seconds": time.monotonic() - begun,
        "series": test,
        "models": [one.as_dict() for one in found],
        "found": min(one.causes["gradient"] for one in found),
    }


def demo_settings(
    encoder: Encoder, tokens: Tokens, steps: int, seed: int = 0, threads: int = 0
) -> Run:
    """A small classifier of series."""
    return Run(
        model=ClassifierSettings(
            encoder=encoder, tokens=tokens, patch=8, kernel=16, dim=48, num_layers=1, num_heads=4,
            ff=192, pooled="tokens", dropout=0.0, max_length=64,
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
            validate_every=1_000_000,  # one look, at the end
            tensorboard=False,
            threads=threads,
            seed=seed,
        ),
    )  # fmt: skip


def causes_found(
    found: Sequence[Classification],
    data: PlantedSeries,
    *,
    moment: bool = True,
    channel: bool = True,
) -> float:
    """Of series with an event, the share whose peak has its middle in it, and is on its channel."""
    hits = 0
    for one, start, end, place in zip(found, data.start, data.end, data.channel, strict=True):
        if place < 0:
            continue
        at, on = one.peak
        hit = not moment or (at is not None and start <= (at.start + at.end) / 2 < end)
        hit = hit and (not channel or (on is not None and on.name == data.channels[place]))
        hits += bool(hit)
    return hits / int((data.channel >= 0).sum())


def _learned(
    encoder: Encoder,
    tokens: Tokens,
    data: tuple[PlantedSeries, PlantedSeries, PlantedSeries],
    steps: int,
    seed: int,
    threads: int,
    console: Console,
) -> tuple[Found, Classifier]:
    """One classifier, trained in memory and measured."""
    begun = time.monotonic()
    taught, dev, test = data
    run = demo_settings(encoder, tokens, steps, seed, threads)
    prepared = prepare_examples(_content(taught), _content(dev), run, "the planted series")
    console.print(f"Learning: {_name(encoder)}, {tokens} as tokens …", highlight=False)
    task, reporter = find_task("classifier"), Spoken(console)
    network = new_network(task, prepared)
    task.initialize(network, prepared, reporter)
    trainer = Trainer(task, network, prepared, reporter=reporter)
    outcome = trainer.train()
    if not outcome.finished:
        raise KeyboardInterrupt
    model = Classifier(SavedModel(Path(), prepared.run, prepared.tokenizers, network.eval(), {}))
    by_why = {why: model.classify(list(test.x), why=why) for why in METHODS}
    told = by_why["gradient"]
    right = sum(one.label == test.labels[y] for one, y in zip(told, test.y, strict=True))
    kind = {"moment": tokens == "time", "channel": tokens == "channels"}
    causes = {why: causes_found(answer, test, **kind) for why, answer in by_why.items()}
    seconds = time.monotonic() - begun
    whole = causes_found(told, test)
    return Found(encoder, tokens, right / len(told), causes, whole, seconds), model


def _content(data: PlantedSeries) -> LabeledData:
    return LabeledData(list(data.x), [data.labels[y] for y in data.y], data.channels)


def _name(encoder: Encoder) -> str:
    return "Transformer" if encoder == "transformer" else "recurrent network"


def _show(console: Console, model: Classifier, data: PlantedSeries) -> None:
    """One series' map, beside what was planted."""
    one = model.classify(data.x[0])
    moment, channel = one.peak
    assert one.grid is not None and moment is not None and channel is not None
    console.print(
        f"\n[bold]A series it never saw[/]: labelled {one.label} ({one.probability:.1%}); "
        f"planted was {data.labels[data.y[0]]} on {data.channels[data.channel[0]]} at "
        f"{data.start[0]}–{data.end[0] - 1}; the map is highest on {channel.name} at "
        f"{moment.name}.",
        highlight=False, soft_wrap=True,
    )  # fmt: skip
    console.print(WeightStrip(one.grid, model.settings.channels, model.settings.patch))


def _print(console: Console, found: Sequence[Found], test: int) -> None:
    table = Table(box=box.SIMPLE)
    for column in ("encoder", "tokens"):
        table.add_column(column)
    for column in ("labels right", *METHODS, "moment and channel", "time"):
        table.add_column(column, justify="right")
    for one in found:
        table.add_row(
            _name(one.encoder), one.tokens, f"{one.accuracy:.1%}",
            *(f"{one.causes[why]:.1%}" for why in METHODS), f"{one.both:.1%}", clock(one.seconds),
        )  # fmt: skip
    console.print(f"\n[bold]In how many of {test} series the map finds the planted cause[/]")
    console.print(table)
