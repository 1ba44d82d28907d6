"""Curves of a training: loss, learning rate and scores over updates, of one run or several."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from regard.errors import InputError
from regard.views.figures import palette
from regard.views.figures.figure import Figure, new_figure

HISTORY = "metrics.jsonl"
PANELS = {
    "loss": ("loss", "dev_loss"),
    "learning rate": ("rate",),
    "BLEU": ("dev_bleu",),
    "accuracy": ("dev_accuracy",),
}
"""The panels of the figure, each with the numbers of a run that it shows."""

History = Sequence[Mapping[str, Any]]


def read_history(folder: Path) -> list[dict[str, Any]]:
    """The rows of a run's `metrics.jsonl`: an update and its numbers each."""
    path = folder / HISTORY
    if not path.is_file():
        raise InputError(
            f"{folder}: there is no {HISTORY} in it (`--prune` removes it), so there are no curves."
        )
    rows = []
    for number, line in enumerate(path.read_text("utf-8").splitlines(), 1):
        try:
            row = json.loads(line)
        except ValueError:
            raise InputError(f"{path}, line {number}: this is not JSON; remove the line.") from None
        if isinstance(row, dict) and isinstance(row.get("step"), int):
            rows.append(row)
    if not rows:
        raise InputError(f"{path}: there is no update in it yet; train first.")
    return rows


def curves_figure(runs: Mapping[str, History]) -> Figure:
    """Draw the curves of runs by name; a panel that no run has numbers for is left out.

    The accuracy of tokens is drawn unless every run has BLEU; a run without a panel's numbers is
    not in its legend.
    Lines are means over updates as they were logged, dots with a dashed line are of validations.
    """
    panels = {
        title: names
        for title, names in PANELS.items()
        if any(_points(rows, name)[0] for rows in runs.values() for name in names)
    }
    if all(_points(rows, "dev_bleu")[0] for rows in runs.values()):
        panels.pop("accuracy", None)
    with new_figure((4.6 * max(1, len(panels)), 3.6), [*runs, *panels]) as builder:
        for place, (title, names) in enumerate(panels.items(), 1):
            axes = builder.canvas.add_subplot(1, len(panels), place)
            for index, (run, rows) in enumerate(runs.items()):
                color = palette.SERIES[index % len(palette.SERIES)]
                for name in names:
                    steps, values = _points(rows, name)
                    if not steps:
                        continue
                    validated = name.startswith("dev_")
                    part_name = (
                        ("development" if validated else "training") if len(names) > 1 else ""
                    )
                    label = ", ".join(
                        part for part in (run if len(runs) > 1 else "", part_name) if part
                    )
                    axes.plot(
                        steps,
                        values,
                        label=label or None,
                        color=color,
                        linewidth=1.4,
                        linestyle="--" if validated else "-",
                        markersize=3.5,
                        marker="o" if validated else None,
                    )
            axes.set(xlabel="update", title=title)
            axes.grid(True)
            axes.spines[["top", "right"]].set_visible(False)
            if axes.get_legend_handles_labels()[1]:
                axes.legend()
        return builder.finish(f"curves of {len(runs)} runs" if len(runs) > 1 else "curves")


def _points(rows: History, name: str) -> tuple[list[int], list[float]]:
    """The updates at which a number was logged, and the number."""
    points = [(row["step"], row[name]) for row in rows if isinstance(row.get(name), int | float)]
    return [step for step, _ in points], [float(value) for _, value in points]
