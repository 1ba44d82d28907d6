"""Images with a planted shape: does the attention of a convolutional network find it?

Networks with channel and spatial attention learn the name of the shape from the names alone; then,
for unseen images, the highest place of the spatial map is compared with the pixels of the shape.

Shapes: x (B, 3, S, S) images, features (B, C, h, w), N = h · w positions.
"""

from __future__ import annotations

import importlib.util
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from rich import box
from rich.console import Console
from rich.table import Table
from torch import Tensor, nn
from torch.nn import functional as F

from regard.attention import CBAM, AttentionMap, NonLocal, SqueezeExcitation, record
from regard.corpus.shapes import SHAPES, PlantedShapes, planted_shapes
from regard.demo.run import SHAPES as SHAPES_FIGURE
from regard.demo.settings import IMAGE_ATTENTIONS
from regard.training.report import clock
from regard.views.figures.gates import gaze_figure, gaze_map

WIDTH, STRIDE = 32, 2  # channels of the features, pixels of an image per position
BATCH, RATE = 64, 5e-3
TRAIN, TEST = 8_000, 1_000
STEPS = 350
NUM_EACH = 2  # test images of each label in the figure


class ShapeNetwork(nn.Module):
    """Three convolutions, attention, the maximum of every channel, and a linear classifier."""

    def __init__(self, attention: nn.Module) -> None:
        super().__init__()
        self.features = nn.Sequential(
            *_convolved(3, 24, 5, STRIDE), *_convolved(24, WIDTH, 3), *_convolved(WIDTH, WIDTH, 3)
        )
        self.attention = attention
        self.classifier = nn.Linear(WIDTH, len(SHAPES))

    def forward(self, x: Tensor) -> Tensor:
        """The scores of the labels (B, L) of images (B, 3, S, S)."""
        scores: Tensor = self.classifier(self.pool(self.features(x - 0.25)))
        return scores

    def pool(self, features: Tensor) -> Tensor:
        """(B, C): what is left of the features (B, C, h, w) after attention."""
        attended: Tensor = self.attention(features)
        return attended.flatten(2).amax(dim=2)


class GazeNetwork(ShapeNetwork):
    """CBAM, whose spatial gate g also weights the positions: Σ_n g_n x_n / Σ_n g_n.

    As the weights are shares, a position that says nothing about the shape costs what it adds, and
    the gate learns to leave it out.
    """

    def __init__(self, attention: CBAM) -> None:
        super().__init__(attention)
        self.attention: CBAM = attention
        nn.init.zeros_(attention.spatial.filter.weight)  # all positions are equal at first

    def pool(self, features: Tensor) -> Tensor:
        """(B, C): the mean of the features, weighted by the spatial gate."""
        scaled = self.attention.channel(features)
        gate_BN = self.attention.spatial.gate(scaled)
        attended: Tensor = self.attention.spatial(scaled)
        return attended.flatten(2).sum(dim=2) / (gate_BN.sum(dim=1, keepdim=True) + 1e-3)


ATTENTIONS: dict[str, Callable[[], ShapeNetwork]] = {
    "cbam": lambda: GazeNetwork(CBAM(WIDTH, reduction=4)),
    "non-local": lambda: ShapeNetwork(NonLocal(WIDTH)),
    "squeeze-excitation": lambda: ShapeNetwork(SqueezeExcitation(WIDTH, reduction=4)),
}
"""The networks that are compared; the first has the spatial gate."""


@dataclass(frozen=True)
class ShapeScores:
    """Scores of one network on unseen images, from 0 to 1.

    accuracy  of labels
    found     share of images whose highest place of the map is inside the shape; None without a map
              over positions
    """

    attention: str
    accuracy: float
    found: float | None
    seconds: float


def shapes_demo(
    *,
    attentions: Sequence[str] = IMAGE_ATTENTIONS,
    train: int = TRAIN,
    test: int = TEST,
    steps: int = STEPS,
    seed: int = 0,
    out: Path | None = None,
    console: Console | None = None,
) -> dict[str, Any]:
    """Generate images, train the networks, count how often the map finds the shape, and draw it.

    `steps` is the number of updates of each network, `out` the folder of the figure.
    """
    console, start = console or Console(), time.monotonic()
    train_set, unseen = planted_shapes(train, 2 * seed), planted_shapes(test, 2 * seed + 1)
    size = unseen.x.shape[-1]
    console.print(
        f"Generated {train:,} images of {size} × {size} pixels with lines and dots; "
        f"one planted {', '.join(SHAPES[:-1])} or {SHAPES[-1]} is the label.",
        highlight=False,
    )
    scores, gaze = [], {}
    for name in attentions:
        console.print(f"Training: convolutions with {name} attention …", highlight=False)
        begun = time.monotonic()
        torch.manual_seed(seed)
        network = ATTENTIONS[name]()
        train_network(network, train_set, steps)
        right, maps = evaluate(network, unseen)
        heat = spatial_map(maps)
        found = None if heat is None else float(inside_share(heat, unseen.inside))
        scores.append(ShapeScores(name, right, found, time.monotonic() - begun))
        gaze[name] = _drawn_maps(network, unseen, maps)
    _print(console, scores, test)
    figure = _draw(unseen, gaze, out, console) if out is not None else None
    with_map = [scored.found for scored in scores if scored.found is not None]
    return {
        "task": "shapes",
        "images": test,
        "models": [vars(scored) for scored in scores],
        "accuracy": min(scored.accuracy for scored in scores),
        "found": with_map[0] if with_map else None,
        "figure": figure,
        "seconds": time.monotonic() - start,
    }


def train_network(network: nn.Module, data: PlantedShapes, steps: int) -> None:
    """Learn the labels; where the shapes are is not used."""
    x, y = torch.from_numpy(data.x), torch.from_numpy(data.y)
    optimizer = torch.optim.AdamW(network.parameters(), lr=RATE, weight_decay=0.05)
    schedule = torch.optim.lr_scheduler.OneCycleLR(
        optimizer, RATE, total_steps=max(steps, 4), pct_start=0.15
    )
    network.train()
    for _ in range(steps):
        chosen = torch.randint(len(x), (BATCH,))
        optimizer.zero_grad()
        F.cross_entropy(network(x[chosen]), y[chosen]).backward()
        optimizer.step()
        schedule.step()
    network.eval()


def evaluate(network: nn.Module, data: PlantedShapes) -> tuple[float, list[AttentionMap]]:
    """The share of right labels, and the attention maps of the images."""
    with torch.no_grad(), record(network) as recording:
        labels = network(torch.from_numpy(data.x)).argmax(dim=1).numpy()
    return float(np.mean(labels == data.y)), recording.maps


def spatial_map(maps: Sequence[AttentionMap]) -> Tensor | None:
    """(B, N): the gate of each position, or the attention it receives from all others."""
    for attention_map in maps:
        if attention_map.kind in ("spatial", "self"):
            return attention_map.weights.mean(dim=(1, 2))
    return None


def inside_share(heat_BN: Tensor, inside: Any) -> float:
    """Share of maps whose highest position lies inside, by at least half of its pixels."""
    side = round(heat_BN.shape[1] ** 0.5)
    cells = torch.from_numpy(inside).float().unflatten(1, (side, -1)).unflatten(3, (side, -1))
    covered_BN = cells.mean(dim=(2, 4)).flatten(1)
    best = heat_BN.argmax(dim=1, keepdim=True)
    return float((covered_BN.gather(1, best) >= 0.5).float().mean())


def _convolved(channels: int, out: int, kernel: int, stride: int = 1) -> tuple[nn.Module, ...]:
    filters = nn.Conv2d(channels, out, kernel, stride, kernel // 2, bias=False)
    return filters, nn.BatchNorm2d(out), nn.ReLU()


def _drawn(data: PlantedShapes) -> list[int]:
    """The test images in the figure: the first of each label."""
    labels = range(len(data.labels))
    return [int(n) for label in labels for n in np.flatnonzero(data.y == label)[:NUM_EACH]]


def _drawn_maps(
    network: ShapeNetwork, data: PlantedShapes, maps: Sequence[AttentionMap]
) -> list[Any]:
    """What is drawn over the test images: the spatial map, or the features by their gate."""
    rows = _drawn(data)
    with torch.no_grad():
        features = network.features(torch.from_numpy(data.x[rows]) - 0.25)
    return [
        gaze_map(maps[-1], row=row, features=image)
        for row, image in zip(rows, features, strict=True)
    ]


def _draw(
    data: PlantedShapes, gaze: dict[str, list[Any]], out: Path, console: Console
) -> str | None:
    """Write the figure; returns its path."""
    if importlib.util.find_spec("matplotlib") is None:
        console.print("A figure of the maps needs matplotlib: `pip install regard[figures]`.")
        return None
    rows = _drawn(data)
    figure = gaze_figure(data.x[rows], gaze, [data.labels[label] for label in data.y[rows]])
    path = figure.save(out / SHAPES_FIGURE)
    console.print(f"[bold]See where they look:[/] {path}", highlight=False)
    return str(path)


def _print(console: Console, scores: Sequence[ShapeScores], test: int) -> None:
    table = Table(box=box.SIMPLE)
    table.add_column("attention")
    for column in ("labels right", "map finds the shape", "time"):
        table.add_column(column, justify="right")
    for scored in scores:
        found = "channels only" if scored.found is None else f"{scored.found:.1%}"
        table.add_row(scored.attention, f"{scored.accuracy:.1%}", found, clock(scored.seconds))
    console.print(f"\n[bold]{test:,} unseen images[/]")
    console.print(table)
