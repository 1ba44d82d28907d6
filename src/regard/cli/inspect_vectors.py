"""`regard inspect --vectors WORD`: how the vector of a word changes from layer to layer."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from regard.tasks.word_states import WordStates

OUT = "regard-vectors.png"
MAX_PAIRS = 6  # pairs of occurrences with a column each


def inspect_vectors(model: Any, texts: list[str], arguments: argparse.Namespace, out: Path) -> int:
    """Print cosines and nearest words by layer, and draw the plane."""
    from regard.tasks.word_states import word_states

    found = word_states(model, texts, arguments.vectors)
    figure = draw_states(found)
    figure.save(out)
    if arguments.json:
        print(json.dumps(_as_dict(found, out), ensure_ascii=False))
    else:
        _print(found)
        print(f"{out}: the vectors of {found.word!r} in the plane, layer by layer")
    return 0


def draw_states(found: WordStates) -> Any:
    """The occurrences' ways through the layers, in one plane."""
    from regard.views import vector_plane

    count, layers, _ = found.states.shape
    norms = np.linalg.norm(found.states, axis=-1, keepdims=True)
    unit = found.states / np.maximum(norms, 1e-12)
    rows: list[Any] = []
    labels: list[str] = []
    groups: list[int] = []
    starts: dict[bytes, int] = {}  # occurrences with the same token begin at the same point
    arrows = []
    for k in range(count):
        before = starts.setdefault(found.states[k, 0].tobytes(), len(rows))
        for layer in range(0 if before == len(rows) else 1, layers):
            if layer:
                arrows.append((before, len(rows)))
            before = len(rows)
            rows.append(unit[k, layer])
            labels.append({0: found.word, layers - 1: str(k + 1)}.get(layer, ""))
            groups.append(k + 1 if layer else 0)
    names = ["layer 0", *(f"{k}  {context}" for k, context in enumerate(found.contexts, 1))]
    title = f"“{found.word}” from layer 0 to {layers - 1}"
    return vector_plane(np.stack(rows), labels, arrows, groups=groups, names=names, title=title)


def _as_dict(found: WordStates, out: Path) -> dict[str, Any]:
    return {
        "word": found.word,
        "occurrences": list(found.contexts),
        "layers": [
            {
                "layer": layer,
                "cosines": np.round(cosines, 6).tolist(),
                "nearest": [
                    [near._asdict() for near in row]
                    for row in (found.neighbors[layer] if found.neighbors else ())
                ],
            }
            for layer, cosines in enumerate(found.cosines())
        ],
        "figure": str(out),
    }


def _print(found: WordStates) -> None:
    from rich import box
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    console = Console(highlight=False)
    for number, context in enumerate(found.contexts, 1):
        console.print(f"{number}  {context}", markup=False, soft_wrap=True)
    pairs = [(a, b) for b in range(len(found.contexts)) for a in range(b)]
    table = Table(box=box.SIMPLE, title="cosines of the occurrences", title_justify="left")
    table.add_column("layer", justify="right")
    several = len(pairs) > MAX_PAIRS
    for name in (
        ["lowest", "mean", "highest"] if several else [f"{a + 1}–{b + 1}" for a, b in pairs]
    ):
        table.add_column(name, justify="right")
    for layer, cosines in enumerate(found.cosines()):
        values = [float(cosines[pair]) for pair in pairs]
        shown = [min(values), sum(values) / len(values), max(values)] if several else values
        table.add_row(str(layer), *(f"{value:.3f}" for value in shown))
    console.print(table)
    if several:
        last = Table(box=box.SIMPLE, title="cosines after the last layer", title_justify="left")
        last.add_column("")
        for number in range(len(found.contexts)):
            last.add_column(str(number + 1), justify="right")
        for number, values in enumerate(found.cosines()[-1].tolist(), 1):
            last.add_row(str(number), *(f"{value:.2f}" for value in values))
        console.print(last)
    if not found.neighbors:
        return
    near = Table(box=box.SIMPLE, title="nearest words, each read alone", title_justify="left")
    near.add_column("layer", justify="right")
    for number in range(len(found.contexts)):
        near.add_column(str(number + 1), overflow="fold")
    for layer, rows in enumerate(found.neighbors):
        near.add_row(str(layer), *(escape(", ".join(n.word for n in row)) for row in rows))
    console.print(near)
