"""A figure of costs over length: one line for each mechanism, both axes logarithmic."""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path

from regard.errors import InputError
from regard.storage import replace_file

# told apart by colour and by mark, also by those who see few colours
COLOURS = (
    "#1b6ca8", "#d1495b", "#2e8b57", "#edae49", "#7d5ba6", "#00798c", "#8c5e3c", "#c97b9b",
    "#5f6b6d", "#a3b18a", "#3d405b", "#e07a5f",
)  # fmt: skip
MARKS = "osD^vP*X<>hp"


@dataclass(frozen=True)
class Panel:
    """One quantity: its title, its unit, and for each name the values at the lengths."""

    title: str
    unit: str
    lines: Mapping[str, tuple[Sequence[int], Sequence[float]]]


def check_figure(path: Path) -> str:
    """The kind of figure that a path's ending asks for, if it can be drawn there."""
    kind = path.suffix.lower().lstrip(".")
    if kind not in ("png", "svg", "pdf"):
        raise InputError(f"{path}: a figure ends in .png, .svg or .pdf.")
    if not path.parent.is_dir():
        raise InputError(f"{path}: there is no folder {path.parent}; make it first.")
    if importlib.util.find_spec("matplotlib") is None:
        raise InputError("figures need matplotlib; install it with `pip install regard[figures]`.")
    return kind


def growth_figure(panels: Sequence[Panel], path: Path) -> None:
    """Write a PNG, SVG or PDF, by the path's ending."""
    kind = check_figure(path)
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6.2 * len(panels), 4.8), layout="constrained")
    for number, panel in enumerate(panels, 1):
        axes = figure.add_subplot(1, len(panels), number)
        for place, (name, (lengths, values)) in enumerate(panel.lines.items()):
            axes.plot(
                lengths, values, marker=MARKS[place % len(MARKS)], markersize=5, linewidth=1.6,
                color=COLOURS[place % len(COLOURS)], label=name,
            )  # fmt: skip
        axes.set_xscale("log", base=2)
        axes.set_yscale("log")
        axes.set_xlabel("length n (tokens)")
        axes.set_ylabel(panel.unit)
        axes.set_title(panel.title, loc="left", fontsize=11)
        axes.grid(True, which="major", color="#dddddd", linewidth=0.6)
        axes.set_axisbelow(True)
        axes.spines[["top", "right"]].set_visible(False)
        ticks = sorted({n for lengths, _ in panel.lines.values() for n in lengths})
        axes.set_xticks(ticks, [f"{n:,}" for n in ticks])
        axes.minorticks_off()
    handles, labels = figure.axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside right center", frameon=False, fontsize=9)
    drawn = BytesIO()
    figure.savefig(drawn, format=kind, dpi=150)
    replace_file(path, drawn.getvalue())
